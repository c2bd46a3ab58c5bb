package tui

import (
	"context"
	"errors"
	"fmt"
	"os"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"golang.org/x/term"

	"kviz/cluster/view"
	"kviz/tui/motion"
	"kviz/tui/safe"
)

// ErrNoTerminal is what [Run] answers where there is no terminal to draw on.
var ErrNoTerminal = errors.New("there is no terminal here (input or output is not a TTY): run kviz explore --plain for plain lines")

// ErrBroken is what [Run] answers when the explorer broke down in answering a
// message; the terminal is restored, and the stack has been printed.
var ErrBroken = tea.ErrProgramPanic

// Run shows the explorer until the user leaves or ctx ends. The terminal is restored
// whatever happens, even when a goroutine of the explorer panics: then the panic with
// its stack is the error.
func Run(ctx context.Context, cfg Config) error {
	if cfg.History == nil {
		return errors.New("tui: no history to show")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	switch {
	case cfg.Plain && cfg.Lesson != "":
		return runPlainLesson(ctx, cfg)
	case cfg.Plain:
		return runPlain(ctx, cfg)
	}
	if cfg.Input == nil && cfg.Output == nil && !(term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))) {
		return ErrNoTerminal
	}
	if cfg.Environ == nil {
		cfg.Environ = os.Environ()
	}
	noColor := lookup(cfg.Environ, "NO_COLOR") != ""
	if noColor && cfg.Theme == "" {
		cfg.Theme = "none"
	}
	if cfg.Motion == "" && lookup(cfg.Environ, "NO_MOTION") != "" {
		cfg.Motion = string(motion.Off)
	}
	var program *tea.Program
	started := make(chan struct{})
	group := safe.NewGroup(func() {
		<-started
		program.Kill()
	})
	m, err := New(ctx, cfg, group)
	if err != nil {
		return err
	}
	defer m.Close()
	var shown tea.Model = m
	if cfg.Wrap != nil {
		shown = cfg.Wrap(m)
	}
	program = tea.NewProgram(shown, options(ctx, cfg, noColor)...)
	m.send = program.Send
	close(started)
	if cfg.done != nil {
		cfg.done(m)
	}
	if !cfg.Following {
		m.keepUp = func(h *view.History) func() {
			ctx, stop := context.WithCancel(ctx)
			group.Go(func() { h.Run(ctx) })
			return stop
		}
		m.branch.rest = m.keepUp(cfg.History)
	}
	if cfg.Booting != nil && cfg.Cluster == nil {
		group.Go(func() {
			c, err := cfg.Booting(ctx, func(s string) { program.Send(bootSay(s)) })
			program.Send(bootDone{c, err})
		})
	}
	if cfg.Messages != nil {
		group.Go(func() { forward(ctx, cfg.Messages, program.Send) })
	}
	if cfg.Beside != nil {
		group.Go(func() {
			program.Send(besideDone{cfg.Beside(ctx, func() { program.Send(lessonChanged{}) })})
		})
	}
	_, err = program.Run()
	stopped := ctx.Err() != nil // from outside
	cancel()
	if crash := group.Crash(); crash != nil {
		return fmt.Errorf("the explorer broke down: %w", crash)
	}
	if cfg.Typed != nil {
		*cfg.Typed = m.drawer.Draft()
	}
	if err == nil && m.obeys {
		return ErrCalled
	}
	if err == nil && m.leaveFor != "" {
		return &OpenRecording{m.leaveFor}
	}
	if errors.Is(err, ErrBroken) { // which counts as killed too
		return err
	}
	if errors.Is(err, tea.ErrInterrupted) || errors.Is(err, tea.ErrProgramKilled) && stopped {
		return nil
	}
	return err
}

func options(ctx context.Context, cfg Config, noColor bool) []tea.ProgramOption {
	fps := 60
	if cfg.Remote {
		fps = 30
	}
	// Signals end ctx, which is the caller's. Bubble Tea's own handler would at
	// the same time wait for the program to take a last message, which it does
	// not once ctx has ended: it hung now and then on SIGTERM.
	opts := []tea.ProgramOption{tea.WithContext(ctx), tea.WithoutSignalHandler(), tea.WithEnvironment(cfg.Environ), tea.WithFPS(fps)}
	if cfg.Input != nil {
		opts = append(opts, tea.WithInput(cfg.Input))
	}
	if cfg.Output != nil {
		opts = append(opts, tea.WithOutput(cfg.Output))
	}
	if cfg.Size[0] > 0 {
		opts = append(opts, tea.WithWindowSize(cfg.Size[0], cfg.Size[1]))
	}
	if p, ok := profile(cfg, noColor); ok {
		opts = append(opts, tea.WithColorProfile(p))
	}
	return append(opts, cfg.Options...)
}

// profile is how many colours are written, where that is not what the terminal can show. Far away it is 256 at most:
// a change of colour is the greater part of what a frame in motion writes, and one of 16 million takes half as much again.
func profile(cfg Config, noColor bool) (p colorprofile.Profile, ok bool) {
	switch {
	case noColor:
		return colorprofile.ASCII, true
	case cfg.Remote: // the output is no terminal of this machine, so what it can show stands in its environment alone
		return min(colorprofile.Env(cfg.Environ), colorprofile.ANSI256), true
	}
	return 0, false
}

// lookup is the value of a variable in an environment, the last one given.
func lookup(env []string, name string) string {
	value := ""
	for _, e := range env {
		if len(e) > len(name) && e[len(name)] == '=' && e[:len(name)] == name {
			value = e[len(name)+1:]
		}
	}
	return value
}

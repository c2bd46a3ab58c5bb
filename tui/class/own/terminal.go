package own

import (
	"context"
	"io"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"kviz/tui/class/door"
	"kviz/tui/safe"
)

// terminal is that of a student, on which one program follows another.
type terminal struct {
	input   func(ctx context.Context) io.ReadCloser
	out     io.Writer
	environ []string
	size    func() (width, height int)
	resized <-chan struct{}
}

func on(v *door.Visit) terminal {
	return terminal{input: v.Input, out: v.Out, environ: v.Environ, size: v.Size, resized: v.Resized()}
}

// ends has a program give the input up as it begins to quit: what is typed then is for the next screen.
func ends(input io.Closer) tea.ProgramOption {
	return tea.WithFilter(func(_ tea.Model, msg tea.Msg) tea.Msg {
		switch msg.(type) {
		case tea.QuitMsg, tea.InterruptMsg:
			_ = input.Close()
		}
		return msg
	})
}

// sizes tells each new size until ctx ends.
func (t terminal) sizes(ctx context.Context, tell func(tea.Msg)) {
	for {
		select {
		case <-t.resized:
			w, h := t.size()
			tell(tea.WindowSizeMsg{Width: w, Height: h})
		case <-ctx.Done():
			return
		}
	}
}

// show runs a program on the terminal until it or ctx ends.
func (t terminal) show(ctx context.Context, m tea.Model) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	input := t.input(ctx)
	w, h := t.size()
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithoutSignalHandler(), tea.WithInput(input), tea.WithOutput(t.out),
		tea.WithWindowSize(w, h), tea.WithEnvironment(t.environ), tea.WithColorProfile(colorprofile.Env(t.environ)), tea.WithFPS(20), ends(input))
	group := safe.NewGroup(p.Kill)
	group.Go(func() { t.sizes(ctx, p.Send) })
	_, err := p.Run()
	stopped := ctx.Err() != nil
	cancel()
	group.Wait()
	if crash := group.Crash(); crash != nil {
		return crash
	}
	if stopped {
		return nil
	}
	return err
}

package tui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/vt"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/raftstore/steady"
	"kviz/tui/action"
	"kviz/tui/pane"
	"kviz/tui/pane/store"
	"kviz/tui/safe"
	"kviz/tui/tuitest"
)

// terminal is an emulator that a program can write to.
type terminal struct {
	emu *vt.SafeEmulator
	in  *io.PipeReader
	typ *io.PipeWriter
	mu  sync.Mutex
	raw bytes.Buffer
}

func newTerminal(w, h int) *terminal {
	t := &terminal{emu: vt.NewSafeEmulator(w, h)}
	t.in, t.typ = io.Pipe()
	go func() { // answers to queries go nowhere, but they must be taken
		buf := make([]byte, 256)
		for {
			if _, err := t.emu.Read(buf); err != nil {
				return
			}
		}
	}()
	return t
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.raw.Write(p)
	if _, err := t.emu.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// screen is the text on the screen; the emulator's own String takes no lock.
func (t *terminal) screen() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.emu.String()
}

func (t *terminal) await(tb testing.TB, text string) string {
	tb.Helper()
	s := ""
	steady.Await(tb, fmt.Sprintf("%q on the screen", text), func() error {
		if s = t.screen(); !strings.Contains(s, text) {
			return errors.New("it shows:\n" + s)
		}
		return nil
	})
	return s
}

func (t *terminal) bytes() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.raw.String()
}

var plainTerminal = []string{"TERM=xterm-256color", "COLORTERM=truecolor"}

func TestProgramDrawsStepsAndLeaves(t *testing.T) {
	c := tuitest.NewCluster(tuitest.Story(), 300)
	term := newTerminal(120, 40)
	var m *Explorer
	done := make(chan error, 1)
	go func() {
		done <- Run(context.Background(), Config{
			Cluster: c, History: view.NewHistory(c.Trace()), Theme: "dark", Input: term.in, Output: term, Environ: plainTerminal,
			Size: [2]int{120, 40}, done: func(e *Explorer) { m = e },
		})
	}()
	term.await(t, "PAUSED")
	if _, err := term.typ.Write([]byte(".")); err != nil {
		t.Fatal(err)
	}
	steady.Until(t, "the end of a step", func() bool { return strings.HasPrefix(c.Clock().Why, "step ") }) // before its number can be waited for
	want := c.Trace().Last().ID.String()
	term.await(t, "of #"+want)
	if _, err := term.typ.Write([]byte("qq")); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(term.bytes(), "\x1b[?1049l") {
		t.Fatal("the alternate screen was not left")
	}
	if m.screen.frames == 0 {
		t.Fatal("no frame was drawn")
	}
}

func TestFirstFrameComesBeforeTheCluster(t *testing.T) {
	term := newTerminal(80, 24)
	stream := trace.NewStream(0)
	boot := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- Run(context.Background(), Config{
			History: view.NewHistory(stream), Theme: "dark", Input: term.in, Output: term, Environ: plainTerminal, Size: [2]int{80, 24},
			Booting: func(ctx context.Context, say func(string)) (Cluster, error) {
				say("three members elect a leader")
				<-boot
				return nil, errors.New("port 6443 is taken")
			},
		})
	}()
	term.await(t, "three members elect a leader")
	close(boot)
	term.await(t, "port 6443 is taken")
	if _, err := term.typ.Write([]byte("q")); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestAPanicInTheBackgroundRestoresTheTerminal(t *testing.T) {
	term := newTerminal(80, 24)
	stream := trace.NewStream(0)
	fall := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- Run(context.Background(), Config{
			History: view.NewHistory(stream), Theme: "dark", Input: term.in, Output: term, Environ: plainTerminal, Size: [2]int{80, 24},
			Booting: func(ctx context.Context, say func(string)) (Cluster, error) {
				<-fall
				panic("the floor gave way")
			},
		})
	}()
	term.await(t, "waiting for the first event")
	close(fall)
	err := <-done
	if err == nil || !strings.Contains(err.Error(), "the floor gave way") || !strings.Contains(err.Error(), "run_test.go") {
		t.Fatalf("the panic with its stack is not the error: %v", err)
	}
	if !strings.Contains(term.bytes(), "\x1b[?1049l") {
		t.Fatal("the alternate screen was not left")
	}
}

func TestNoColorIsHonouredForAnyValue(t *testing.T) {
	c := tuitest.NewCluster(tuitest.Story(), 300)
	term := newTerminal(120, 40)
	done := make(chan error, 1)
	go func() {
		done <- Run(context.Background(), Config{
			Cluster: c, History: view.NewHistory(c.Trace()), Input: term.in, Output: term, Size: [2]int{120, 40},
			Environ: append([]string{"NO_COLOR=yes"}, plainTerminal...),
		})
	}()
	term.await(t, "PAUSED")
	if _, err := term.typ.Write([]byte("qq")); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if s := term.bytes(); strings.Contains(s, "38;2;") || strings.Contains(s, "38;5;") {
		t.Fatal("colour was written though NO_COLOR is set")
	}
}

func TestNoTerminalIsSaid(t *testing.T) {
	stdin, stdout := os.Stdin, os.Stdout
	defer func() { os.Stdin, os.Stdout = stdin, stdout }()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	os.Stdin, os.Stdout = null, null
	err = Run(context.Background(), Config{History: view.NewHistory(trace.NewStream(0))})
	if !errors.Is(err, ErrNoTerminal) || !strings.Contains(err.Error(), "kviz explore --plain") {
		t.Fatalf("without a terminal Run says %v", err)
	}
}

func TestPlainIsOneLineAnEvent(t *testing.T) {
	tape := tuitest.Story()
	var out bytes.Buffer
	if err := Run(context.Background(), Config{History: view.NewHistory(tape.Stream), Plain: true, PlainAll: true, Recording: "story", Output: &out}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsRune(out.String(), '\x1b') {
		t.Fatal("plain output has escape sequences")
	}
	tuitest.Golden(t, "plain", out.String())
	if got, want := strings.Count("\n"+out.String(), "\n#"), int(tape.Stream.Last().ID.Seq); got != want {
		t.Fatalf("%d lines for %d control-plane events", got, want)
	}
}

// fallingPane is a pane that breaks down: when it is drawn, or at a key.
type fallingPane struct {
	pane.Pane
	drawn, asked bool
}

func (f *fallingPane) Draw(s *pane.Sheet, fr *pane.Frame) {
	if f.drawn {
		panic("the floor gave way")
	}
	f.Pane.Draw(s, fr)
}

func (f *fallingPane) Do(name string, on pane.Subject, fr *pane.Frame) action.Action {
	if f.asked {
		panic("the floor gave way")
	}
	return f.Pane.Do(name, on, fr)
}

// A panic in answering a message, in drawing, or in a command of the console:
// the terminal is as it was before Run gives its error.
func TestAPanicAnywhereRestoresTheTerminal(t *testing.T) {
	stderr := os.Stderr
	defer func() { os.Stderr = stderr }()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	os.Stderr = null // the library prints the stack there
	for name, c := range map[string]struct {
		fall func(*Explorer)
		keys string
	}{
		"drawing": {func(m *Explorer) {
			m.frame.Pane("store").Host = pane.NewHost(&fallingPane{Pane: store.New(), drawn: true}, "2")
		}, ""},
		"a key": {func(m *Explorer) {
			m.frame.Pane("store").Host = pane.NewHost(&fallingPane{Pane: store.New(), asked: true}, "2")
		}, "2\r"},
		"a command": {func(m *Explorer) { m.connect(fallingCluster{m.cluster}, nil) }, ":x\r"},
		"in a list": {func(m *Explorer) { m.connect(fallingCluster{m.cluster}, nil) }, "f\x1b[F\r"},
		"the clock": {func(m *Explorer) { m.connect(fallingCluster{m.cluster}, nil) }, "+"},
	} {
		t.Run(name, func(t *testing.T) {
			c0 := tuitest.NewCluster(tuitest.Story(), 300)
			term := newTerminal(120, 40)
			done := make(chan error, 1)
			go func() {
				done <- Run(context.Background(), Config{
					Cluster: c0, History: view.NewHistory(c0.Trace()), Theme: "dark", Preset: "overview", Input: term.in, Output: term, Environ: plainTerminal,
					Size: [2]int{120, 40}, done: c.fall,
				})
			}()
			if c.keys != "" {
				term.await(t, "PAUSED")
				go func() { _, _ = term.typ.Write([]byte(c.keys)) }() // what is left when it ends is nobody's
			}
			err := <-done
			var crash *safe.Crash
			if !errors.As(err, &crash) && !errors.Is(err, ErrBroken) {
				t.Fatalf("Run ends with %v", err)
			}
			all := term.bytes()
			for on, off := range map[string]string{"\x1b[?1049h": "\x1b[?1049l", "\x1b[?1002h": "\x1b[?1002l", "\x1b[?25l": "\x1b[?25h"} {
				if strings.LastIndex(all, on) > strings.LastIndex(all, off) {
					t.Errorf("the terminal is left with %q", on)
				}
			}
		})
	}
}

// fallingCluster breaks down when it is asked to do something.
type fallingCluster struct{ Cluster }

func (f fallingCluster) Speed(float64) error { panic("the floor gave way") }
func (f fallingCluster) Targets() []string   { panic("the floor gave way") }
func (f fallingCluster) Exec(context.Context, string, control.Streams) int {
	panic("the floor gave way")
}

// Far away no more than 256 colours are written, and what can show fewer gets no more than that.
func TestColoursFarAway(t *testing.T) {
	for _, c := range []struct {
		remote, none bool
		environ      []string
		want         colorprofile.Profile
		chosen       bool
	}{
		{false, false, []string{"TERM=xterm-256color", "COLORTERM=truecolor"}, 0, false},
		{true, false, []string{"TERM=xterm-256color", "COLORTERM=truecolor"}, colorprofile.ANSI256, true},
		{true, false, []string{"TERM=xterm-256color"}, colorprofile.ANSI256, true},
		{true, false, []string{"TERM=linux"}, colorprofile.ANSI, true},
		{true, true, []string{"TERM=xterm-256color", "COLORTERM=truecolor"}, colorprofile.ASCII, true},
	} {
		if p, ok := profile(Config{Remote: c.remote, Environ: c.environ}, c.none); p != c.want || ok != c.chosen {
			t.Errorf("%+v: %v, %v", c, p, ok)
		}
	}
}

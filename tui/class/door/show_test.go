package door_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/vt"

	"kviz/raftstore/steady"
	"kviz/tui/class/door"
)

// page is a program that shows its name, its size and the keys it was given, until q.
type page struct {
	name string
	size string
	keys string
}

func (p page) Init() tea.Cmd { return nil }

func (p page) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		p.size = fmt.Sprintf("%dx%d", msg.Width, msg.Height)
	case tea.KeyPressMsg:
		switch msg.String() {
		case "q":
			return p, tea.Quit
		case "!":
			panic("upside down")
		}
		p.keys += msg.String()
	}
	return p, nil
}

func (p page) View() tea.View {
	v := tea.NewView(fmt.Sprintf("%s\n%s\nkeys:%s", p.name, p.size, p.keys))
	v.AltScreen = true
	v.MouseMode = tea.MouseModeAllMotion
	return v
}

// pages shows a page after the other.
func pages(names ...string) door.Host {
	return host(func(ctx ctx, v *door.Visit) error {
		for _, name := range names {
			if _, err := door.Show(ctx, v, page{name: name}); err != nil {
				return err
			}
		}
		return nil
	})
}

// drawn is what a terminal of 80x24 shows of what was sent.
func drawn(sent string) string {
	e := vt.NewEmulator(80, 24)
	answers, read := e.InputPipe().(io.Closer), make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, e)
	}()
	e.Write([]byte(sent))
	answers.Close() // the emulator's own Close races with its Read
	<-read
	return e.String()
}

// One program follows another on the same terminal, each drawn at the current size and given its own keys, and at the end
// the terminal is as it was.
func TestOneProgramAfterAnother(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{Host: pages("first", "second", "third")})
		k := c.enter(as{user: "mira"})
		k.shows("first\n80x24\nkeys:")
		k.typed("ab")
		k.shows("first\n80x24\nkeys:ab")
		k.typed("q")
		k.shows("second\n80x24\nkeys:")
		k.typed("cd")
		k.shows("second\n80x24\nkeys:cd")
		if err := k.session.WindowChange(30, 70); err != nil {
			t.Fatal(err)
		}
		k.shows("second\n70x30\nkeys:cd")
		k.typed("q")
		k.shows("third\n70x30\nkeys:")
		k.typed("q")
		if status := k.over(); status != 0 {
			t.Errorf("ended with %d", status)
		}
		k.atRest()
		c.close()
	})
}

// However a program ends, the terminal is as it was: alternate screen, cursor, mouse, paste.
func TestAProgramIsEnded(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{Host: host(func(ctx ctx, v *door.Visit) error {
			if v.Name == "rude" { // leaves everything as it is
				io.WriteString(v.Out, "\x1b[?1049h\x1b[?25l\x1b[?1003h\x1b[?1006h\x1b[?2004h\x1b[>1urude")
				<-ctx.Done()
				return nil
			}
			_, err := door.Show(ctx, v, page{name: v.Name})
			return err
		})})
		rude, polite := c.enter(as{user: "rude"}), c.enter(as{user: "polite"})
		rude.sees("rude")
		polite.shows("polite\n80x24\nkeys:")
		c.close()
		for _, k := range []*client{rude, polite} {
			k.sees("The class is over.")
			k.over()
			k.atRest()
		}
	})
}

// A program that panics ends its visit in the same words as any screen does.
func TestAProgramBreaksDown(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{Host: pages("only")})
		k := c.enter(as{user: "mira"})
		k.shows("only\n80x24\nkeys:")
		k.typed("!")
		k.sees("This screen broke down, and the class goes on")
		if status := k.over(); status != 1 {
			t.Errorf("ended with %d", status)
		}
		k.atRest()
		c.mustTell("the screen broke down")
		c.close()
	})
}

// shows waits until the terminal shows something.
func (k *client) shows(text string) {
	k.t.Helper()
	steady.Await(k.t, fmt.Sprintf("the terminal shows %q", text), func() error {
		var rows []string
		for row := range strings.SplitSeq(drawn(k.out.String()), "\n") {
			rows = append(rows, strings.TrimRight(row, " "))
		}
		if got := strings.TrimRight(strings.Join(rows, "\n"), "\n"); got != text {
			return fmt.Errorf("it shows %q", got)
		}
		return nil
	})
}

// atRest fails the test unless the terminal is as it was before anything was drawn.
func (k *client) atRest() {
	k.t.Helper()
	sent := k.out.String()
	for mode, rest := range map[string]byte{"1049": 'l', "25": 'h', "1002": 'l', "1003": 'l', "1006": 'l', "2004": 'l', "1004": 'l'} {
		on, off := strings.LastIndex(sent, "\x1b[?"+mode+"h"), strings.LastIndex(sent, "\x1b[?"+mode+"l")
		if on != off && (rest == 'h') != (on > off) {
			k.t.Errorf("the mode %s is not at rest at the end of %q", mode, sent)
		}
	}
	if strings.Count(sent, "\x1b[>1u") != strings.Count(sent, "\x1b[<1u") {
		k.t.Errorf("the keyboard is not at rest at the end of %q", sent)
	}
}

// What the host answers is said at the end.
func TestWhatTheHostSays(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{Host: host(func(ctx, *door.Visit) error { return errors.New("no lesson is open") })})
		k := c.enter(as{user: "mira"})
		k.sees("no lesson is open\r\n")
		if status := k.over(); status != 1 {
			t.Errorf("ended with %d", status)
		}
		c.close()
	})
}

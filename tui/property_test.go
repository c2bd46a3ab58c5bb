package tui

import (
	"context"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"kviz/cluster/trace"
	"kviz/raftstore/steady"
	"kviz/tui/grid"
)

type (
	traceID  = trace.ID
	ctxT     = context.Context
	clusterT = Cluster
)

var everyKey = strings.Fields("a b c d e x v o r i < ! backspace delete alt+2 alt+b space . n N s u + - > , ; [ ] { } home end # m ' tab shift+tab z p P t " +
	"ctrl+o / ctrl+p w ? f1 g : f y L esc up down left right pgup pgdown enter 1 2 3 4 5 6 7 8 9")

// Whatever is pressed at whatever size, the explorer stays up, fills no line
// beyond the screen, and draws the same state the same way.
func TestRandomKeys(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		w, h := rapid.IntRange(20, 250).Draw(r, "w"), rapid.IntRange(5, 70).Draw(r, "h")
		n := rapid.SampledFrom([]int{0, 1, 25, 200, 600, -1}).Draw(r, "events")
		keys := rapid.SliceOfN(rapid.SampledFrom(everyKey), 1, 40).Draw(r, "keys")
		a, b := explore(t, w, h, n), explore(t, w, h, n)
		for _, k := range keys {
			a.press(k)
			a.m.safe.Wait()
			a.look()
			got := a.m.View()
			lines := strings.Split(got.Content, "\n")
			if len(lines) > h {
				r.Fatalf("%d lines on a screen of %d after %s", len(lines), h, k)
			}
			for i, l := range lines {
				if lw := ansi.StringWidth(l); lw > w {
					r.Fatalf("line %d is %d columns wide on a screen of %d after %s: %q", i, lw, w, k, l)
				}
			}
			if c := got.Cursor; c != nil && (c.X < 0 || c.Y < 0 || c.X > w || c.Y >= h) {
				r.Fatalf("the cursor is at %d,%d on a screen of %dx%d", c.X, c.Y, w, h)
			}
			b.press(k)
			b.m.safe.Wait()
			b.look()
			if b.m.View().Content != got.Content {
				r.Fatalf("the same keys gave two different screens after %s", k)
			}
		}
		if c := a.m.safe.Crash(); c != nil {
			r.Fatal(c)
		}
		// A redraw from nothing gives what the retained drawing has.
		kept := a.m.View().Content
		a.m.frame.Anew()
		a.m.screen.dirty = true
		if a.m.View().Content != kept {
			r.Fatalf("drawing everything anew gives another screen after %v", keys)
		}
	})
}

// A pane that is drawn for the first time has what is under its cursor told at once.
func TestWhatIsUnderTheCursorIsToldAtOnce(t *testing.T) {
	d := explore(t, 60, 30, 25) // one pane at a time
	d.press("tab")
	shown := d.m.View().Content
	d.m.frame.Anew()
	d.m.screen.dirty = true
	if again := d.m.View().Content; again != shown {
		t.Errorf("shown first\n%s\nand then\n%s", shown, again)
	}
}

// Resizing and clicking anywhere is safe too.
func TestRandomMouse(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		d := explore(t, 120, 40, -1)
		for i := 0; i < 15; i++ {
			x, y := rapid.IntRange(-2, 260).Draw(r, "x"), rapid.IntRange(-2, 80).Draw(r, "y")
			switch rapid.IntRange(0, 3).Draw(r, "what") {
			case 0:
				d.m.Update(tea.WindowSizeMsg{Width: max(x, 0), Height: max(y, 0)})
			case 1:
				d.m.Update(tea.MouseWheelMsg{X: x, Y: y, Button: tea.MouseWheelDown})
			case 2:
				d.press(rapid.SampledFrom(everyKey).Draw(r, "key"))
			default:
				d.m.Update(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
			}
			d.m.safe.Wait()
			d.m.View()
		}
	})
}

func TestHostileTextKeepsItsWidth(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		s := rapid.String().Draw(r, "s")
		w := rapid.IntRange(1, 40).Draw(r, "w")
		g := grid.New(w, 2)
		g.Area().Text(0, 0, s, 0)
		g.Area().Wrap(0, 1, w, 1, s, 0)
		for _, l := range strings.Split(g.Render(func(grid.Style) string { return "" }), "\n") {
			if strings.ContainsRune(l, '\x1b') {
				r.Fatalf("an escape sequence reached the screen: %q", l)
			}
			if got := ansi.StringWidth(l); got > w {
				r.Fatalf("%q is %d columns on a grid of %d", l, got, w)
			}
		}
		if grid.Width(grid.Cut(s, w)) > w {
			r.Fatalf("Cut(%q, %d) is wider", s, w)
		}
	})
}

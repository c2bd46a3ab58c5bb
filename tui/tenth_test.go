package tui

import (
	"slices"
	"testing"

	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/panes"
	"kviz/tui/theme"
)

// leases is a pane as small as one can be: a package of its own would have no more.
type leases struct {
	pane.List
	names bool
}

func newLeases() *leases {
	p := &leases{List: pane.NewList(pane.Info{
		Name: "leases", Title: "Leases", Means: "The Leases of the cluster, by which those who hold one say that they are there. One row each.",
		Legend: [][2]string{{"†", "a Lease that nobody has renewed in time"}},
	})}
	p.Key(keymap.Bind("leases.names", "names alone", "Show the names of the Leases alone.", "N"), pane.Flip(&p.names))
	return p
}

func (p *leases) Note(*pane.Frame) string { return "of every namespace" }

func (p *leases) Draw(s *pane.Sheet, f *pane.Frame) {
	words := "renewed by its holder"
	if p.names {
		words = "names alone"
	}
	s.Line(0, pane.Subject{ID: "lease/a", Words: "The Lease a is " + words + "."}, grid.Span{Text: "a " + words, Style: theme.Text})
}

// A tenth pane is one package and one line in the list of panes: its key, tab, place in
// the layouts, help, glossary, palette and jump list come from there, and it can be shown
// by its name.
func TestATenthPaneIsOneLine(t *testing.T) {
	nine := panes.All[:9] // and there may be more
	ten := func(c *Config) { c.panes = append(slices.Clone(nine), pane.Make(newLeases)) }
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}, {250, 70}} {
		d := explore(t, size[0], size[1], -1, ten).press("0")
		d.shows("0 Leases · of every namespace", "a renewed by its holder", "9obje", "0leas")
		d.press("N").shows("a names alone")
		d.press("?").shows("Help · 0 Leases", "The Leases of the cluster", "†", "nobody has renewed", "Keys of this pane", "Show the names of the Leases alone.")
		d.press("esc", "ctrl+p").typed("pane leases").press("enter").shows("0 Leases")
		d.press("1", "ctrl+o").typed("Leases").shows("0 Leases")
		d.press("enter")
		if got := d.m.frame.Focused().Name; got != "leases" {
			t.Fatalf("the jump list leads to %s", got)
		}
		d.press("1", "g").typed("the pane leases").shows("the pane leases", "The Leases of the cluster")
		d.press("esc", "shift+tab")
		d.m.perform(action.Focus{Pane: "leases"})
		for range 10 {
			d.press("p") // in every layout it has a place when it has the focus
			d.m.perform(action.Focus{Pane: "leases"})
			d.m.screen.dirty = true
			d.shows("0 Leases")
		}
		x, y := d.at("0leas")
		d.press("1").mouse(x+1, y).shows("0 Leases")
		d.m.perform(action.Put{"leases", "map"}) // as a lesson does
		if got := d.m.frame.Focused().Name; got != "leases" {
			t.Fatalf("a lesson that shows leases gives %s the focus", got)
		}
	}
	twelve := func(c *Config) {
		c.panes = slices.Clone(nine)
		for _, name := range []string{"ten", "eleven", "twelve"} {
			c.panes = append(c.panes, pane.Make(func() *leases {
				p := newLeases()
				p.List = pane.NewList(pane.Info{Name: name, Title: name, Means: "One more."})
				return p
			}))
		}
	}
	d := explore(t, 80, 24, -1, twelve)
	for _, c := range [][2]string{{"0", "0 ten"}, {"tab", "eleven · "}, {"tab", "twelve · "}} { // those after the tenth have no key
		d.press(c[0]).shows(c[1])
	}
	d.press("ctrl+p").typed("pane twelve").press("enter").shows("twelve")
}

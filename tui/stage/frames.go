package stage

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/grid"
	"kviz/tui/pane"
)

// Frames writes what each beat shows where it stands, as text ([lessons.Screen]).
type Frames struct {
	makers []pane.Maker
	w, h   int
	out    io.Writer
}

// NewFrames makes frames of a size.
func NewFrames(makers []pane.Maker, w, h int, out io.Writer) *Frames {
	return &Frames{makers, w, h, out}
}

// Cells implements [lessons.Screen].
func (f *Frames) Cells(look lessons.Look, h *view.History) []string {
	return CellsOf(f.makers, look, h, f.w, f.h)
}

// Prove implements [lessons.Screen].
func (f *Frames) Prove(look lessons.Look, h *view.History) (time.Duration, error) {
	s := New(f.makers)
	if all := look.Beat.Ghosts; len(all) > 0 { // those of one answer, a wrong one: it shows the difference
		one := all[0].Answer
		look.Beat.Ghosts = slices.DeleteFunc(slices.Clone(all), func(g lessons.GhostLook) bool { return g.Answer != one })
	}
	s.Update(look, h)
	g := grid.New(f.w, f.h)
	s.Draw(g, Around{})
	s.play = endOf(s.play)
	s.Draw(g, Around{})
	text := fmt.Sprintf("beat %d of %d  %s  {#%s} %s\n", look.Step, look.Steps, look.Beat.Title, look.Beat.ID, look.Kind)
	for y := range f.h {
		text += strings.TrimRight(g.Area().Row(y), " ") + "\n"
	}
	_, err := fmt.Fprintln(f.out, text)
	return 0, err
}

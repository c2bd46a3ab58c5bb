package stage

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/nearest"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/grid"
	"kviz/tui/markup"
	"kviz/tui/pane"
)

// Proof proves what beats show ([lessons.Screen]): on every size that lessons are written for the
// rings are found whole, what is in them changes on the way to the stop, and the texts fit.
type Proof struct{ makers []pane.Maker }

// NewProof makes a proof with the panes that lessons may show.
func NewProof(makers []pane.Maker) *Proof { return &Proof{makers} }

// sizes are the screens that lessons are written for.
var sizes = []grid.Rect{{W: 80, H: 24}, {W: 120, H: 40}}

// The most that a beat may show, so that nobody waits for it or loses count.
const (
	mostChanges = 40
	mostTime    = 20 * time.Second
)

// Prove implements [lessons.Screen].
func (p *Proof) Prove(look lessons.Look, h *view.History) (plays time.Duration, err error) {
	var wrong []error
	for _, size := range sizes {
		lasts, err := p.on(size, look, h)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("at %dx%d: %w", size.W, size.H, err))
		}
		if size == sizes[0] {
			plays = lasts
		}
	}
	return plays, errors.Join(wrong...)
}

// Cells implements [lessons.Screen]: they are those of the smallest screen.
func (p *Proof) Cells(look lessons.Look, h *view.History) []string {
	return CellsOf(p.makers, look, h, sizes[0].W, sizes[0].H)
}

// on proves it on one size, and gives how long the beat plays.
func (p *Proof) on(size grid.Rect, look lessons.Look, h *view.History) (plays time.Duration, err error) {
	s := New(p.makers)
	s.Update(look, h)
	g := grid.New(size.W, size.H)
	s.Draw(g, Around{})
	if s.picture == nil {
		return 0, fmt.Errorf("show: there is no picture %q", look.Beat.Show)
	}
	var wrong []error
	if s.playing() {
		if s.play.Changes > mostChanges {
			wrong = append(wrong, fmt.Errorf("%d changes; at most %d: the beat begins too early, or points at too much", s.play.Changes, mostChanges))
		}
		if plays = s.play.Lasts(); plays > mostTime {
			wrong = append(wrong, fmt.Errorf("it plays for %s; at most %s", plays.Round(time.Second), mostTime))
		}
		if size == sizes[0] {
			wrong = append(wrong, s.noticed(g))
		}
		s.play = endOf(s.play)
		s.Draw(g, Around{})
	}
	b := look.Beat
	for _, name := range s.missing {
		wrong = append(wrong, s.notSeen(name))
	}
	for _, name := range s.open {
		if !slices.Contains(s.missing, name) && !slices.Contains(s.bare, name) {
			wrong = append(wrong, fmt.Errorf("spot %q: its ring lacks a side, as words stand there", name))
		}
	}
	wrong = append(wrong, s.disclosed(g)...)
	wrong = append(wrong, s.colourless(g)...)
	wrong = append(wrong, s.haunted(g)...)
	if n := len(s.cells()); b.Point != "" && n < 2 {
		wrong = append(wrong, fmt.Errorf("point %q: %d cells are on the screen to point at; want two or more%s", b.Point, n, s.there(b.Point)))
	}
	if look.Kind == lessons.See && !b.Still && s.play.Changes == 0 {
		wrong = append(wrong, errors.New("nothing in its ring changes on the way to its stop; choose another spot or stop, or say still: true"))
	}
	r := divide(g.Area())
	w := min(r.caption.W()-4, captionWidth)
	for _, text := range []string{b.Before, b.After} {
		if n := len(markup.Lines(text, w)); n > 2 {
			wrong = append(wrong, fmt.Errorf("a paragraph takes %d lines; at most two: %s", n, text))
		}
	}
	for _, c := range look.Choices {
		if grid.Width(c.Text) > w-4 {
			wrong = append(wrong, fmt.Errorf("an answer is longer than its line: %s", c.Text))
		}
	}
	for _, r := range itemRows(look) {
		if r.width() > w {
			wrong = append(wrong, fmt.Errorf("an item with its label is longer than its line: %s", r[0].Text))
		}
	}
	if s.asked() && s.crowded != "" {
		wrong = append(wrong, errors.New(s.crowded))
	}
	return plays, errors.Join(wrong...)
}

// haunted draws the ghosts of each answer that there could be, and reports those that have no
// place.
func (s *Stage) haunted(g *grid.Grid) (wrong []error) {
	before := s.look.Beat.Ghosts
	defer func() { s.look.Beat.Ghosts = before }()
	for all := before; len(all) > 0; {
		n := 1
		for n < len(all) && all[n].Answer == all[0].Answer {
			n++
		}
		s.look.Beat.Ghosts, all = all[:n], all[n:]
		s.Draw(g, Around{})
		for _, name := range s.homeless {
			switch found := s.picture.cells(name); {
			case len(found) == 0 || len(found) == 1 && !s.picture.has(found[0]):
				wrong = append(wrong, s.notThere("ghost", name))
			default:
				wrong = append(wrong, fmt.Errorf("ghost %q: there is no room beside it", name))
			}
		}
		for _, ghost := range s.look.Beat.Ghosts {
			if of, _, _ := strings.Cut(ghost.At, ":"); of != s.picture.name {
				wrong = append(wrong, fmt.Errorf("ghost %q: %s is on the stage as its prediction is answered", ghost.At, s.picture.name))
			}
		}
	}
	return wrong
}

// has reports whether a thing is on the picture.
func (p *picture) has(name string) bool { r, _ := p.Find(name); return !r.Empty() }

// notSeen says that a ring is not found whole, with the nearest of the names that there are.
func (s *Stage) notSeen(name string) error {
	of := s.picture.spot(name)
	if of == "" {
		return fmt.Errorf("spot %q: %s is on the stage; want %s:NAME", name, s.picture.name, s.picture.name)
	}
	if r, _ := s.picture.Find(of); !r.Empty() {
		return fmt.Errorf("spot %q is cut by the frame", name)
	}
	return s.notThere("spot", name)
}

// notThere says that a name is not on the picture, with the nearest that is.
func (s *Stage) notThere(what, name string) error {
	return fmt.Errorf("%s %q is not on the screen%s", what, name, s.there(name))
}

// there is the nearest of the names on the picture to one, and those that are like it.
func (s *Stage) there(name string) (text string) {
	of := s.picture.spot(name)
	kind, _, _ := strings.Cut(of, "/")
	var alike, all []string
	for _, t := range s.picture.Things() {
		if strings.HasPrefix(t, kind) {
			alike = append(alike, t)
		}
		all = append(all, t)
	}
	if len(alike) == 0 {
		alike = all
	}
	if near := nearest.To(of, all); near != "" {
		text = fmt.Sprintf("; did you mean %q?", s.picture.name+":"+near)
	}
	return fmt.Sprintf("%s (there are %s)", text, strings.Join(alike[:min(len(alike), 25)], ", "))
}

package stage

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"kviz/lessons"
	"kviz/tui/grid"
	"kviz/tui/theme"
)

// hidden is what a beat hides: a name of cells, and what stood there.
type hidden struct {
	name  string
	texts []string
}

// textsOf are the texts in an area, row by row.
func textsOf(a grid.Area) (all []string) {
	for y := range a.H() {
		if text := strings.TrimSpace(a.Row(y)); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// disclosed finds what the beat hides and the screen says all the same: elsewhere in the picture, in the
// caption, in an answer.
func (s *Stage) disclosed(g *grid.Grid) (wrong []error) {
	for _, h := range s.hidden {
		if len(h.texts) == 0 {
			wrong = append(wrong, s.notThere("hide", h.name))
		}
		for _, text := range h.texts {
			for y := range g.Area().H() {
				if row := g.Area().Row(y); says(row, text) {
					wrong = append(wrong, fmt.Errorf("hide %q: %q is on the screen all the same: %s", h.name, text, strings.TrimSpace(row)))
				}
			}
		}
	}
	return wrong
}

// says reports whether a row says a text, and not only as a part of a longer word or number.
func says(row, text string) bool {
	part := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(text)
	for rest := row; ; {
		i := strings.Index(rest, text)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(rest[:i])
		after, _ := utf8.DecodeRuneInString(rest[i+len(text):])
		if !(part(first) && part(before)) && !(part(last) && part(after)) {
			return true
		}
		rest = rest[i+len(text):]
	}
}

// colourless finds what only colours tell: where a ring is, and that something in it changes.
func (s *Stage) colourless(g *grid.Grid) (wrong []error) {
	for _, name := range s.bare {
		wrong = append(wrong, fmt.Errorf("spot %q: there is no room for its ring, so without colour nothing says where to look", name))
	}
	b := s.look.Beat
	if s.look.Kind != lessons.See || b.Still || s.play.Changes == 0 {
		return wrong
	}
	s.plain = theme.Named("none")
	defer func() { s.plain = nil }()
	r := divide(g.Area()).stage
	end := s.history.At(b.At - 1)
	if end != nil && s.sight(b.Start, r.W(), r.H()) != s.sight(end, r.W(), r.H()) {
		return wrong // what comes and goes is looked for only where both ends are alike
	}
	if s.plan(r.W(), r.H()).Changes == 0 {
		wrong = append(wrong, errors.New("without colour nothing in its ring changes on the way to its stop; say it in a sign or a word, too"))
	}
	return wrong
}

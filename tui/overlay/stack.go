package overlay

import "kviz/tui/action"

// Stack holds what is open over the panes, the topmost last, and the prompts, each of
// which remembers what was entered in it.
type Stack struct {
	open    []Overlay
	prompts map[string]*Prompt // by what they are for
}

// Push opens an overlay over the others.
func (s *Stack) Push(o Overlay) { s.open = append(s.open, o) }

// Pop closes the topmost.
func (s *Stack) Pop() {
	if n := len(s.open); n > 0 {
		s.open = s.open[:n-1]
	}
}

// Clear closes all.
func (s *Stack) Clear() { s.open = nil }

// Top is the topmost, which has the keyboard; nil where none is open.
func (s *Stack) Top() Overlay {
	if n := len(s.open); n > 0 {
		return s.open[n-1]
	}
	return nil
}

// Empty reports whether none is open.
func (s *Stack) Empty() bool { return len(s.open) == 0 }

// Ask opens a prompt. What is typed can be completed by complete, which may be nil: it
// returns what could replace everything after head.
func (s *Stack) Ask(what action.Prompt, complete func(line string) (head string, words []string)) {
	p := s.prompts[what.For]
	if p == nil {
		p = &Prompt{}
		if s.prompts == nil {
			s.prompts = map[string]*Prompt{}
		}
		s.prompts[what.For] = p
	}
	p.Prompt, p.complete = what, complete
	p.Line.Set(what.Text)
	p.proposed = what.Text != "" && what.Error == "" && what.For != action.ForFilter
	p.offer()
	s.Push(p)
}

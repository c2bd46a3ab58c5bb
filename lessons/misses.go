package lessons

import (
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// nearing is what a learner did that came near to a goal and was not it.
type nearing struct {
	at    trace.ID
	words string
	fatal bool
}

// miss notes what comes near to an open goal; the words are those of that moment.
func (s *Session) miss(g *Goal, st *view.State, e *trace.Event) {
	if len(g.Misses) == 0 || s.Met(g) && !g.Never() {
		return
	}
	for _, m := range g.Misses {
		if !s.holds(m.when, st, e) {
			continue
		}
		if old := s.near[g.ID]; old.fatal && !m.Fatal {
			return // what cannot be mended stays
		}
		words, _ := m.Say.Fill(st, e, s.values)
		s.near[g.ID] = nearing{e.ID, words, m.Fatal}
		return
	}
}

// Mistake is what went wrong in the beat under way so that its goals cannot all be met any more:
// the goal, the words, and the event; nil where nothing did.
func (s *Session) Mistake() (*Goal, string, trace.ID) {
	for _, g := range s.Lesson.Steps[s.at].Goals {
		if at, broken := s.broken[g.ID]; broken && !g.Optional {
			words := s.near[g.ID].words
			for _, other := range s.Lesson.Steps[s.at].Goals { // what was done said of another goal
				if n := s.near[other.ID]; words == "" && n.at == at {
					words = n.words
				}
			}
			if words == "" {
				words = "this must not happen here: " + s.fill(s.Lesson.Steps[s.at], g.Say)
			}
			return g, words, at
		}
		if n := s.near[g.ID]; n.fatal && !s.Met(g) {
			return g, n.words, n.at
		}
	}
	return nil, "", trace.ID{}
}

// Nearest is what came nearest to the first open goal of the beat under way, "" for nothing.
func (s *Session) Nearest() (*Goal, string, trace.ID) {
	for _, g := range s.Lesson.Steps[s.at].Goals {
		if n, ok := s.near[g.ID]; ok && !s.Met(g) {
			return g, n.words, n.at
		}
	}
	return nil, "", trace.ID{}
}

// fill is a text of a step with its values as they are now.
func (s *Session) fill(step *Step, src string) string {
	t := step.said[src]
	if t == nil {
		return src
	}
	st := s.b.Live()
	words, _ := t.Fill(st, st.Event, s.values)
	return words
}

package lessons

import (
	"slices"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// nearing is what a learner did that came near to a goal and was not it.
type nearing struct {
	at    trace.ID
	words string
	fatal bool
}

// closest is the event that came nearest to a goal: of those since the beat began the newest after
// which the most of the goal's aspects held. A level is about now: there it is the newest.
type closest struct {
	at    trace.ID
	hold  int // how many aspects held
	open  int // the first that did not
	value string
	words string
}

// nears notes an event that comes nearer to an open goal than those before it did. A goal that looks
// at no event is left to [Attempt.settles]: evaluating it costs more than most events do.
func (s *Session) nears(g *Goal, st *view.State, e *trace.Event) {
	if parts := g.parts(); eventful(parts) {
		s.closer(g, parts, st, e, e.ID)
	}
}

func eventful(parts []*aspect) bool {
	return slices.ContainsFunc(parts, func(a *aspect) bool { return a.event })
}

// settles notes how near the state after some events comes to the open goals that look at no
// event.
func (a *Attempt) settles(events []*trace.Event) {
	step := a.Lesson.Steps[a.at]
	if len(events) == 0 {
		return
	}
	if a.passed[step.ID] {
		clear(a.lost)
		return
	}
	a.loses()
	st := a.b.Live()
	for _, g := range step.Goals {
		if parts := g.parts(); len(parts) > 0 && !eventful(parts) && a.closer(g, parts, st, st.Event, events[len(events)-1].ID) {
			n := a.nearest[g.ID]
			n.at = a.made(events)
			a.nearest[g.ID] = n
		}
	}
}

// made is which of some events made the state what it is, as far as a learner asks: the newest that
// came of what they did, else the last.
func (a *Attempt) made(events []*trace.Event) trace.ID {
	for _, e := range slices.Backward(events) {
		if k := e.Kind; (k == trace.StoreCommit || k == trace.FaultInjected || k == trace.FaultHealed) && a.Own(e.ID) {
			return e.ID
		}
	}
	return events[len(events)-1].ID
}

// closer notes what comes nearer to an open goal than what was noted before, and reports whether it
// did.
func (s *Session) closer(g *Goal, parts []*aspect, st *view.State, e *trace.Event, at trace.ID) bool {
	if _, met := s.met[g.ID]; met {
		return false
	}
	if _, before := s.met[g.After]; g.After != "" && !before {
		return false
	}
	hold, open := 0, -1
	for i, a := range parts {
		switch {
		case a.met(st, e, s.values):
			hold++
		case a.asks:
			return false
		case open < 0:
			open = i
		}
	}
	old, some := s.nearest[g.ID]
	switch {
	case open < 0:
		delete(s.nearest, g.ID)
		return false
	case some && hold < old.hold && g.level == nil:
		return false
	}
	value := parts[open].value(st, e, s.values)
	if some && hold == old.hold && open == old.open && value == old.value {
		return false
	}
	s.nearest[g.ID] = closest{at, hold, open, value, parts[open].needs(value, st, e, s.values)}
	return true
}

// gained counts what is reached in the beat under way: goals that are met, and what holds of the
// open ones.
func (s *Session) gained() (n int) {
	for _, g := range s.Lesson.Steps[s.at].Goals {
		if s.Met(g) {
			n += 1 + len(g.parts())
		} else {
			n += s.nearest[g.ID].hold
		}
	}
	return n
}

// parts are the aspects of what the goal wants to be so.
func (g *Goal) parts() []*aspect {
	switch {
	case g.edge != nil:
		return g.edge.parts()
	case g.level != nil:
		return g.level.parts()
	}
	return nil
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
	for _, g := range s.Lesson.Steps[s.at].Goals {
		if n, is := s.lost[g.ID]; is {
			return g, n.words, n.at
		}
	}
	return nil, "", trace.ID{}
}

// Nearest is what came nearest to an open goal of the beat under way, "" for nothing: in the
// author's words where there are some, else what is missing of the first such goal.
func (s *Session) Nearest() (*Goal, string, trace.ID) {
	goals := s.Lesson.Steps[s.at].Goals
	for _, g := range goals {
		if n, ok := s.near[g.ID]; ok && !s.Met(g) {
			return g, n.words, n.at
		}
	}
	for _, g := range goals {
		if n, ok := s.nearest[g.ID]; ok && !g.Optional && !s.Met(g) {
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

package tui

import (
	"fmt"
	"sort"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/frame"
	"kviz/tui/keymap"
	"kviz/tui/menu"
)

// comparing is the run beside the one on the screen.
type comparing struct {
	other *branch              // nil: there is none
	found *view.Comparison     // where they differ; nil: it is not known yet
	of    *branch              // the run that was compared with the other
	then  func() action.Action // what waits for it; nil: nothing
	asked bool                 // it is being found out
	until time.Duration        // by when what came of both is wanted; 0: as far as both have come
	pos   uint64               // where the other stands, + 1
	state *view.State          // there
}

// compared is what two runs come to, side by side.
type compared struct {
	of, other *branch
	found     *view.Comparison
	err       error
}

// compareAny goes beside a run or leaves it: with the only other one, or one that is chosen.
func (m *Explorer) compareAny() action.Action {
	switch {
	case m.comparing.other != nil:
		m.leaveOther()
		return nil
	case len(m.branches) < 2:
		return action.Notice{Text: "there is one run: F makes another, to be compared with this one"}
	case m.left != nil && m.named(m.left.Parent) != nil:
		return action.Beside{Name: m.left.Parent}
	case len(m.branches) == 2:
		for _, b := range m.branches {
			if b != m.branch {
				return action.Beside{Name: b.name}
			}
		}
	}
	return action.Key(keymap.Runs)
}

// beside puts a run beside the one on the screen.
func (m *Explorer) beside(name string) action.Action {
	other := m.named(name)
	if other == nil || other == m.branch {
		return action.Notice{Text: "there is no other run " + name}
	}
	m.comparing = comparing{other: other}
	m.frame.Anew()
	return m.compare(nil)
}

func (m *Explorer) leaveOther() {
	m.comparing = comparing{}
	m.frame.Anew()
}

// compare finds out beside the explorer where the two differ and what came of them, and then
// does something.
func (m *Explorer) compare(then func() action.Action) action.Action {
	c := &m.comparing
	if c.other == nil {
		does := m.compareAny()
		if _, goes := does.(action.Beside); !goes {
			return does
		}
		m.perform(does)
	}
	c.then = then
	if c.asked {
		return nil
	}
	c.asked, c.of = true, m.branch
	of, other, until := m.branch, c.other, c.until
	a, b := of.events(), other.events()
	m.safe.Go(func() {
		found, err := view.Compare(a, b, until)
		m.send(compared{of, other, found, err})
	})
	return nil
}

// compared takes what was found out.
func (m *Explorer) compared(d compared) action.Action {
	c := &m.comparing
	if d.of != m.branch || d.other != c.other {
		return nil // something else is on the screen
	}
	c.asked = false
	if d.err != nil {
		return action.Notice{Text: d.err.Error()}
	}
	c.found, c.pos = d.found, 0
	m.frame.Anew()
	then := c.then
	if c.then = nil; then == nil {
		return nil
	}
	return then()
}

// firstDifference goes to the first event that differs.
func (m *Explorer) firstDifference() action.Action {
	if f := m.comparing.found; f != nil && f.Differs {
		return m.toDifference()
	}
	return m.compare(m.toDifference)
}

func (m *Explorer) toDifference() action.Action {
	f, other := m.comparing.found, m.comparing.other.name
	switch {
	case !f.Differs:
		return action.Notice{Text: fmt.Sprintf("%s and %s are the same so far: %d events", m.name, other, f.Same)}
	case f.A.Next == nil:
		m.travel.ToNow()
		return action.Notice{Text: fmt.Sprintf("%s has nothing more; %s goes on with #%s", m.name, other, f.B.Next.ID)}
	case f.B.Next == nil:
		return action.All{action.Goto{ID: f.A.Next.ID}, action.Notice{Text: fmt.Sprintf("the first that differs; %s has nothing more", other)}}
	}
	return action.All{action.Goto{ID: f.A.Next.ID}, action.Notice{Text: fmt.Sprintf("the first that differs; in %s: %s", other, view.Explain(f.B.Next))}}
}

// outcome shows what came of both by a time, 0 for as far as both have come.
func (m *Explorer) outcome(until time.Duration) action.Action {
	m.comparing.until = until
	return m.compare(func() action.Action {
		m.open.Push(menu.Outcome(m.comparing.found, m.name, m.comparing.other.name))
		return nil
	})
}

// besideMoment is the other run at the moment that the screen shows: at the same event while
// they are the same, else at the same time.
func (m *Explorer) besideMoment() *frame.Other {
	c := &m.comparing
	if c.other == nil || c.other == m.branch {
		return nil
	}
	h := c.other.history()
	if pos := m.placeInOther(h); c.state == nil || c.pos != pos+1 || pos+1 >= h.Len() {
		c.state, c.pos = h.At(pos), pos+1
	}
	if c.state == nil {
		c.state = h.Latest()
	}
	return &frame.Other{Moment: frame.Moment{State: c.state, History: h, Live: c.state == h.Latest()}, Run: m.name, Name: c.other.name}
}

// placeInOther is the position in the other's trace of what is shown beside.
func (m *Explorer) placeInOther(h *view.History) uint64 {
	s, stream := m.travel.State(), h.Stream()
	if f := m.comparing.found; f != nil {
		if f.Differs && f.A.Next != nil && f.B.Next != nil && s.Last == f.A.Next.ID {
			if _, pos, ok := stream.At(f.B.Next.ID); ok {
				return pos
			}
		}
		if s.Last.Seq <= f.Same {
			if _, pos, ok := stream.At(trace.ID{Seq: s.Last.Seq}); ok {
				return pos
			}
		}
	}
	first, n := h.First(), h.Len()
	after := sort.Search(int(n-first), func(i int) bool {
		e := stream.Get(first + uint64(i))
		return e == nil || e.At > s.At
	})
	return first + uint64(max(after-1, 0))
}

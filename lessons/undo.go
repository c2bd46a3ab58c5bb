package lessons

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// chain is how many causes of an event are followed at most.
const chain = 64

// Own reports whether an event came of what the learner did: a command that was typed or offered,
// not one of a script, or a fault from the menu.
func (a *Attempt) Own(id trace.ID) bool { return !a.root(id).IsZero() }

// root is what the learner did that led to an event; zero where it was somebody else.
func (a *Attempt) root(id trace.ID) trace.ID {
	for range chain {
		e, _, ok := a.stream.At(id)
		switch {
		case !ok:
			return trace.ID{}
		case theirs(e):
			return e.ID
		case len(e.Causes) == 0:
			return trace.ID{}
		}
		id = e.Causes[0]
	}
	return trace.ID{}
}

// theirs reports whether an event is something that a learner does.
func theirs(e *trace.Event) bool {
	switch e.Kind {
	case trace.CommandStart:
		c, ok := e.Payload.(*trace.Command)
		return ok && c.Source == "console"
	case trace.FaultInjected, trace.FaultHealed:
		return len(e.Causes) == 0
	}
	return false
}

// undoTo is the event after which an undo goes on: the one before what led to the mistake of the
// beat under way, where there is none before what the learner did last in it; zero where they have
// done nothing.
func (a *Attempt) undoTo() trace.ID {
	did := a.did
	if g, _, at := a.Mistake(); g != nil {
		if root := a.root(at); !root.IsZero() {
			did = root
		}
	}
	if did.Seq < 2 {
		return trace.ID{}
	}
	return trace.ID{Seq: did.Seq - 1}
}

// again is the attempt on a stream in which its run was run again, up to within the beat under
// way. The control plane did there what it had done; members of the store act in their own time,
// so positions are found again by the events before them. What the learner did in the beat is judged
// anew.
func (a *Attempt) again(stream *trace.Stream, h *view.History) (*Attempt, error) {
	step, old := a.Lesson.Steps[a.at], &a.spans[a.at]
	from, err := a.position(stream, old.From)
	if err != nil {
		return nil, err
	}
	start := h.At(max(from, 1) - 1)
	if start == nil {
		return nil, errors.New("the beginning of the beat has left memory")
	}
	s := *a.Session
	s.b = view.From(start)
	s.met, s.broken, s.since = maps.Clone(s.met), maps.Clone(s.broken), maps.Clone(s.since)
	s.near, s.nearest, s.passed = maps.Clone(s.near), maps.Clone(s.nearest), maps.Clone(s.passed)
	s.doings, s.lost = newDoings(), map[string]nearing{}
	s.told, s.facts, s.values = maps.Clone(s.told), maps.Clone(s.facts), maps.Clone(s.values)
	for _, g := range step.Goals {
		delete(s.met, g.ID)
		delete(s.broken, g.ID)
		delete(s.since, g.ID)
		delete(s.near, g.ID)
		delete(s.nearest, g.ID)
	}
	delete(s.passed, step.ID)
	begun := h.Stream().Get(max(from, 1) - 1).ID
	maps.DeleteFunc(s.told, func(_ string, v verdict) bool { return v.at.Compare(begun) > 0 })
	for id, facts := range s.facts {
		s.facts[id] = slices.Clone(facts)
		for i := range facts {
			if facts[i].at.Compare(begun) > 0 {
				s.facts[id][i] = fact{}
			}
		}
	}
	b := &Attempt{Session: &s, stream: stream, judged: from, heard: from, waiting: map[trace.ID]bool{}, stage: fold{view.From(start), from}}
	for i := range a.spans[:a.at] {
		span := a.spans[i]
		if span.From, err = a.position(stream, span.From); err == nil {
			span.At, err = a.position(stream, span.At)
		}
		if err != nil {
			return nil, err
		}
		b.spans = append(b.spans, span)
	}
	b.spans = append(b.spans, Span{From: from, At: from, start: b.stage.b.Mark()})
	b.begin()
	return b, nil
}

// position is where in another stream of the same run a position is.
func (a *Attempt) position(in *trace.Stream, pos uint64) (uint64, error) {
	if pos == 0 {
		return 0, nil
	}
	e := a.stream.Get(pos - 1)
	if e == nil {
		return 0, errors.New("what was shown has left memory")
	}
	at := in.Search(e.ID)
	if same := in.Get(at); same != nil && same.ID == e.ID {
		at++
	}
	return at, nil
}

// Undone goes on with the lesson on another cluster, in which the run was run again up to before
// something that the learner did in the beat under way.
func (p *Player) Undone(c Cluster) error {
	h := view.NewHistory(c.Trace())
	h.CatchUp(0)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.beats == nil {
		return errors.New("no lesson in beats is under way")
	}
	was := p.beats
	a, err := was.again(c.Trace(), h)
	if err != nil {
		return fmt.Errorf("lesson %s cannot go on there: %w", p.lesson.ID, err)
	}
	step, _ := a.Beat()
	p.attempt++
	p.cluster, p.hint = c, 0
	if p.folder != "" {
		c.Stand(p.folder)
	}
	p.beats = begins(a, was.base, was.version+1)
	for id, beat := range was.tells { // what was told in the beat under way is told in this run once more
		if beat < a.at {
			p.beats.tells[id], p.beats.noted[id] = beat, was.noted[id]
		}
	}
	if p.recalling == nil && !p.ahead {
		return p.progress.beat(p.lesson.ID, step.ID, func(m *BeatMark) { m.Undone++ })
	}
	return nil
}

package view

import (
	"context"
	"sort"
	"sync"
	"sync/atomic"

	"kviz/cluster/trace"
)

const (
	markEvery = 1000 // events between two marks that are kept
	visited   = 8    // states lately asked for that are kept as well

	archivedMarks = 48   // marks kept of events that are not in memory any more
	batch         = 2048 // events folded before others get a turn
)

// History reaches any moment of a stream: it folds the stream as it grows,
// keeps a mark every thousand events, and folds on from the nearest one.
// All methods may be called from any goroutine.
type History struct {
	stream *trace.Stream
	latest atomic.Pointer[State]

	mu     sync.Mutex // guards what follows
	b      *Builder
	next   uint64 // position of the next event to fold
	marks  []mark
	visits []mark // lately reached states, the newest last
	links  effects
	apart  uint64 // least distance between marks of archived events
}

// mark is the state after all events before a position.
type mark struct {
	pos   uint64
	state *State
}

// NewHistory is the history of a stream. Nothing is folded yet: call
// [History.CatchUp] now and then, or leave it to [History.Run].
func NewHistory(s *trace.Stream) *History {
	h := &History{stream: s, b: NewBuilder(), next: s.Oldest(), apart: markEvery}
	start := h.b.Mark()
	h.marks = []mark{{h.next, start}}
	h.latest.Store(start)
	h.links.start(h.next)
	return h
}

// Stream is the stream it is the history of.
func (h *History) Stream() *trace.Stream { return h.stream }

// Run keeps the history up to date until ctx ends. Only one goroutine should
// run it.
func (h *History) Run(ctx context.Context) {
	changed, stop := h.stream.Notify()
	defer stop()
	for {
		for h.CatchUp(batch) > 0 {
			if ctx.Err() != nil {
				return
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// CatchUp folds up to max events that were not folded yet (all for 0) and
// reports how many are left.
func (h *History) CatchUp(max int) (behind int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for left := max; ; {
		n := batch
		if max > 0 {
			n = min(n, left)
		}
		events, next, lost := h.stream.Read(h.next, n)
		if lost > 0 {
			h.b.s.Lost += lost
			h.links.start(next - uint64(len(events)))
		}
		h.foldIn(events, next-uint64(len(events)))
		h.next = next
		left -= len(events)
		if len(events) == 0 || max > 0 && left <= 0 {
			break
		}
	}
	h.publish()
	return int(h.stream.Len() - h.next)
}

func (h *History) foldIn(events []*trace.Event, pos uint64) {
	for _, e := range events {
		h.b.Apply(e)
		h.links.add(h.stream, e, pos)
		pos++
		if pos-h.marks[len(h.marks)-1].pos >= markEvery {
			h.marks = append(h.marks, mark{pos, h.b.Mark()})
		}
	}
}

// publish makes what was folded the latest state, and lets go of marks from
// which nothing can be reached any more. Of events that only the stream's
// archive has, a few marks are kept.
func (h *History) publish() {
	if s := h.latest.Load(); s.Events != h.b.s.Events || s.Lost != h.b.s.Lost {
		h.latest.Store(h.b.Mark())
	}
	first := h.stream.First()
	keep := 0
	for keep+1 < len(h.marks) && h.marks[keep].pos < first {
		keep++
	}
	var old []mark
	if h.stream.Oldest() < first {
		old = h.thinned(h.marks[:keep])
	}
	if len(old) < keep {
		h.marks = append(old, h.marks[keep:]...)
	}
	h.links.forget(first)
}

// thinned keeps the first mark of archived events, and of the others those that
// lie far enough from the one before. The more there are, the farther that is.
func (h *History) thinned(marks []mark) []mark {
	for {
		out := make([]mark, 0, len(marks))
		for _, m := range marks {
			if len(out) == 0 || m.pos-out[len(out)-1].pos >= h.apart {
				out = append(out, m)
			}
		}
		if len(out) <= archivedMarks {
			return out
		}
		h.apart *= 2
	}
}

// Latest is the newest state folded. It never waits.
func (h *History) Latest() *State { return h.latest.Load() }

// First is the position of the oldest event that can be reached.
func (h *History) First() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(h.stream.Oldest(), h.marks[0].pos)
}

// Len is the position after the newest event folded.
func (h *History) Len() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.next
}

// At is the state right after the event at a position: the latest one for
// positions not folded yet, nil for events that are not kept any more.
func (h *History) At(pos uint64) *State {
	h.mu.Lock()
	if pos+1 >= h.next {
		h.mu.Unlock()
		return h.Latest()
	}
	from, ok := h.nearest(pos + 1)
	h.mu.Unlock()
	if !ok {
		return nil
	}
	if from.pos == pos+1 {
		return from.state
	}
	b := From(from.state)
	for at := from.pos; at <= pos; {
		events, next, lost := h.stream.Read(at, int(pos+1-at))
		if lost > 0 || len(events) == 0 {
			return nil // let go meanwhile
		}
		for _, e := range events {
			b.Apply(e)
		}
		at = next
	}
	s := b.Mark()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.visits) == visited {
		h.visits = append(h.visits[:0:0], h.visits[1:]...)
	}
	h.visits = append(h.visits, mark{pos + 1, s})
	return s
}

// AtID is the state right after an event, by its number; nil if there is no
// such event or it is not kept any more.
func (h *History) AtID(id trace.ID) *State {
	_, pos, ok := h.stream.At(id)
	if !ok {
		return nil
	}
	return h.At(pos)
}

// nearest is the newest state known that is not after pos.
func (h *History) nearest(pos uint64) (mark, bool) {
	i := sort.Search(len(h.marks), func(i int) bool { return h.marks[i].pos > pos })
	if i == 0 {
		return mark{}, false
	}
	best := h.marks[i-1]
	for _, v := range h.visits {
		if v.pos <= pos && v.pos > best.pos {
			best = v
		}
	}
	return best, true
}

// Event is an event by its number, or nil.
func (h *History) Event(id trace.ID) *trace.Event {
	e, _, _ := h.stream.At(id)
	return e
}

package queues

import (
	"math"
	"slices"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/motion"
	"kviz/tui/pane"
	"kviz/tui/theme"
)

// Keys move through the flow as things do on the map: from the watches into the queue, to
// the worker, and away. A key that is under way is not yet where the state has it.

// Moves implements [pane.Moving].
func (p *Queues) Moves(f *pane.Frame) uint64 {
	if f.Motion == nil || len(f.Motion.Keys) == 0 {
		return 0
	}
	return f.Motion.Version
}

var _ pane.Moving = (*Queues)(nil)

// moves reports whether a key of a queue is under way.
func moves(f *pane.Frame, q *view.Queue) bool {
	return f.Motion != nil && slices.ContainsFunc(f.Motion.Keys, func(k motion.Key) bool { return k.Queue == q.Name })
}

// onWay finds the keys of the queue that are under way.
func (w *flow) onWay() {
	if w.f.Motion == nil {
		return
	}
	for _, k := range w.f.Motion.Keys {
		if k.Queue == w.q.Name {
			w.moving = append(w.moving, k)
		}
	}
}

// lit is the key whose way is lit: it went that way, and does not travel, or was merged.
func (w *flow) lit(ways ...motion.Way) *motion.Key {
	for i, k := range w.moving {
		if slices.Contains(ways, k.Way) && (k.Whole || k.Way == motion.Onto && !k.Waits) {
			return &w.moving[i]
		}
	}
	return nil
}

func (w *flow) under(key string, ways ...motion.Way) bool {
	return slices.ContainsFunc(w.moving, func(k motion.Key) bool { return k.Key == key && !k.Whole && slices.Contains(ways, k.Way) })
}

// coming reports whether a key is still under way to where it waits.
func (w *flow) coming(key string) bool { return w.under(key, motion.In, motion.Again, motion.Later) }

// atWorker reports whether a key stands at the worker: it is neither under way to it nor from it.
func (w *flow) atWorker(key string) bool {
	return !w.under(key, motion.Taken) && !slices.ContainsFunc(w.moving, func(k motion.Key) bool {
		return k.Key == key && !k.Whole && !k.Waits && (k.Way == motion.Done || k.Way == motion.Again || k.Way == motion.Later)
	})
}

// slot is where a key that waits stands in the queue.
type slot struct {
	*view.QueueKey
	x int
}

// chip is a key as it waits; litChip has the shape of one that has just come.
func chip(key string) string    { return "▕" + short(key) + "▏" }
func litChip(key string) string { return "▐" + short(key) + "▌" }

// lineUp places the keys that wait, the first next to the worker, as many as there is room for.
func (w *flow) lineUp(waiting []*view.QueueKey) []slot {
	var all []slot
	x := w.cols[2] - 1
	for i, k := range waiting {
		room := w.cols[1] + 3
		if i < len(waiting)-1 { // for how many more there are
			room += 3
		}
		if x -= grid.Width(chip(k.Key)); x < room {
			break
		}
		all = append(all, slot{k, x})
	}
	return all
}

type point struct{ x, y int }

// ends are where the way of a key begins and ends.
func (w *flow) ends(k *motion.Key) (from, to point) {
	width := grid.Width(chip(k.Key))
	entry, worker, later := point{w.cols[1], 1}, point{w.cols[2] + 4, 1}, point{w.cols[1] + 2, sources}
	first, end := point{w.cols[2] - 1 - width, 1}, point{w.cols[2] - 1 - width, 1}
	place := point{}
	for _, s := range w.lineUp(w.q.Waiting()) {
		if s.Key == k.Key {
			place = point{s.x, 1}
		}
		end.x = max(s.x-width, w.cols[1]+3)
	}
	if is := w.q.Key(k.Key); place == (point{}) {
		if place = end; is != nil && is.Processing && is.Dirty { // it goes round again from there
			place = worker
		}
	}
	switch k.Way {
	case motion.In:
		if from = entry; w.wasLater(k.Event) {
			from = later
		}
		return from, place
	case motion.Onto:
		return place, place
	case motion.Taken:
		return first, worker
	case motion.Again:
		return worker, place
	case motion.Later:
		return worker, later
	}
	return worker, point{w.cols[3] - width, 1}
}

// wasLater reports whether a key comes back because its time has come.
func (w *flow) wasLater(e *trace.Event) bool {
	if w.f.H == nil {
		return false
	}
	return slices.ContainsFunc(e.Causes, func(id trace.ID) bool {
		cause := w.f.H.Event(id)
		return cause != nil && cause.Kind == trace.QueueDelay
	})
}

// travel draws the keys that are under way over everything else.
func (w *flow) travel() {
	for i := range w.moving {
		k := &w.moving[i]
		earlier := slices.ContainsFunc(w.moving[:i], func(q motion.Key) bool { return q.Key == k.Key })
		if k.Whole || k.Waits && (k.Way != motion.Taken || earlier) {
			continue
		}
		from, to := w.ends(k)
		text, st := chip(k.Key), theme.Busy|grid.Bold
		switch {
		case k.Way == motion.Onto:
			text = litChip(k.Key)
		case k.Waits: // it has not been taken yet
			st = theme.Number
		}
		at := func(a, b int) int { return a + int(math.Round(k.Share*float64(b-a))) }
		w.s.Row(at(from.y, to.y)).Text(at(from.x, to.x), 0, text, st)
	}
}

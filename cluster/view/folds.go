package view

import (
	"cmp"
	"iter"

	"kviz/cluster/trace"
)

// fold is how the events of one kind change the state.
type fold func(*Builder, *trace.Event)

// folds says how the events of each kind change the state. A kind that is not
// here only counts in its lane.
var folds = map[trace.Kind]fold{}

// on enters the fold of a kind. An event of it without its payload (there is
// none, but a recording may be damaged) only counts in its lane.
func on[P any](k trace.Kind, f func(*Builder, *trace.Event, *P)) {
	folds[k] = func(b *Builder, e *trace.Event) {
		if p, ok := e.Payload.(*P); ok && p != nil {
			f(b, e, p)
		}
	}
}

func (b *Builder) lane(e *trace.Event) {
	name, ok := b.laneNames[e.Lane]
	if !ok {
		name = e.Lane.String()
		b.laneNames[e.Lane] = name
	}
	l := edit(b, b.s.lanes, name)
	l.Lane = e.Lane
	l.Events++
	l.Last = e
}

// entries ranges over a table as it was at the start, so that the loop may
// change it.
func entries[K cmp.Ordered, V any](t table[K, V]) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, k := range t.keys() {
			if v, ok := t.get(k); ok && !yield(k, v) {
				return
			}
		}
	}
}

package view

import "kviz/cluster/trace"

// folds says how the events of each kind change the state. A kind that is not
// here only counts in its lane.
var folds = map[trace.Kind]fold{}

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

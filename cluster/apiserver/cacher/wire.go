package cacher

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"kviz/cluster/trace"
)

// wire is the way from the server to one client's watches of one kind. What
// can be wrong with it stays with it, so a watch that is opened anew feels it
// as well. The server knows nothing of it, but for its buffer that fills; the
// client knows nothing either, but for a connection that breaks.
type wire struct {
	stalled bool
	slow    time.Duration // that each event takes longer
	lose    int           // so many events of objects are lost
	why     trace.ID      // the newest fault of it
}

// Wires are the ways from all servers to all clients: what is wrong with some, the
// components that ever watched, and the numbers of the watches.
type Wires struct {
	bad        map[string]*wire // those that something was wrong with
	components map[string]bool  // whose watches there are or were, by the name of their wire
	opened     uint64           // number of the newest watch
}

// open gives a new watch its number, and what is wrong with the way to its client.
func (ws *Wires) open(w *Watcher, component bool) *Watcher {
	ws.opened++
	w.Number = ws.opened
	name := w.wireName()
	if component {
		if ws.components == nil {
			ws.components = map[string]bool{}
		}
		ws.components[name] = true
	}
	w.wire = ws.bad[name]
	return w
}

// Names lists the clients of the open watches, and the components that ever watched, each
// with the resource: "scheduler/pods", sorted.
func (ws *Wires) Names(open []*Watcher) []string {
	var names []string
	for _, w := range open {
		names = append(names, w.wireName())
	}
	for name := range ws.components {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Stall has the watches of a name told nothing until flow. open are all watches that
// there are, why is the event of the fault, here and below.
func (ws *Wires) Stall(open []*Watcher, name string, why trace.ID) {
	ws.change(open, name, why, func(x *wire) { x.stalled = true })
}

// Flow ends stall, and lose where nothing was lost yet: what waits is told at once, or
// as fast as the wire is.
func (ws *Wires) Flow(open []*Watcher, name string, why trace.ID) {
	ws.change(open, name, why, func(x *wire) { x.stalled, x.lose = false, 0 })
}

// Slow has every event take d to reach the watches of a name, one after another; 0
// ends it.
func (ws *Wires) Slow(open []*Watcher, name string, d time.Duration, why trace.ID) {
	ws.change(open, name, why, func(x *wire) { x.slow = d })
}

// Lose loses the next event of an object, and no bookmark: nobody is told.
func (ws *Wires) Lose(open []*Watcher, name string, why trace.ID) {
	ws.change(open, name, why, func(x *wire) { x.lose = 1 })
}

// Cut breaks the connections of a name's watches. Their client watches again from the
// newest revision it has seen, and gets what it missed.
func (ws *Wires) Cut(open []*Watcher, name string, why trace.ID) {
	for _, w := range open {
		if w.wireName() == name {
			w.end("the connection to the client broke", why)
		}
	}
}

func (ws *Wires) change(open []*Watcher, name string, why trace.ID, how func(*wire)) {
	x := ws.bad[name]
	if x == nil {
		if ws.bad == nil {
			ws.bad = map[string]*wire{}
		}
		x = &wire{}
		ws.bad[name] = x
	}
	how(x)
	x.why = why
	for _, w := range open {
		if w.wireName() == name {
			w.wire = x
			w.sync()
		}
	}
}

// wireName is what faults call the way to the watch's client: who it is, and the
// resource; of a custom kind with its group.
func (w *Watcher) wireName() string {
	k := w.want.kind
	if name := k.CustomName(); name != "" {
		return w.client + "/" + name
	}
	return w.client + "/" + k.GroupVersionResource.Resource
}

// send puts a delivery on the wire.
func (w *Watcher) send(d delivery) {
	x := w.wire
	switch {
	case w.closed:
	case x == nil || len(w.held) == 0 && !x.stalled && x.slow == 0 && x.lose == 0:
		w.box.Send(d)
	case x.lose > 0 && d.kind != watch.Bookmark && d.kind != watch.Error:
		x.lose--
		w.lost(d)
	default:
		w.held = append(w.held, d)
		if len(w.held) == 1 {
			w.sync()
		}
	}
}

// lost tells those who look on that the client does not get an event.
func (w *Watcher) lost(d delivery) {
	w.began = max(w.began-1, 0)
	w.set.p.Kernel().Emit(trace.Event{
		Lane: w.set.p.Lane, Kind: trace.WatchLost, Object: d.ref, Causes: []trace.ID{d.cause, w.wire.why},
		Payload: &trace.WatchEvent{Watch: w.Number, Client: w.client, Type: string(d.kind), Revision: d.revision},
	})
}

// sync plans when the oldest event that waits arrives.
func (w *Watcher) sync() {
	w.turn++
	if len(w.held) == 0 || w.wire.stalled {
		return
	}
	if w.wire.slow == 0 {
		for _, d := range w.held {
			w.arrive(d)
		}
		w.held = nil
		return
	}
	turn := w.turn
	w.set.p.Kernel().After(w.wire.slow, func() {
		if w.turn != turn || w.closed {
			return
		}
		d := w.held[0]
		w.held = w.held[1:]
		w.arrive(d)
		w.sync()
	})
}

func (w *Watcher) arrive(d delivery) {
	d.late = w.wire.why
	w.box.Send(d)
}

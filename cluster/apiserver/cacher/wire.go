package cacher

import (
	"slices"
	"time"

	"kviz/cluster/trace"
)

// wire is the connection from the server to one client's watches of one kind. Its
// faults stay with it, so a watch that is opened again is affected as well. The
// server notices nothing except that its buffer fills up; the client notices nothing
// except a broken connection.
type wire struct {
	stalled bool
	slow    time.Duration // that each event takes longer
	next    fate          // of the next event of an object, or of what of names
	of      string        // "namespace/name" or "name"; "" for any object
	holding bool          // an event is held, and with it what comes behind it
	why     trace.ID      // the newest fault of it
}

// fate is what becomes of one event on a wire.
type fate int

const (
	goes    fate = iota
	held         // it waits, and what comes behind it waits too
	lost         // nobody is told of it
	delayed      // it arrives behind the one that comes after it
)

// concerns reports whether the next fault of the wire is meant for a delivery.
func (x *wire) concerns(d *delivery) bool {
	return x.next != goes && d.ofObject() && (x.of == "" || x.of == d.ref.Key())
}

// Wires are the ways from all servers to all clients: what is wrong with some, the
// components that ever watched, and the numbers of the watches.
type Wires struct {
	// Open gives all watches that are open, at any server, in the order in which they were
	// opened.
	Open func() []*Watcher

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
func (ws *Wires) Names() []string {
	var names []string
	for _, w := range ws.Open() {
		names = append(names, w.wireName())
	}
	for name := range ws.components {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Stall has the watches of a name told nothing until [Wires.Flow]. why is the event of the
// fault, here and below.
func (ws *Wires) Stall(name string, why trace.ID) {
	ws.change(name, why, func(x *wire) { x.stalled = true })
}

// Flow ends [Wires.Stall] and [Wires.Hold], and what was to happen to the next event: what waits is told
// at once, or as fast as the wire is.
func (ws *Wires) Flow(name string, why trace.ID) {
	ws.change(name, why, func(x *wire) { x.stalled, x.holding, x.next = false, false, goes })
	for _, w := range ws.on(name) {
		w.catchUp()
	}
}

// Slow has every event take d to reach the watches of a name, one after another; 0
// ends it.
func (ws *Wires) Slow(name string, d time.Duration, why trace.ID) {
	ws.change(name, why, func(x *wire) { x.slow = d })
}

// Cut breaks the connections of a name's watches. Their client watches again from the
// newest revision it has seen, and gets what it missed.
func (ws *Wires) Cut(name string, why trace.ID) {
	for _, w := range ws.on(name) {
		w.end("the connection to the client broke", why)
	}
}

func (ws *Wires) change(name string, why trace.ID, how func(*wire)) {
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
	for _, w := range ws.on(name) {
		w.wire = x
		w.sync()
	}
}

// on are the open watches of a name.
func (ws *Wires) on(name string) (on []*Watcher) {
	for _, w := range ws.Open() {
		if w.wireName() == name {
			on = append(on, w)
		}
	}
	return on
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
	case x == nil:
		w.box.Send(d)
	case x.concerns(&d) && x.next == lost:
		x.next = goes
		w.lost(d)
	case x.concerns(&d) && x.next == delayed && w.behind == nil:
		x.next = goes
		w.fallBehind(d)
	case x.concerns(&d) && x.next == held:
		x.next, x.holding = goes, true
		w.wait(d)
	case len(w.held) == 0 && !x.stalled && !x.holding && x.slow == 0:
		w.arriveOnTime(d)
	default:
		w.wait(d)
	}
}

// wait has a delivery wait on the wire.
func (w *Watcher) wait(d delivery) {
	w.held = append(w.held, d)
	if len(w.held) == 1 {
		w.sync()
	}
	w.tellHeld()
}

// lost tells those who look on that the client does not get an event.
func (w *Watcher) lost(d delivery) {
	w.began = max(w.began-1, 0)
	w.set.p.Kernel().Emit(trace.Event{
		Lane: w.set.p.Lane, Kind: trace.WatchLost, Object: d.ref, Causes: []trace.ID{d.cause, w.wire.why},
		Payload: &trace.WatchEvent{Watch: w.Number, Client: w.client, Type: string(d.kind), Revision: d.revision, Unknown: d.unknown()},
	})
}

// sync plans when the oldest event that waits arrives.
func (w *Watcher) sync() {
	w.turn++
	if len(w.held) == 0 || w.wire.stalled || w.wire.holding {
		return
	}
	if w.wire.slow == 0 {
		all := w.held
		w.held = nil
		for _, d := range all {
			w.arrive(d)
		}
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

// arrive hands the client what had to wait.
func (w *Watcher) arrive(d delivery) {
	d.late = w.wire.why
	w.arriveOnTime(d)
}

// arriveOnTime hands the client a delivery, and behind it the one that was to come before
// it, if there is one.
func (w *Watcher) arriveOnTime(d delivery) {
	w.box.Send(d)
	if w.behind == nil || !d.ofObject() {
		return
	}
	b := *w.behind
	w.behind, b.late, b.after = nil, w.wire.why, &d
	w.box.Send(b)
}

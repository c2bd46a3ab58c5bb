package cacher

import (
	"slices"

	"k8s.io/apimachinery/pkg/watch"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/trace"
)

// What can be done to one event on its way to a client. A connection keeps its order, so
// what comes behind an event that is held waits too; only an event that is delayed arrives
// out of order, which a real connection never does, and by which can be seen what clients
// rely on.

// Hold holds the oldest event that waits for the watches of a name, or the next one of an
// object ("" is any), with what comes behind it, until [Wires.Release].
func (ws *Wires) Hold(name, of string, why trace.ID) {
	ws.toOne(name, of, held, why)
}

// Lose loses the oldest event that waits, or the next one of an object, and no bookmark:
// nobody is told. It ends [Wires.Hold].
func (ws *Wires) Lose(name, of string, why trace.ID) {
	ws.toOne(name, of, lost, why)
}

// Delay has the oldest event that waits, or the next one of an object, arrive behind the
// one that comes after it. It ends [Wires.Hold].
func (ws *Wires) Delay(name, of string, why trace.ID) {
	ws.toOne(name, of, delayed, why)
}

// Release ends [Wires.Hold]; where the watches are stalled or slow, it lets the oldest event go,
// and what is behind that one waits on.
func (ws *Wires) Release(name string, why trace.ID) {
	stopped := false
	ws.change(name, why, func(x *wire) {
		stopped = !x.holding && x.next == goes
		x.holding, x.next = false, goes
	})
	for _, w := range ws.on(name) {
		if stopped {
			w.letOneGo()
		}
	}
}

// Waits reports whether an event is held on the wire of a name, or will be.
func (ws *Wires) Waits(name string) bool {
	x := ws.bad[name]
	if x == nil {
		return false
	}
	return x.holding || x.next != goes || slices.ContainsFunc(ws.on(name), func(w *Watcher) bool { return w.oldest("") >= 0 })
}

// toOne does something to one event: to the oldest that waits, else to the next. What was
// held before is released.
func (ws *Wires) toOne(name, of string, what fate, why trace.ID) {
	waits := false
	for _, w := range ws.on(name) {
		waits = waits || w.oldest(of) >= 0
	}
	ws.change(name, why, func(x *wire) {
		if !waits {
			x.next, x.of, x.holding = what, of, x.holding && what == held
			return
		}
		x.next, x.holding = goes, true // until it is done
	})
	if !waits {
		return
	}
	for _, w := range ws.on(name) {
		if at := w.oldest(of); at >= 0 && what != held {
			d := w.held[at]
			w.held = slices.Delete(w.held, at, at+1)
			if what == lost {
				w.lost(d)
			} else {
				w.fallBehind(d)
			}
		}
		w.tellHeld()
	}
	if what != held {
		ws.change(name, why, func(x *wire) { x.holding = false })
	}
}

// ofObject reports whether a delivery is about an object: neither a bookmark nor an
// error.
func (d *delivery) ofObject() bool { return d.kind != watch.Bookmark && d.kind != watch.Error }

// unknown is how the cache of a client that misses a delivery differs.
func (d *delivery) unknown() []trace.FieldDiff {
	switch a := d.after; {
	case a != nil && a.kind == watch.Modified:
		return object.Diff(d.obj, a.obj)
	case a == nil && d.kind == watch.Modified && d.prev != nil:
		return object.Diff(d.prev.object(), d.obj)
	}
	return nil
}

// oldest is the place of the first event of an object that waits, or of the one named; -1
// if there is none.
func (w *Watcher) oldest(of string) int {
	return slices.IndexFunc(w.held, func(d delivery) bool { return d.ofObject() && (of == "" || of == d.ref.Key()) })
}

// letOneGo lets the oldest event arrive, and bookmarks before it.
func (w *Watcher) letOneGo() {
	n := w.oldest("") + 1
	gone := slices.Clone(w.held[:n])
	w.held = slices.Clone(w.held[n:])
	for _, d := range gone {
		w.arrive(d)
	}
	w.sync()
}

// fallBehind keeps a delivery until the one after it has arrived.
func (w *Watcher) fallBehind(d delivery) {
	w.catchUp()
	w.behind = &d
	w.tellHeld()
}

// catchUp lets go what was to arrive behind another.
func (w *Watcher) catchUp() {
	if b := w.behind; b != nil {
		w.behind = nil
		w.arrive(*b)
	}
}

// tellHeld tells those who look on of what waits because somebody has it wait, once each.
func (w *Watcher) tellHeld() {
	tell := func(d *delivery) {
		if d.told || !d.ofObject() {
			return
		}
		d.told = true
		w.set.p.Kernel().Emit(trace.Event{
			Lane: w.set.p.Lane, Kind: trace.WatchHeld, Object: d.ref, Causes: []trace.ID{d.cause, w.wire.why},
			Payload: &trace.WatchEvent{Watch: w.Number, Client: w.client, Type: string(d.kind), Revision: d.revision, Unknown: d.unknown()},
		})
	}
	if w.behind != nil {
		tell(w.behind)
	}
	if w.wire.stalled || w.wire.holding {
		for i := range w.held {
			tell(&w.held[i])
		}
	}
}

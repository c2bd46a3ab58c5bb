package apiserver

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

// wireName is what faults call the way to the watch's client: who it is, and the
// resource; of a custom kind with its group.
func (w *watcher) wireName() string {
	k := w.want.kind
	if name := k.CustomName(); name != "" {
		return w.client + "/" + name
	}
	return w.client + "/" + k.GroupVersionResource.Resource
}

// openWatchers are all open watches at any server, in the order in which they were
// opened.
func (s *Server) openWatchers() []*watcher {
	var all []*watcher
	for _, o := range s.peers.all {
		for _, c := range o.openCaches() {
			all = append(all, c.watchers.all()...)
		}
	}
	slices.SortFunc(all, func(a, b *watcher) int { return int(a.number) - int(b.number) })
	return all
}

// Wires lists the clients that watch, or are components that ever did, each with
// the resource: "scheduler/pods", sorted.
func (s *Server) Wires() []string {
	var names []string
	for _, w := range s.openWatchers() {
		names = append(names, w.wireName())
	}
	for name := range s.peers.informers {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// StallWire has the watches of a name told nothing until [Server.FlowWire]. why is
// the event of the fault, here and below.
func (s *Server) StallWire(name string, why trace.ID) {
	s.changeWire(name, why, func(x *wire) { x.stalled = true })
}

// FlowWire ends StallWire, and LoseOnWire where nothing was lost yet: what waits is
// told at once, or as fast as the wire is.
func (s *Server) FlowWire(name string, why trace.ID) {
	s.changeWire(name, why, func(x *wire) { x.stalled, x.lose = false, 0 })
}

// SlowWire has every event take d to reach the watches of a name, one after
// another; 0 ends it.
func (s *Server) SlowWire(name string, d time.Duration, why trace.ID) {
	s.changeWire(name, why, func(x *wire) { x.slow = d })
}

// LoseOnWire loses the next event of an object, and no bookmark: nobody is told.
func (s *Server) LoseOnWire(name string, why trace.ID) {
	s.changeWire(name, why, func(x *wire) { x.lose = 1 })
}

// CutWire breaks the connections of a name's watches. Their client watches again
// from the newest revision it has seen, and gets what it missed.
func (s *Server) CutWire(name string, why trace.ID) {
	for _, w := range s.openWatchers() {
		if w.wireName() == name {
			w.end("the connection to the client broke", why)
		}
	}
}

func (s *Server) changeWire(name string, why trace.ID, how func(*wire)) {
	x := s.peers.wires[name]
	if x == nil {
		if s.peers.wires == nil {
			s.peers.wires = map[string]*wire{}
		}
		x = &wire{}
		s.peers.wires[name] = x
	}
	how(x)
	x.why = why
	for _, w := range s.openWatchers() {
		if w.wireName() == name {
			w.wire = x
			w.sync()
		}
	}
}

// send puts a delivery on the wire.
func (w *watcher) send(d delivery) {
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
func (w *watcher) lost(d delivery) {
	w.began = max(w.began-1, 0)
	w.s.k.Emit(trace.Event{
		Lane: w.s.p.Lane, Kind: trace.WatchLost, Object: d.ref, Causes: []trace.ID{d.cause, w.wire.why},
		Payload: &trace.WatchEvent{Watch: w.number, Client: w.client, Type: string(d.kind), Revision: d.revision},
	})
}

// sync plans when the oldest event that waits arrives.
func (w *watcher) sync() {
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
	w.s.k.After(w.wire.slow, func() {
		if w.turn != turn || w.closed {
			return
		}
		d := w.held[0]
		w.held = w.held[1:]
		w.arrive(d)
		w.sync()
	})
}

func (w *watcher) arrive(d delivery) {
	d.late = w.wire.why
	w.box.Send(d)
}

// Slow has every request take d longer, as on a machine that has too much to do;
// 0 ends it. It takes its time when it has been let in, so it keeps its seat for as
// long.
func (s *Server) Slow(d time.Duration) { s.slow = d }

package apiserver

import (
	"slices"
	"time"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// What is wrong between the servers and their clients, for those who make it so: the
// faults of informers, and of the server itself.

// openWatchers are all open watches at any server, in the order in which they were
// opened.
func (s *Server) openWatchers() []*cacher.Watcher {
	var all []*cacher.Watcher
	for _, o := range s.peers.all {
		all = append(all, o.caches.Watchers()...)
	}
	slices.SortFunc(all, func(a, b *cacher.Watcher) int { return int(a.Number) - int(b.Number) })
	return all
}

// Wires lists the clients that watch, or are components that ever did, each with
// the resource: "scheduler/pods", sorted.
func (s *Server) Wires() []string { return s.peers.wires.Names(s.openWatchers()) }

// StallWire has the watches of a name told nothing until [Server.FlowWire]. why is
// the event of the fault, here and below.
func (s *Server) StallWire(name string, why trace.ID) {
	s.peers.wires.Stall(s.openWatchers(), name, why)
}

// FlowWire ends StallWire and HoldOnWire, and what was to happen to the next event: what
// waits is told at once, or as fast as the wire is.
func (s *Server) FlowWire(name string, why trace.ID) {
	s.peers.wires.Flow(s.openWatchers(), name, why)
}

// SlowWire has every event take d to reach the watches of a name, one after
// another; 0 ends it.
func (s *Server) SlowWire(name string, d time.Duration, why trace.ID) {
	s.peers.wires.Slow(s.openWatchers(), name, d, why)
}

// HoldOnWire holds the oldest event that waits for the watches of a name, or the next one
// of an object ("" is any), with what comes behind it, until [Server.ReleaseOnWire].
func (s *Server) HoldOnWire(name, of string, why trace.ID) {
	s.peers.wires.Hold(s.openWatchers(), name, of, why)
}

// ReleaseOnWire ends HoldOnWire; of watches that are stalled it lets one event go.
func (s *Server) ReleaseOnWire(name string, why trace.ID) {
	s.peers.wires.Release(s.openWatchers(), name, why)
}

// WaitsOnWire reports whether there is something to release.
func (s *Server) WaitsOnWire(name string) bool { return s.peers.wires.Waits(s.openWatchers(), name) }

// LoseOnWire loses such an event, and no bookmark: nobody is told.
func (s *Server) LoseOnWire(name, of string, why trace.ID) {
	s.peers.wires.Lose(s.openWatchers(), name, of, why)
}

// DelayOnWire has such an event arrive behind the one that comes after it.
func (s *Server) DelayOnWire(name, of string, why trace.ID) {
	s.peers.wires.Delay(s.openWatchers(), name, of, why)
}

// CutWire breaks the connections of a name's watches. Their client watches again
// from the newest revision it has seen, and gets what it missed.
func (s *Server) CutWire(name string, why trace.ID) { s.peers.wires.Cut(s.openWatchers(), name, why) }

// DelayHandlers has every request pass a function when it has been let in, so that it keeps
// its seats for as long as that takes. Nil ends it.
func (s *Server) DelayHandlers(pass func(t *sim.Task)) { s.delay = pass }

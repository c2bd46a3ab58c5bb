package apiserver

import (
	"time"

	"kviz/cluster/sim"
)

// lifecycle is how far a server has come, and the process it runs as.
type lifecycle struct {
	p       *sim.Process
	ready   bool
	begun   bool     // it has been ready, whatever became of it
	retired bool     // it ends for good
	started sim.Cond // ready changed
}

// Process is the process the server runs as.
func (l *lifecycle) Process() *sim.Process { return l.p }

// Ready reports whether the server answers requests: what /readyz says.
func (l *lifecycle) Ready() bool { return l.ready && l.p.Alive() }

// Begun reports whether the server has been ready since the cluster began.
func (l *lifecycle) Begun() bool { return l.begun }

// WaitReady waits until the server is ready.
func (l *lifecycle) WaitReady(t *sim.Task) {
	for !l.Ready() {
		l.started.Wait(t)
	}
}

// WaitReadyFor is WaitReady with a limit in virtual time. It reports whether the
// server is ready.
func (l *lifecycle) WaitReadyFor(t *sim.Task, limit time.Duration) bool {
	for end := t.Elapsed() + limit; !l.Ready(); {
		left := end - t.Elapsed()
		if left <= 0 {
			return false
		}
		l.started.WaitTimeout(t, left)
	}
	return true
}

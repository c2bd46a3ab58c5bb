package sim

import (
	"time"

	"kviz/cluster/trace"
)

// gate decides whether the cluster stands still after an event.
type gate struct {
	standing bool        // nothing moves
	held     bool        // the store's messages are held: while it stands, and in steps of the grain raft
	stepping bool        // stand at the next event of grain or coarser
	grain    trace.Grain //
	stops    []*Stop     // stand when one of these says so
}

// Stop is a condition to stand still at: a breakpoint or a run-until.
type Stop struct {
	// At reports whether the cluster should stand after the event.
	At func(*trace.Event) bool
	// Once removes the stop when it has hit.
	Once bool
	// Hit, if set, is called on the kernel's goroutine when it hits.
	Hit func(*trace.Event)
}

// append numbers an event, hands it to the sink and works the gate. Outside
// events do not stop the cluster here, for the store holds its own messages; but
// in a step of the grain raft what a member does is what is stepped to, and nothing
// else is.
func (k *Kernel) append(e *trace.Event) trace.ID {
	kind := e.Kind.Info() // once: a large cluster has a million events
	if kind.Outside {
		k.last.Sub++
	} else {
		k.last = trace.ID{Seq: k.last.Seq + 1}
	}
	e.ID = k.last
	e.At = k.now
	if k.cfg.Sink != nil && !k.stopping {
		k.cfg.Sink.Append(e)
	}
	if k.again.standsAt(e) {
		k.gate.standing = true
	}
	ends := !kind.Outside && kind.Grain >= k.gate.grain
	if k.singly() {
		ends = e.Lane.Component == trace.CompMember
	}
	if k.gate.stepping && ends {
		k.stand()
	}
	for i := 0; i < len(k.gate.stops); i++ {
		s := k.gate.stops[i]
		if !s.At(e) {
			continue
		}
		if s.Once {
			k.gate.stops = append(k.gate.stops[:i:i], k.gate.stops[i+1:]...)
			i--
		}
		k.stand()
		if s.Hit != nil {
			s.Hit(e)
		}
	}
	return e.ID
}

// Emit appends an event that belongs to no task: one of a raft member, a fault, the
// user. It never blocks; if the cluster has to stop at it, it does so before anything
// else runs.
func (k *Kernel) Emit(e trace.Event) trace.ID { return k.append(&e) }

func (k *Kernel) stand() {
	k.gate.stepping = false
	k.gate.standing = true
	k.pace.skipTo = min(k.pace.skipTo, k.now) // who stands is where the way was to go
	k.hold(true)
}

// move lets the cluster go on, with the store's messages held or let go.
func (k *Kernel) move(held bool) {
	if k.gate.standing {
		k.gate.standing = false
		k.pace.anchor(k.now)
	}
	k.hold(held)
}

func (k *Kernel) hold(on bool) {
	if k.gate.held == on {
		return
	}
	k.gate.held = on
	if k.cfg.Hold != nil {
		k.cfg.Hold(on)
	}
}

// singly reports whether the cluster moves by the grain of single messages.
func (k *Kernel) singly() bool { return k.gate.stepping && k.gate.held && !k.gate.standing }

// Paused reports whether the cluster stands.
func (k *Kernel) Paused() bool { return k.gate.standing }

// Waiting is how many requests from outside wait because the cluster stands.
func (k *Kernel) Waiting() int { return k.inbox.waiting() }

// Pause makes the cluster stand right here.
func (k *Kernel) Pause() { k.stand() }

// Resume lets the cluster run.
func (k *Kernel) Resume() {
	k.gate.stepping = false
	k.move(false)
}

// Step lets the cluster run to the next control-plane event of the given grain or a
// coarser one, and stop there. At the grain of raft the store stays held meanwhile,
// and the cluster stops only at what a member does; when the cluster waits for the
// store, one held item is released.
func (k *Kernel) Step(g trace.Grain) {
	k.gate.stepping, k.gate.grain = true, g
	k.move(g == trace.GrainRaft && k.cfg.Release != nil)
}

// AddStop adds a condition to stand at.
func (k *Kernel) AddStop(s *Stop) { k.gate.stops = append(k.gate.stops, s) }

// RemoveStop removes a condition.
func (k *Kernel) RemoveStop(s *Stop) {
	for i, o := range k.gate.stops {
		if o == s {
			k.gate.stops = append(k.gate.stops[:i:i], k.gate.stops[i+1:]...)
			return
		}
	}
}

// SkipIdle moves virtual time to the next timer at once, however slow the
// clock runs. It does nothing while something is ready to run.
func (k *Kernel) SkipIdle() {
	if k.runq.len() == 0 && len(k.timers) > 0 && k.timers[0].at > k.now {
		k.pace.skipTo = k.timers[0].at
	}
}

// NextTimer is when the next timer after now is due; false if none is set.
func (k *Kernel) NextTimer() (time.Duration, bool) {
	var at time.Duration
	found := false
	for _, t := range k.timers {
		if !t.cancelled && t.at > k.now && (!found || t.at < at) {
			at, found = t.at, true
		}
	}
	return at, found
}

// SkipTo has virtual time reach at without waiting for it, however slow the
// clock runs.
func (k *Kernel) SkipTo(at time.Duration) { k.pace.skipTo = max(k.pace.skipTo, at) }

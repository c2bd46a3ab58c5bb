package sim

import (
	"math"
	"time"
)

// Max is the speed "as fast as possible".
const Max = 0.0

// pace ties virtual time to real time.
type pace struct {
	speed    float64 // virtual seconds in a real one; Max for no limit
	demanded bool    // time passes only while somebody waits for something
	demand   int
	held     bool // a part of a script computes (see Turn)
	slowed   bool // the store cannot answer: no faster than real time
	free     bool // a run is run again: as fast as possible, whoever waits
	skipTo   time.Duration

	wall time.Time
	virt time.Duration

	meter meter
}

// anchor makes now the moment from which the two times run. What has passed since
// the last anchor and is not in virt is lost: where time was running, see rebase.
func (p *pace) anchor(virt time.Duration) {
	p.wall, p.virt = time.Now(), virt
	p.meter.begin(p.wall, virt)
}

// rebase makes now the moment from which the two times run, and loses nothing of
// what has passed: the rate is about to change. Virtual time can go on to next, its next
// timer: where it is late, it is there at most, and what it has still to catch up with does
// not count as passed.
func (p *pace) rebase(now, next time.Duration) {
	at, tied := p.reached()
	if !tied || at >= now {
		p.anchor(max(now, at))
		p.meter.virt = max(now, min(at, next))
		return
	}
	ahead := time.Duration(float64(now-at) / p.rate()) // in real time, up to slack: nor is that won by a change of the rate
	p.anchor(now)
	p.wall = p.wall.Add(ahead)
}

func (p *pace) mayAdvance() bool { return p.free || !p.demanded || p.demand > 0 && !p.held }

// rate is how many virtual seconds pass in a real one just now; Max for no limit.
func (p *pace) rate() float64 {
	if p.free {
		return Max
	}
	if p.slowed && (p.speed == Max || p.speed > 1) {
		return 1
	}
	return p.speed
}

// reached is where virtual time is by the real time since the anchor; false where
// real time does not say. A script's clock stands between two timers, for how long its
// commands take must not show, unless the store makes everybody wait.
func (p *pace) reached() (time.Duration, bool) {
	rate := p.rate()
	if rate == Max || !p.mayAdvance() || p.demanded && !p.slowed {
		return 0, false
	}
	return p.virt + time.Duration(float64(time.Since(p.wall))*rate), true
}

// lag is how far virtual time may fall behind before it gives up catching up, so
// that a machine that has slept does not play what it missed.
const lag = time.Second

// until is how long to wait in real time before virtual time may reach at.
func (p *pace) until(at time.Duration) time.Duration {
	if at <= p.skipTo {
		p.anchor(at)
		return 0
	}
	rate := p.rate()
	if rate == Max {
		return 0
	}
	due := p.wall.Add(time.Duration(float64(at-p.virt) / rate))
	wait := time.Until(due)
	if wait < -lag && !p.demanded {
		p.wall, p.virt = time.Now(), at // the meter has seen it
	}
	return wait
}

// slow holds virtual time to real time, or no longer: the store cannot answer, or
// it can again.
func (p *pace) slow(on bool, now, next time.Duration) {
	if p.slowed != on {
		p.rebase(now, next)
		p.slowed = on
	}
}

// catchUp moves virtual time on to where real time has got, at most to the next
// timer, before something enters from outside. Otherwise time would move at timers
// only: a request's modelled pauses would be counted from the last one, lie in the
// past, and who waited for a slow disk would not have waited for it.
func (k *Kernel) catchUp() {
	if k.gate.standing || k.runq.len() > 0 {
		return
	}
	at, tied := k.pace.reached()
	if !tied {
		return
	}
	if len(k.timers) > 0 {
		at = min(at, k.timers[0].at)
	}
	k.reach(at)
}

// next is where virtual time can go on to without anything happening before.
func (k *Kernel) next() time.Duration {
	switch {
	case k.runq.len() > 0:
		return k.now
	case len(k.timers) > 0:
		return k.timers[0].at
	}
	return math.MaxInt64
}

// reach moves virtual time on to at, if that is later.
func (k *Kernel) reach(at time.Duration) {
	if at > k.now {
		k.now = at
		k.moment.Store(int64(at))
	}
}

// SetSpeed sets how many virtual seconds pass in a real one; [Max] means as
// fast as possible.
func (k *Kernel) SetSpeed(x float64) {
	if x < 0 {
		panic("sim: SetSpeed of a negative speed; use 0 (sim.Max) for as fast as possible")
	}
	k.pace.rebase(k.now, k.next())
	if k.pace.speed != x {
		k.pace.speed, k.pace.meter.told = x, Pace{}
	}
}

// Speed is what SetSpeed set.
func (k *Kernel) Speed() float64 { return k.pace.speed }

// SetDemand chooses whether virtual time passes only while somebody waits for
// something ([Kernel.Call], [Kernel.AddDemand]), as a script needs, or always.
func (k *Kernel) SetDemand(on bool) {
	k.pace.rebase(k.now, k.next())
	k.pace.demanded = on
}

// AddDemand counts a waiter; call it again with -1 when the wait is over.
func (k *Kernel) AddDemand(n int) {
	if k.pace.demanded && k.pace.demand == 0 {
		k.pace.anchor(k.now) // nothing has passed while nobody waited
	}
	k.pace.demand += n
}

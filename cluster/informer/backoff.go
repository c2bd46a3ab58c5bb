package informer

import (
	"time"

	"kviz/cluster/sim"
)

// The reflector's back-off against a server that is away (reflector.go
// NewReflectorWithOptions, defaultBackoffInit …): 800 ms doubling to 30 s, with up to as much
// again of jitter, and from the start again after two quiet minutes.
const (
	backoffFirst = 800 * time.Millisecond
	backoffMax   = 30 * time.Second
	backoffReset = 2 * time.Minute
)

type backoff struct {
	step time.Duration
	last time.Duration
}

// next is how long to wait now.
func (b *backoff) next(t *sim.Task) time.Duration {
	if b.step == 0 || t.Elapsed()-b.last > backoffReset {
		b.step = backoffFirst
	}
	b.last = t.Elapsed()
	d := b.step
	b.step = min(2*b.step, backoffMax)
	return d + time.Duration(t.Rand().Float64()*float64(d))
}

// reset starts over after a sign of life.
func (b *backoff) reset() { b.step = 0 }

package reconcile

import (
	"maps"
	"slices"
	"time"
)

// Pace is how much longer the runs of each work queue take than they would: with it
// can be seen what a queue is for. A hundred changes of one object come to as many
// runs as a run leaves room for. It is the machine's fault, not the process's: who is
// started again is as slow.
type Pace struct{ slow map[string]time.Duration }

// NewPace makes one with nothing slowed.
func NewPace() *Pace { return &Pace{slow: map[string]time.Duration{}} }

// Queues are the names of the queues that were ever made, sorted.
func (p *Pace) Queues() []string { return slices.Sorted(maps.Keys(p.slow)) }

// Slow has every run of a queue's take so much longer from the next one on; 0 undoes it.
func (p *Pace) Slow(queue string, d time.Duration) { p.slow[queue] = d }

// know makes a queue known.
func (p *Pace) know(queue string) {
	if p != nil {
		p.slow[queue] += 0
	}
}

func (p *Pace) of(queue string) time.Duration {
	if p == nil {
		return 0
	}
	return p.slow[queue]
}

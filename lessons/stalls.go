package lessons

import (
	"fmt"
	"time"
)

const (
	// spoiling is how long a machine may keep a trial from running. Members of the store live by
	// the machine's clock: after a pause that is much of an election timeout, one may have stood
	// for election though nothing was done to any.
	spoiling = 100 * time.Millisecond
	// tries is how often a trial is made at most.
	tries = 3
)

// undisturbed makes a trial, and makes it again if it fails while the machine kept it from
// running: what such a trial shows is the machine, not the lesson. One that fails on a machine
// that let it run has failed.
func undisturbed(try func() error) error {
	for n := 1; ; n++ {
		pause := watchPauses()
		err := try()
		longest := pause.end()
		if err == nil || longest < spoiling {
			return err
		}
		if n == tries {
			return fmt.Errorf("%w (the machine kept the last of %d trials from running for up to %s)", err, n, longest.Round(time.Millisecond))
		}
	}
}

// beat is how often the watch would come to run if the machine let it.
const beat = 10 * time.Millisecond

// pauses measures for how long at a time this process does not come to run.
type pauses struct {
	stop    chan struct{}
	longest chan time.Duration
}

func watchPauses() pauses {
	p := pauses{stop: make(chan struct{}), longest: make(chan time.Duration)}
	go func() {
		seen := pause{last: time.Now()}
		tick := time.NewTicker(beat)
		defer tick.Stop()
		for {
			select {
			case <-p.stop:
				seen.runs(time.Now())
				p.longest <- seen.longest
				return
			case <-tick.C:
				seen.runs(time.Now())
			}
		}
	}()
	return p
}

// end ends the watch, and gives the longest pause.
func (p pauses) end() time.Duration {
	close(p.stop)
	return <-p.longest
}

// pause is the longest time between two moments at which the process ran, beyond what lies
// between them anyway.
type pause struct {
	last    time.Time
	longest time.Duration
}

func (p *pause) runs(now time.Time) {
	p.longest = max(p.longest, now.Sub(p.last)-beat)
	p.last = now
}

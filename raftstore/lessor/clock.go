package lessor

import "time"

// Clock is the time by which leases run out: real, or a simulation's. With a
// simulation's everything the lessor does happens in its callbacks and in the
// caller's own calls; there is no goroutine and no other clock.
type Clock interface {
	// Now is the time since some fixed moment.
	Now() time.Duration
	// AfterFunc calls fn once when d has passed, from any goroutine, but not
	// before it returns. stop takes that back; fn may be running then.
	AfterFunc(d time.Duration, fn func()) (stop func())
}

// Real is the clock of the machine.
func Real() Clock { return realClock{start: time.Now()} }

type realClock struct{ start time.Time }

func (c realClock) Now() time.Duration { return time.Since(c.start) }

func (c realClock) AfterFunc(d time.Duration, fn func()) func() {
	t := time.AfterFunc(d, fn)
	return func() { t.Stop() }
}

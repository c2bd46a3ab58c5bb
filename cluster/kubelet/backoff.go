package kubelet

import "time"

// The kubelet's delays (pkg/kubelet/kubelet.go, config/v1beta1/defaults.go).
const (
	crashBase = 10 * time.Second // first delay before a crashed container restarts
	crashMax  = 300 * time.Second
	pullBase  = 10 * time.Second
	pullMax   = 300 * time.Second
	retryBase = 10 * time.Second // backOffPeriod: a sync that failed
	retrySoon = time.Second      // the network was not ready
	resyncMax = time.Minute
)

// backoff counts delays by key (client-go util/flowcontrol/backoff.go): 10 s,
// 20 s, 40 s … 300 s, and back to 10 s after two maxima of quiet.
type backoff struct {
	base, max time.Duration
	entries   map[string]*backoffEntry
}

type backoffEntry struct {
	delay   time.Duration
	updated time.Time
}

func newBackoff(base, max time.Duration) *backoff {
	return &backoff{base, max, map[string]*backoffEntry{}}
}

// next moves a key to its next delay. from is what the delay is for (the end of
// a container): long after the last one, it starts over.
func (b *backoff) next(key string, from, now time.Time) {
	e := b.entries[key]
	if e == nil || from.Sub(e.updated) > 2*b.max {
		e = &backoffEntry{delay: b.base}
		b.entries[key] = e
	} else {
		e.delay = min(2*e.delay, b.max)
	}
	e.updated = now
}

// since reports the delay that a key is in if it began at from; 0 if it is over
// or there is none.
func (b *backoff) since(key string, from, now time.Time) time.Duration {
	e := b.entries[key]
	if e == nil || from.Sub(e.updated) > 2*b.max || now.Sub(from) >= e.delay {
		return 0
	}
	return e.delay
}

// sinceUpdate is since from the moment of the last next.
func (b *backoff) sinceUpdate(key string, now time.Time) time.Duration {
	e := b.entries[key]
	if e == nil {
		return 0
	}
	return b.since(key, e.updated, now)
}

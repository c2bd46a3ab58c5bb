package workqueue

import (
	"math"
	"time"

	"kviz/cluster/sim"
)

// The default controller rate limiter's numbers
// (util/workqueue/default_rate_limiters.go DefaultTypedControllerRateLimiter).
const (
	BaseDelay = 5 * time.Millisecond
	MaxDelay  = 1000 * time.Second
	BucketQPS = 10
	Burst     = 100
)

// Limiter says how long a failed key waits: the longer of its own exponential
// back-off (5 ms, 10 ms, 20 ms … 1000 s) and a place in a token bucket that
// all keys of the queue share (10 a second, 100 at once).
type Limiter[K comparable] struct {
	// Base is the first delay of a key, BaseDelay unless changed, and Max the longest,
	// MaxDelay unless changed.
	Base, Max time.Duration

	k        *sim.Kernel
	failures map[K]int
	tokens   float64
	last     time.Duration
}

// NewLimiter makes the default controller rate limiter.
func NewLimiter[K comparable](k *sim.Kernel) *Limiter[K] {
	return &Limiter[K]{Base: BaseDelay, Max: MaxDelay, k: k, failures: map[K]int{}, tokens: Burst, last: k.Elapsed()}
}

// When counts a failure of the key and says how long it must wait.
func (l *Limiter[K]) When(key K) time.Duration {
	n := l.failures[key]
	l.failures[key] = n + 1
	return max(min(backoff(l.Base, n), l.Max), l.reserve())
}

// Forget ends the key's back-off.
func (l *Limiter[K]) Forget(key K) { delete(l.failures, key) }

// NumRequeues is how often the key has failed since it was last forgotten.
func (l *Limiter[K]) NumRequeues(key K) int { return l.failures[key] }

func backoff(base time.Duration, failures int) time.Duration {
	d := float64(base) * math.Pow(2, float64(failures))
	if d > float64(MaxDelay) {
		return MaxDelay
	}
	return time.Duration(d)
}

// reserve takes a token, now or in the future (golang.org/x/time/rate Reserve).
func (l *Limiter[K]) reserve() time.Duration {
	now := l.k.Elapsed()
	l.tokens = min(Burst, l.tokens+(now-l.last).Seconds()*BucketQPS)
	l.last = now
	l.tokens--
	if l.tokens >= 0 {
		return 0
	}
	return time.Duration(-l.tokens / BucketQPS * float64(time.Second))
}

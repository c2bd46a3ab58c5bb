package workqueue

import (
	"math"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/tokenbucket"
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
	// Fixed, unless 0, is how long every key waits, however often it has failed
	// (pkg/controller/podautoscaler FixedItemIntervalRateLimiter).
	Fixed time.Duration

	k        *sim.Kernel
	failures map[K]int
	bucket   *tokenbucket.Bucket
}

// NewLimiter makes the default controller rate limiter.
func NewLimiter[K comparable](k *sim.Kernel) *Limiter[K] {
	return &Limiter[K]{Base: BaseDelay, Max: MaxDelay, k: k, failures: map[K]int{}, bucket: tokenbucket.New(BucketQPS, Burst)}
}

// When counts a failure of the key and says how long it must wait.
func (l *Limiter[K]) When(key K) time.Duration {
	if l.Fixed > 0 {
		return l.Fixed
	}
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

// reserve takes a token of the bucket and says how long until it is there.
func (l *Limiter[K]) reserve() time.Duration {
	now := l.k.Elapsed()
	return l.bucket.Reserve(now).At - now
}

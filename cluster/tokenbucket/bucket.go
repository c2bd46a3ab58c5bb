// Package tokenbucket is golang.org/x/time/rate in virtual time: a bucket of so many tokens
// that fills at a steady rate, from which each request takes one. A request that finds none
// takes one that is yet to come, and waits until it is there: first come, first served.
//
// The worked idea, of 2 tokens and 1 a second:
//
//	0.0 s  take   2 - 1 = 1 left        at once
//	0.0 s  take   1 - 1 = 0 left        at once
//	0.0 s  take   0 - 1 = -1            waits 1 s
//	0.5 s  take   -1 + 0.5 - 1 = -1.5   waits 1.5 s
//
// In Kubernetes such a bucket stands in every client of the API server (client-go
// util/flowcontrol NewTokenBucketRateLimiter) and, for keys that have failed, in every work
// queue (util/workqueue BucketRateLimiter). Start reading at [Bucket.Reserve].
package tokenbucket

import "time"

// Bucket holds tokens. Times are virtual, since the epoch, and never go back.
type Bucket struct {
	rate  float64 // tokens a second
	burst int     // the most that it holds

	tokens float64       // at last; below zero where some are taken that are yet to come
	last   time.Duration // when tokens was worked out
	newest time.Duration // when the newest reservation may act
}

// New makes a full bucket of burst tokens that gets rate more a second.
func New(rate float64, burst int) *Bucket {
	return &Bucket{rate: rate, burst: burst, tokens: float64(burst)}
}

// Reservation is a token that a request has taken.
type Reservation struct {
	At time.Duration // when it is there
}

// Reserve takes a token, which may be there only later (rate.go reserveN).
func (b *Bucket) Reserve(now time.Duration) Reservation {
	b.fill(now)
	b.tokens--
	wait := time.Duration(0)
	if b.tokens < 0 {
		wait = time.Duration(-b.tokens / b.rate * float64(time.Second))
	}
	b.newest = now + wait
	return Reservation{At: b.newest}
}

// Cancel gives a token back before it is there, unless later requests wait behind it: these
// keep their times (rate.go CancelAt).
func (b *Bucket) Cancel(r Reservation, now time.Duration) {
	back := 1 - float64((b.newest-r.At).Seconds()*b.rate)
	if r.At < now || back <= 0 {
		return
	}
	b.fill(now)
	b.tokens = min(b.tokens+back, float64(b.burst))
	if r.At != b.newest {
		return
	}
	if before := r.At - time.Duration(1/b.rate*float64(time.Second)); before >= now {
		b.newest = before
	}
}

// Tokens is how many are left; below zero it is how many are taken that are yet to come.
func (b *Bucket) Tokens(now time.Duration) float64 {
	return min(b.tokens+b.since(now), float64(b.burst))
}

func (b *Bucket) fill(now time.Duration) {
	b.tokens, b.last = b.Tokens(now), now
}

// since is how many tokens have come since last. The conversion keeps the product from
// being fused with the sum, which would give other bits on some processors.
func (b *Bucket) since(now time.Duration) float64 {
	return float64((now - b.last).Seconds() * b.rate)
}

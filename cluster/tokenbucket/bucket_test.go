package tokenbucket_test

import (
	"testing"
	"time"

	"golang.org/x/time/rate"
	"pgregory.net/rapid"

	"kviz/cluster/tokenbucket"
	"kviz/raftstore/steady"
)

// A bucket counts as golang.org/x/time/rate does: whenever requests come, and give up, each
// gets its token at the same nanosecond.
func TestAsGolangsRate(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		qps, burst := rapid.SampledFrom([]float64{5, 10, 20, 40, 50, 400, 0.5}).Draw(r, "rate"), rapid.IntRange(1, 30).Draw(r, "burst")
		mine, theirs := tokenbucket.New(qps, burst), rate.NewLimiter(rate.Limit(qps), burst)
		epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		type taken struct {
			mine   tokenbucket.Reservation
			theirs *rate.Reservation
		}
		var waiting []taken
		now := time.Duration(0)
		for n := range rapid.IntRange(1, 200).Draw(r, "steps") {
			if rapid.IntRange(0, 2).Draw(r, "pauses") == 0 {
				now += time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(r, "pause"))
			}
			at := epoch.Add(now)
			if len(waiting) > 0 && rapid.IntRange(0, 4).Draw(r, "gives up") == 0 {
				i := rapid.IntRange(0, len(waiting)-1).Draw(r, "who")
				mine.Cancel(waiting[i].mine, now)
				waiting[i].theirs.CancelAt(at)
				waiting = append(waiting[:i], waiting[i+1:]...)
			} else {
				w := taken{mine.Reserve(now), theirs.ReserveN(at, 1)}
				if got, want := w.mine.At-now, w.theirs.DelayFrom(at); got != want {
					r.Fatalf("step %d at %v: waits %v, golang.org/x/time/rate says %v", n, now, got, want)
				}
				waiting = append(waiting, w)
			}
			if got, want := mine.Tokens(now), theirs.TokensAt(at); got != want {
				r.Fatalf("step %d at %v: %v tokens, golang.org/x/time/rate has %v", n, now, got, want)
			}
		}
	})
}

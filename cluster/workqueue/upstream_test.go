package workqueue_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/time/rate"
	upstream "k8s.io/client-go/util/workqueue"
	"pgregory.net/rapid"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/cluster/workqueue"
	"kviz/raftstore/steady"
)

// How long a failed key waits is client-go's own: the longer of its exponential
// back-off and of the bucket's turn, whatever fails when.
func TestDelaysAreClientGos(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		type step struct {
			key    int
			forget bool
			pause  time.Duration
		}
		steps := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) step {
			s := step{key: rapid.IntRange(0, 3).Draw(r, "key"), forget: rapid.IntRange(0, 20).Draw(r, "forget") == 0}
			if rapid.IntRange(0, 9).Draw(r, "pauses") == 0 {
				s.pause = time.Duration(rapid.IntRange(0, 5000).Draw(r, "pause ms")) * time.Millisecond
			}
			return s
		}), 1, 300).Draw(r, "steps")
		k := sim.New(sim.Config{Seed: 1})
		k.NewProcess(trace.Lane{Component: "test"}).Go("main", func(t *sim.Task) {
			defer k.Stop()
			mine := workqueue.NewLimiter[string](k)
			perKey := upstream.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, 1000*time.Second)
			bucket := rate.NewLimiter(rate.Limit(10), 100)
			for n, s := range steps {
				t.Sleep(s.pause)
				key := fmt.Sprint("key-", s.key)
				if s.forget {
					mine.Forget(key)
					perKey.Forget(key)
					continue
				}
				// client-go's bucket asks the machine's clock; its arithmetic is
				// x/time/rate's, which can be told the time.
				want := max(perKey.When(key), bucket.ReserveN(t.Now(), 1).DelayFrom(t.Now()))
				got := mine.When(key)
				if d := got - want; d < -time.Microsecond || d > time.Microsecond || mine.NumRequeues(key) != perKey.NumRequeues(key) {
					r.Fatalf("step %d: %s waits %s after %d failures, client-go %s after %d", n, key, got, mine.NumRequeues(key), want, perKey.NumRequeues(key))
				}
			}
		})
		if err := k.Run(context.Background()); err != nil {
			r.Fatal(err)
		}
	})
}

package daemonset

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"kviz/cluster/controller/upstreamtest"
)

// A node's failed pod waits as long as with client-go's Backoff, whatever failed before and
// however the clock jumps.
func TestBackoffIsClientGos(t *testing.T) {
	upstreamtest.Check(t, "200", func(r *rapid.T) {
		clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		here, there := newBackoff(), flowcontrol.NewFakeBackOff(firstBackoff, maxBackoff, clock)
		for i := range rapid.IntRange(1, 40).Draw(r, "steps") {
			pass := rapid.SampledFrom([]time.Duration{0, time.Second, 3 * time.Second, time.Minute, 14 * time.Minute, 31 * time.Minute, -time.Minute}).Draw(r, fmt.Sprint("pass ", i))
			clock.SetTime(clock.Now().Add(pass))
			if rapid.IntRange(0, 9).Draw(r, "gc") == 0 {
				there.GC()
				here.swept = time.Time{}
				here.sweep(clock.Now())
			}
			key := fmt.Sprint("uid/1/node-", rapid.IntRange(0, 2).Draw(r, fmt.Sprint("node ", i)))
			left, waits := here.left(key, clock.Now()), there.IsInBackOffSinceUpdate(key, clock.Now())
			if (left > 0) != waits || waits && left != there.Get(key) {
				r.Fatalf("step %d: waits %s, client-go %v %s", i, left, waits, there.Get(key))
			}
			if !waits {
				here.next(key, clock.Now())
				there.Next(key, clock.Now())
			}
		}
	})
}

package kubelet

import (
	"testing"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	testclock "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"kviz/raftstore/steady"
)

// CrashLoopBackOff counts as client-go's flowcontrol.Backoff does, which the
// kubelet uses: the same delays for any times at which a container ends.
func TestBackoffIsClientGos(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		clock := testclock.NewFakeClock(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))
		mine, theirs := newBackoff(crashBase, crashMax), flowcontrol.NewFakeBackOff(crashBase, crashMax, clock)
		const id = "pod_container"
		for range rapid.IntRange(1, 25).Draw(r, "deaths") {
			ended := clock.Now()
			clock.Step(time.Duration(rapid.IntRange(0, 20).Draw(r, "noticed after s")) * time.Second)
			for {
				got := mine.since(id, ended, clock.Now())
				waits := theirs.IsInBackOffSince(id, ended)
				if (got > 0) != waits || waits && got != theirs.Get(id) {
					r.Fatalf("delay %s, client-go %v %s", got, waits, theirs.Get(id))
				}
				if !waits {
					break
				}
				clock.Step(got)
			}
			mine.next(id, ended, clock.Now())
			theirs.Next(id, ended)
			clock.Step(time.Duration(rapid.SampledFrom([]int{1, 9, 60, 599, 601, 1500}).Draw(r, "runs for s")) * time.Second)
		}
	})
}

package scheduler

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"kviz/cluster/scheduler/framework"
	"kviz/raftstore/steady"
)

// Every pod that comes back learns of what happened since it was taken, whatever others are on
// their way, and nothing is kept when none is.
func TestFlightsMissNothing(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		var f flights
		want := map[types.UID][]string{} // by pod on its way
		for i, op := range rapid.SliceOfN(rapid.IntRange(0, 29), 1, 200).Draw(r, "ops") {
			pod := types.UID(fmt.Sprint(op % 5))
			_, flies := want[pod]
			switch op / 5 {
			case 0, 1:
				if !flies {
					f.begin(pod)
					want[pod] = []string{}
				}
			case 2:
				var got []string
				for _, m := range f.end(pod) {
					got = append(got, string(m.event.Resource))
				}
				if !slices.Equal(got, want[pod]) {
					r.Fatalf("%s missed %q, want %q", pod, got, want[pod])
				}
				delete(want, pod)
			default:
				name := fmt.Sprint(i)
				f.happened(missedEvent{event: framework.ClusterEvent{Resource: framework.EventResource(name)}})
				for pod := range want {
					want[pod] = append(want[pod], name)
				}
			}
			longest := 0
			for pod, missed := range want {
				if !f.has(pod) {
					r.Fatalf("%s is not on its way", pod)
				}
				longest = max(longest, len(missed))
			}
			if len(f.log) != longest {
				r.Fatalf("%d events are kept, %d are needed", len(f.log), longest)
			}
		}
	})
}

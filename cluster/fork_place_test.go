package cluster

import (
	"testing"

	"kviz/cluster/trace"
)

// A recording of version 1 does not say that what entered right after something else did so before
// the task moved that stood in the midst of its step; the number of its event says it.
func TestPlacesInAnOldRecording(t *testing.T) {
	for version, want := range map[int][]uint64{1: {36, 36, 0, 0}, trace.InputVersion: {36, 0, 0, 0}} {
		boot := &trace.Input{What: inputBoot}
		boot.Encode(bootedAs{Version: version, Seed: 1})
		entered := func(seq uint64, sub uint32, in *trace.Input) *trace.Event {
			return &trace.Event{ID: trace.ID{Seq: seq, Sub: sub}, Kind: trace.InputEntered, Payload: in}
		}
		past := []*trace.Event{
			{ID: trace.ID{Seq: 1}, Kind: trace.RunStart},
			entered(1, 1, boot),
			entered(36, 1, &trace.Input{What: "told", Steps: 30, Within: 36}),
			entered(36, 2, &trace.Input{What: "request", Steps: 30}),
			entered(37, 1, &trace.Input{What: "request", Steps: 30}),
			entered(37, 2, &trace.Input{What: "request", Steps: 31}),
			{ID: trace.ID{Seq: 50}, Kind: trace.StoreCommit},
		}
		_, inputs, _, err := prepareFork(past, &ForkConfig{At: trace.ID{Seq: 50}})
		if err != nil {
			t.Fatal(err)
		}
		for i, in := range inputs {
			if in.Within != want[i] {
				t.Errorf("version %d: input %d enters within step %d, want %d", version, i, in.Within, want[i])
			}
		}
	}
}

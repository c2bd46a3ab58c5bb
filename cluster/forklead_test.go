package cluster_test

import (
	"slices"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// Elections are not repeated. A fork stands with the leader that the run had there, even if another member won in the fork.
func TestAForkHasTheLeaderThatLed(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 5, NoSync: true, Nodes: 1})
		run(t, c, "kubectl create configmap one\n")
		events, led := past(t, c), c.Leader()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		at := trace.ID{Seq: events[len(events)-1].ID.Seq}
		if got := cluster.LeaderAt(events, at); got == "" || got != led {
			t.Fatalf("%q led, and the trace says %q", led, got)
		}
		for _, other := range []string{"a", "b", "c"} {
			won := &trace.Event{ID: trace.ID{Seq: at.Seq - 1, Sub: 1 << 20}, Kind: trace.MemberRole, Payload: &trace.MemberState{Member: other, Role: "leader"}}
			was := slices.Insert(slices.Clone(events), len(events)-1, won) // as if it had won there
			f, err := cluster.Fork(t.Context(), was, cluster.ForkConfig{At: at})
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Leader(); got != other {
				t.Errorf("%s led, and in the fork %q leads", other, got)
			}
			steady.Until(t, "the fork stands", func() bool { return f.Clock().Paused })
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

package cluster_test

import (
	"bytes"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// A branch may have a quota that the run had not: from there on its store refuses what goes beyond, as etcd does.
func TestABranchWithLessRoom(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 61, Bare: true, Nodes: 1})
		run(t, c, "kubectl create configmap one\n")
		events := past(t, c)
		b, err := cluster.Fork(t.Context(), events, cluster.ForkConfig{At: trace.ID{Seq: events[len(events)-1].ID.Seq}, Quota: 2 << 20, Demand: true})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if err := b.Resume(); err != nil {
			t.Fatal(err)
		}
		const many = `for i in $(seq 1 40); do kubectl create configmap big$i --from-literal=x="$(seq 1 20000)" >/dev/null || exit 1; done`
		for _, of := range []struct {
			c    *cluster.Cluster
			full bool
		}{{b, true}, {c, false}} {
			var said bytes.Buffer
			exit := of.c.Exec(t.Context(), many, control.Streams{Out: &said, Err: &said, Source: "console"})
			if full := exit != 0 && strings.Contains(said.String(), "database space exceeded"); full != of.full {
				t.Errorf("4 MB in the run or its branch: full is %v, want %v: exit %d: %s", full, of.full, exit, said.String())
			}
		}
	})
}

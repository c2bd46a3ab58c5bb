package cluster_test

import (
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// The quorum is lost for good, and the member that goes on had missed the last
// writes, though everybody had seen them. They are gone; their revisions are given
// again, to other writes; and everybody sees these: the API server, controllers and
// kubelets begin anew with what the store holds (etcd --force-new-cluster).
func TestWhatIsWrittenAfterALossIsSeen(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 33, NoSync: true, Nodes: 1})
		run(t, c, `
kubectl create configmap kept --from-literal=a=1
kviz fault lead member/a
kviz wait --timeout 10m 'store.leader == "a" && store.members["c"].last == store.members["a"].last'
kviz fault cut member/c
for i in 1 2 3 4 5 6; do kubectl create configmap lost-$i; done
kubectl get configmap lost-6
kviz fault stop member/a
kviz fault stop member/b
`)
		shown := c.Raft().Revision()
		from := mark(t, c)
		out := run(t, c, `
kviz fault recover member/c
kviz wait --timeout 10m 'store.leader == "c" && store.quorum.total == 1'
kubectl create configmap after --from-literal=b=2
kubectl get configmaps -n default -o name
kubectl create deployment web --image=nginx:1.27
kubectl rollout status deploy/web --timeout=5m
`)
		for _, want := range []string{"configmap/after\n", "configmap/kept\n", "successfully rolled out"} {
			if !strings.Contains(out, want) {
				t.Errorf("after the recovery there is no %q:\n%s", want, out)
			}
		}
		if strings.Contains(out, "configmap/lost") {
			t.Errorf("what only the lost members had is still shown:\n%s", out)
		}
		var restored *trace.Restore
		last, again := int64(0), 0
		for _, e := range after(t, c, from) {
			switch p := e.Payload.(type) {
			case *trace.Restore:
				restored, last = p, p.Revision-1 // one event follows that tells what there is
			case *trace.Commit:
				if restored != nil && p.Revision != last+1 {
					t.Errorf("after revision %d came %d", last, p.Revision)
				}
				if last = p.Revision; restored != nil && p.Revision > restored.Revision && p.Revision <= shown {
					again++
				}
			}
		}
		switch {
		case restored == nil:
			t.Fatal("nothing tells that the store has lost something")
		case restored.Survivor != "c" || restored.Shown < shown || restored.Revision > shown-6:
			t.Errorf("told %+v; revision %d had been shown", restored, shown)
		case again != int(shown-restored.Revision):
			t.Errorf("%d of %d revisions that were given again were told", again, shown-restored.Revision)
		}
	})
}

// A member that has all that was ever shown goes on alone, and nothing begins anew.
func TestASurvivorWithEverythingInterruptsNobody(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 34, NoSync: true, Nodes: 1})
		run(t, c, `
kviz fault lead member/a
kviz wait --timeout 10m 'store.leader == "a"'
kubectl create configmap kept
`)
		from := mark(t, c)
		run(t, c, `
kviz fault crash member/b
kviz fault crash member/c
kviz fault recover member/a
kviz wait --timeout 10m 'store.leader == "a" && store.quorum.total == 1'
kubectl create configmap after
kubectl get configmap kept after
`)
		for _, e := range after(t, c, from) {
			if e.Kind == trace.ProcessExit || e.Kind == trace.StoreRestored {
				t.Errorf("#%s %s %s", e.ID, e.Kind, e.Payload)
			}
		}
	})
}

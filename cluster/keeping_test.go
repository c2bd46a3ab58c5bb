package cluster_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// busy is a cluster with an autoscaler on metrics, loads that change with time, and a StatefulSet whose disks are in use.
const busy = `
kubectl apply -f manifests/metrics-server.yaml
kubectl apply -f manifests/workloads/hpa-cpu.yaml
kubectl apply -f manifests/workloads/statefulset-claims.yaml
kubectl rollout status statefulset/db --timeout=5m
kubectl rollout status deployment/web --timeout=5m
kubectl exec db-0 -- sh -c 'echo tea > /usr/share/nginx/html/word'
kviz load deployment/web --cpu 360m,4m:100m --memory 50Mi
kviz load statefulset/db --container web --cpu 20m --each
kviz load --external queue-length=0..120/10m --labels queue=orders
kviz wait --timeout 5m 'hpa("default", "web") != null && hpa("default", "web").desired > 4'
`

// used is what is set, and where each claim stands.
const used = `
kviz load
kviz print 'loads.map(l, l.target + " " + l.what + " " + l.now)'
kviz print 'claims.map(c, c.claim + " " + c.state + " " + c.nodes[0] + " " + c.pods[0])'
kubectl exec db-0 -- cat /usr/share/nginx/html/word
`

// goesOn is what has to work still: a pod finds its disk again, and the autoscaler goes on with the load.
const goesOn = `
kubectl delete pod db-0
kubectl wait --for=create pod/db-0 --timeout=5m
kubectl wait --for=condition=Ready pod/db-0 --timeout=5m
kubectl exec db-0 -- cat /usr/share/nginx/html/word
kubectl scale statefulset/db --replicas=3
kviz wait --timeout 5m 'claims.size() == 3 && claims.all(c, c.state == "attached")'
kviz wait --timeout 20m 'hpa("default", "web").current == 2'
`

// A run with loads and disks in use is saved, opened again, and left for branches at its end, while a disk is being attached
// and before anything is set: everything stands there as it stood, and goes on.
func TestABranchHasLoadsAndDisks(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 61, Bare: true, Demand: true})
		run(t, c, busy)
		middle := trace.ID{Seq: past(t, c)[len(past(t, c))-1].ID.Seq}
		want := run(t, c, used)
		for _, set := range []string{"deployment/web", "statefulset/db", "queue-length", "data-db-0 attached", "data-db-1 attached", "\ntea\n"} {
			if !strings.Contains(want, set) {
				t.Fatalf("there is no %q in\n%s", set, want)
			}
		}
		events := saved(t, past(t, c))
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		attaching := slices.IndexFunc(events, func(e *trace.Event) bool {
			p, ok := e.Payload.(*trace.StorageCall)
			return ok && p.Call == "ControllerPublishVolume"
		})
		if attaching < 0 {
			t.Fatal("nothing was attached")
		}
		for name, at := range map[string]struct {
			at     trace.ID
			script string
			want   string
		}{
			"at its end":                   {trace.ID{Seq: events[len(events)-1].ID.Seq}, goesOn, "\ntea\n"},
			"with all set":                 {middle, used + goesOn, "\ntea\n"},
			"while a disk is attached":     {trace.ID{Seq: events[attaching].ID.Seq}, strings.SplitN(busy, "\n", 5)[4] + used + goesOn, "\ntea\n"},
			"while the driver has one yet": {trace.ID{Seq: events[attaching-1].ID.Seq}, "kviz wait --timeout 5m 'claims.size() == 2 && claims.all(c, c.state == \"attached\")'; kviz load", "no load is set"},
		} {
			b, err := cluster.Fork(t.Context(), events, cluster.ForkConfig{At: at.at, Demand: true})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := b.Resume(); err != nil {
				t.Fatal(err)
			}
			got := run(t, b, at.script)
			if !strings.Contains("\n"+got, at.want) {
				t.Errorf("%s: there is no %q in\n%s", name, at.want, got)
			}
			if at.at == middle && !strings.HasPrefix(got, want) {
				t.Errorf("%s it stands otherwise:\n%swant\n%s", name, got, want)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// saved are events as a recording has them.
func saved(t *testing.T, events []*trace.Event) []*trace.Event {
	t.Helper()
	var b bytes.Buffer
	r, err := trace.NewRecorder(&b, trace.Header{Seed: 61, Store: "mvcc"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		r.Append(e)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.kvrun")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	_, read, err := trace.ReadAll(path)
	if err != nil || len(read) != len(events) {
		t.Fatalf("%d events of %d are read, %v", len(read), len(events), err)
	}
	return read
}

// The store goes on from a backup while disks are in use and loads are set: the disks have what was written to them also
// since, the loads, which are no part of the store, are set still, and what came later leaves a disk that nothing names.
func TestABackupLeavesLoadsAndDisks(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 62, NoSync: true})
		dir := t.TempDir()
		run(t, c, busy)
		run(t, c, "cd "+dir+`
etcdctl snapshot save before.db
kubectl exec db-0 -- sh -c 'echo coffee > /usr/share/nginx/html/word'
kubectl scale statefulset/db --replicas=3
kubectl rollout status statefulset/db --timeout=5m
kviz restore before.db --bump-revision 1000000 --mark-compacted
kviz wait --timeout 5m 'claims.size() == 2 && claims.all(c, c.state == "attached")'
`)
		out := run(t, c, used)
		for _, want := range []string{"deployment/web", "statefulset/db", "queue-length", "data-db-0 attached", "data-db-1 attached", "\ncoffee\n"} {
			if !strings.Contains(out, want) {
				t.Errorf("after the restore there is no %q in\n%s", want, out)
			}
		}
		out = run(t, c, goesOn)
		if !strings.Contains("\n"+out, "\ncoffee\n") {
			t.Errorf("the disk lost what was on it:\n%s", out)
		}
		if out = run(t, c, "kviz print 'disks.size()'\n"); strings.TrimSpace(out) != "4" {
			t.Errorf("the driver has %s disks, want 4: one for each of three pods, and one that no volume names", out)
		}
	})
}

package cluster_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// The store takes no object that is too large, and says so; nothing of it is
// stored (inventory 81). Full of old revisions it takes nothing more, until its
// history is compacted, the members are defragmented and the alarms disarmed, with
// the same quota as before (inventory 83).
func TestWhatTheStoreHasNoRoomFor(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 36, NoSync: true, Nodes: 1})
		dir := t.TempDir()
		for name, size := range map[string]int{"large": 2 << 20, "beyond": 1600 << 10, "part": 200 << 10} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat("x", size)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		t.Log("2 MiB")
		out, err := try(t, c, "cd "+dir+"\nkubectl create configmap large --from-file=large\n")
		if err == nil || !strings.Contains(out, "Too long: may not be more than 1048576 bytes") {
			t.Errorf("a ConfigMap of 2 MiB: %v\n%s", err, out)
		}
		out, err = try(t, c, "cd "+dir+"\netcdctl put large < beyond\n")
		if err == nil || !strings.Contains(out, "etcdserver: request is too large") {
			t.Errorf("a value of 1600 KiB: %v\n%s", err, out)
		}
		run(t, c, `test "$(etcdctl get large --count-only -w fields | grep -c '"Count" : 0')" -eq 1`)
		if out, err := try(t, c, "kubectl get configmap large"); err == nil || !strings.Contains(out, "NotFound") {
			t.Errorf("something of it was stored: %v\n%s", err, out)
		}
		t.Log("full")
		out = run(t, c, "cd "+dir+`
kviz fault quota store 6MiB
for i in $(seq 40); do
  if ! etcdctl put fill < part; then break; fi
done
kviz wait --timeout 1m 'store.alarms.exists(a, a.alarm == "NOSPACE")'
if kubectl create configmap refused; then exit 1; fi
kviz fault compact store
kviz fault defrag store
sleep 2
until kviz wait --timeout 1s 'store.alarms.size() == 0'; do kviz fault disarm store; done
kubectl create configmap taken
kviz wait --timeout 1m 'store.alarms.size() == 0'
`)
		if !strings.Contains(out, "etcdserver: mvcc: database space exceeded") || !strings.Contains(out, "configmap/taken created") {
			t.Errorf("a full store:\n%s", out)
		}
	})
}

// A cluster can be started on a data directory whose database is over the quota already, or
// that an alarm was left in: nothing can be written, and whoever makes room has a
// cluster that goes on from there.
func TestStartedOnAStoreThatIsFull(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		dir, part := t.TempDir(), filepath.Join(t.TempDir(), "part")
		if err := os.WriteFile(part, []byte(strings.Repeat("x", 900<<10)), 0o600); err != nil {
			t.Fatal(err)
		}
		session := func(quota int64, use func(*cluster.Cluster)) {
			c := boot(t, cluster.Config{Seed: 36, NoSync: true, Nodes: 1, DataDir: dir, Quota: quota})
			use(c)
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
		session(0, func(c *cluster.Cluster) {
			for _, name := range []string{"one", "two", "three"} {
				run(t, c, "kubectl create configmap "+name+" --from-file="+part)
			}
		})
		for _, when := range []string{"over the quota", "with an alarm from before"} {
			session(2<<20, func(c *cluster.Cluster) {
				if n := c.ReadyNodes(); n != 0 {
					t.Errorf("%s: %d nodes are said to be ready", when, n)
				}
				run(t, c, `kubectl get configmap one two three; kviz wait --timeout 1m 'store.alarms.exists(a, a.alarm == "NOSPACE")'`)
				if out, err := try(t, c, "kubectl create configmap refused"); err == nil || !strings.Contains(out, "etcdserver: mvcc: database space exceeded") {
					t.Errorf("%s a ConfigMap is made: %v\n%s", when, err, out)
				}
			})
		}
		session(2<<20, func(c *cluster.Cluster) {
			run(t, c, `
kviz fault quota store 1GiB
until kviz wait --timeout 1s 'store.alarms.size() == 0'; do kviz fault disarm store; done
sleep 5
kubectl delete configmap one two three
kubectl wait node/node-1 --for=condition=Ready --timeout=1m
kubectl create deployment web --image=nginx:1.27
kubectl rollout status deployment/web --timeout=1m
kviz wait --timeout 1m 'run.ready'
kubectl get clusterrole system:coredns
`)
		})
	})
}

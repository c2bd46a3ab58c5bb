package cluster_test

import (
	"bytes"
	"runtime"
	"testing"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// scriptsWithJobs are what people put into the background: watches beside what they watch, a load, waits,
// and etcd's own programs.
var scriptsWithJobs = map[string]string{
	"watch": `
kubectl get pods -w &
kubectl get deployments -w -o name &
kubectl create deployment web --image=nginx --replicas=3
kubectl rollout status deploy/web & kubectl wait --for=condition=Available deploy/web --timeout=30s
wait %3
kubectl scale deploy/web --replicas=1
kviz wait 'objects("pods", "default").size() == 1'
kill %1 %2
`,
	"load": `
kubectl create deployment web --image=nginx --replicas=2 & wait $!
kubectl rollout status deploy/web
while true; do kubectl get pods -o name | wc -l; done > /dev/null &
for n in a b c; do (for i in 1 2 3; do kubectl create configmap $n-$i; sleep 0.$i; done) & done
kubectl logs -f $(kubectl get pods -o name | head -1) &
on node-1 crictl ps &
kubectl exec deploy/web -- sh -c 'sleep 60; hostname' &
kubectl drain node-1 --ignore-daemonsets --force &
sleep 2
kill %1
wait %2 %3 %4
jobs
`,
	"logs": `
kubectl create deployment web --image=busybox --replicas=5 -- sh -c 'while true; do hostname; sleep 2; done'
kubectl rollout status deploy/web
kubectl logs -l app=web --prefix
kubectl logs deploy/web --all-pods --all-containers --tail=2
timeout 4s kubectl logs -f -l app=web --tail=-1 &
wait %1 || true
`,
	"stands": `
kubectl create deployment web --image=nginx
kubectl get pods -w -o name &
(sleep 5; kviz resume) &
kviz until 'objects("pods", "default").size() == 1'
kviz resume
kubectl get pods -o name
sleep 6
`,
}

// The same seed and script give the same control-plane trace and the same output, whatever is in the
// background.
func TestSameSeedSameTraceWithJobs(t *testing.T) {
	for name, script := range scriptsWithJobs {
		for store, cfg := range map[string]cluster.Config{"mvcc": {Seed: 7, Bare: true}, "raft": {Seed: 7, NoSync: true}} {
			t.Run(name+"/"+store, func(t *testing.T) {
				steady.Bubble(t, func(t *testing.T) {
					outcome := func() (string, string, []*trace.Event) {
						c := boot(t, cfg)
						var out bytes.Buffer
						if err := c.Console().RunScript(t.Context(), "jobs.sh", script, control.Streams{Out: &out, Err: &out}); err != nil {
							t.Fatalf("%v\n%s", err, out.String())
						}
						var events []*trace.Event
						if err := c.Kernel().Do(func() { events, _, _ = c.Trace().Read(c.Trace().First(), 1<<20) }); err != nil {
							t.Fatal(err)
						}
						return out.String(), sum(t, events), events
					}
					out, hash, events := outcome()
					t.Log(out)
					for i := 1; i < runs(); i++ {
						before := runtime.GOMAXPROCS(1 + i%2)
						outAgain, hashAgain, others := outcome()
						runtime.GOMAXPROCS(before)
						if hashAgain != hash {
							t.Errorf("run %d differs from run 0 %s", i, difference(t, events, others))
						}
						if outAgain != out {
							t.Fatalf("run %d printed\n%s\nand run 0\n%s", i, outAgain, out)
						}
					}
				})
			})
		}
	}
}

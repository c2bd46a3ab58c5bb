package cluster_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// varying is what another draw of the dice would change, and what it is called
// in the transcript.
var varying = []varies{
	{regexp.MustCompile(`(-[0-9a-f]{8,10})-[b-z0-9]{5}\b`), "$1-xxxxx"},
	{regexp.MustCompile(`\b(hello-svc|once)-[b-z0-9]{5}\b`), "$1-xxxxx"},
	{regexp.MustCompile(`\bcontroller-uid=[-0-9a-f]{36}\b`), "controller-uid=UID"},
	{regexp.MustCompile(`\bexec "[0-9a-f]{64}"`), `exec "ID"`},
	{regexp.MustCompile(`\b10\.96(\.\d+){2}\b`), "10.96.x.x"},
	{regexp.MustCompile(`\b10\.244(\.\d+){2}\b`), "10.244.x.x"},
	{regexp.MustCompile(`(?m)(^|\s)(\d+[smh])+(\s|$)`), "${1}AGE$3"},
	{regexp.MustCompile(`(\S)  +`), "$1  "},
	{regexp.MustCompile(`(?m) +$`), ""},
}

// together are the states of a rollout that kubectl prints or not: its informer, which is a
// goroutine of its own, may be given this one together with the next.
var together = []varies{
	{regexp.MustCompile(`(?m)^Waiting for deployment \S+ rollout to finish: 0 out of .*\n`), ""},
}

// statefulSetTogether are those of a StatefulSet's.
var statefulSetTogether = []varies{
	{regexp.MustCompile(`(?m)^Waiting for (\d+ pods to be ready|partitioned roll out|statefulset spec update).*\n`), ""},
	{regexp.MustCompile(`(?m)^waiting for statefulset rolling update to complete.*\n`), ""},
}

// daemonSetTogether are those of a DaemonSet's, and what chance calls its pods.
var daemonSetTogether = []varies{
	{regexp.MustCompile(`(?m)^Waiting for daemon set.*\n`), ""},
	{regexp.MustCompile(`\bagent-[b-z0-9]{5}\b`), "agent-xxxxx"},
}

// numbers are those that an object gets when it is stored.
var numbers = []varies{
	{regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "UID"},
	{regexp.MustCompile(`Resource Version: +\d+`), "Resource Version: N"},
}

// Every verb of kubectl that people use in their first weeks, on a whole
// cluster: testdata/kubectl.txt is what they type and what they see.
func TestKubectlVerbs(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		golden(t, "kubectl", typed(t, c, "testdata/kubectl.txt", varying, together))
	})
}

// kubectl drain cordons before it refuses, evicts side by side and tells which pods are
// left: testdata/drain.txt. What waits for pods that nobody can start ends, what wants a
// terminal says that there is none, and what is mistyped is pointed to what was meant.
func TestKubectlDrain(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		golden(t, "drain", typed(t, c, "testdata/drain.txt", varying))
	})
}

// kubectl drain asks for the evictions of all pods of a node at the same instant, as upstream's does, and prints that before
// any of them has gone; so a drain takes as long as the pod that takes longest.
func TestDrainEvictsAllPodsAtOnce(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		var out bytes.Buffer
		c.Console().RunScript(t.Context(), "drain", "cd "+t.TempDir()+`
kubectl create deployment web --image=nginx:1.27 --replicas=9 >/dev/null; kubectl rollout status deployment/web --timeout=1m >/dev/null
kubectl drain node-1
kubectl drain node-2 >second &
wait; tail -n 1 second
kubectl create pdb web --selector=app=web --max-unavailable=0; sleep 1
kubectl drain node-3 >third 2>&1 &
sleep 7; kill $!; wait; grep -c ^evicting third; sleep 10; grep -c ^evicting third`, control.Streams{Out: &out, Err: &out})
		said := regexp.MustCompile(`web-[a-z0-9-]*`).ReplaceAllString(out.String(), "POD")
		want := "node/node-1 cordoned\n" + strings.Repeat("evicting pod default/POD\n", 3) + strings.Repeat("pod/POD evicted\n", 3) + "node/node-1 drained\n" +
			"node/node-2 drained\npoddisruptionbudget.policy/web created\n18\n18\n"
		if said != want {
			t.Errorf("it printed\n%swant\n%s", said, want)
		}
		var at []time.Duration
		for _, e := range everything(t, c) {
			if r, ok := e.Payload.(*trace.Request); ok && r.Verb == "create" && r.Subresource == "eviction" {
				at = append(at, e.At)
			}
		}
		first := func(pods int) {
			if len(at) < pods || at[0] != at[pods-1] {
				t.Fatalf("the evictions of %d pods were asked for at %v, not at one instant", pods, at)
			}
			at = at[pods:]
		}
		first(3)
		first(5)
		first(9)
		if len(at) != 9 {
			t.Errorf("refused evictions were asked for again at %v, want once each", at)
		}
	})
}

// The pods of a StatefulSet come one after the other, each with a name and a claim that
// outlive it and that are bound beforehand, by hand; kubectl rollout follows its updates, and undoes them from its revisions:
// testdata/statefulset.txt.
func TestKubectlStatefulSet(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		golden(t, "statefulset", typed(t, c, "testdata/statefulset.txt", varying, statefulSetTogether))
	})
}

// A DaemonSet has a pod on each node, and on each one that comes to fit; kubectl rollout
// follows its updates, and undoes them: testdata/daemonset.txt.
func TestKubectlDaemonSet(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		golden(t, "daemonset", typed(t, c, "testdata/daemonset.txt", varying, daemonSetTogether))
	})
}

// What kubectl does with every kind of workload: rollout and what it refuses, scale, wait,
// create job --from, and describe: testdata/kubectl-workloads.txt.
func TestKubectlWorkloads(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		golden(t, "kubectl-workloads", typed(t, c, "testdata/kubectl-workloads.txt", workloadsVary, numbers, varying, together, statefulSetTogether, daemonSetTogether))
	})
}

// kubectl get --watch is a watch at the API server: each event is a line, also that of
// an object that is gone, and its client is one of those that watch. replace --force
// waits in the cluster's time, and -v tells of requests.
func TestKubectlWatches(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		golden(t, "kubectl-watch", typed(t, c, "testdata/kubectl-watch.txt", varying))
	})
}

// Of an object that is gone kviz why tells who deleted it, when and by which request,
// and from when on it waited: what somebody asks who finds it missing. The table of faults
// has its columns one below the other, however many arguments a fault takes.
func TestWhyTellsWhoDeletedAnObject(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		golden(t, "deleted", typed(t, c, "testdata/deleted.txt", []varies{
			{regexp.MustCompile(`#[0-9]+`), "#N"},
			{regexp.MustCompile(`[0-9]+\.[0-9]{3}s`), "Ts"},
			{regexp.MustCompile(`revision [0-9]+`), "revision N"},
		}))
	})
}

package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/google/go-cmp/cmp"

	"kviz/cluster"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// golden compares a transcript with its file; KVIZ_REWRITE=1 writes the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if os.Getenv("KVIZ_REWRITE") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the transcript is another than %s (KVIZ_REWRITE=1 writes it; -want +got):\n%s", path,
			cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")))
	}
}

// milestones are what a person would tell of the events: faults, nodes turning
// Ready or not, taints, pods bound, marked for deletion and gone.
func milestones(events []*trace.Event) string {
	var b strings.Builder
	start := time.Duration(-1)
	seen := map[string]string{}
	names := map[string]string{} // in order of appearance: the generated part of a name tells nothing
	short := func(pod string) string {
		if names[pod] == "" {
			names[pod] = fmt.Sprintf("pod %d", len(names)+1)
		}
		return names[pod]
	}
	say := func(e *trace.Event, key, now string) {
		if seen[key] == now {
			return
		}
		seen[key] = now
		fmt.Fprintf(&b, "%4.0fs  %s %s\n", (e.At - start).Seconds(), key, now)
	}
	for _, e := range events {
		switch p := e.Payload.(type) {
		case *trace.Fault:
			if start < 0 {
				start = e.At
			}
			say(e, p.Target, p.Fault)
		case *trace.Commit:
			if start < 0 {
				continue
			}
			for _, ch := range p.Changes {
				if ch.Object.Kind == "Pod" && ch.Object.Namespace == "demo" && ch.Deleted {
					say(e, short(ch.Object.Name), "is gone")
				}
				if ch.Value == nil {
					continue
				}
				switch o := ch.Value.Value.(type) {
				case *corev1.Node:
					say(e, o.Name, nodeWords(o))
				case *corev1.Pod:
					if o.Namespace == "demo" && !ch.Deleted {
						say(e, short(o.Name), podWords(o))
					}
				}
			}
		}
	}
	return b.String()
}

func nodeWords(n *corev1.Node) string {
	words := "has no Ready condition"
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			words = "is Ready=" + string(c.Status)
		}
	}
	for _, t := range n.Spec.Taints {
		words += fmt.Sprintf(", %s:%s", t.Key, t.Effect)
	}
	return words
}

func podWords(p *corev1.Pod) string {
	words := "waits for a node"
	if p.Spec.NodeName != "" {
		words = "on " + p.Spec.NodeName
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			words += ", ready"
		}
	}
	if p.DeletionTimestamp != nil {
		words += ", marked for deletion"
	}
	return words
}

// A node loses its power. Nobody notices for 40 s and more; then it is NotReady
// and tainted, its pods' 300 s begin, they are evicted and replaced elsewhere;
// and when the node comes back, what was marked for deletion goes.
func TestANodeDiesAndItsPodsMove(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 21, NoSync: true})
		run(t, c, hellos)
		var node string
		for _, e := range after(t, c, trace.ID{}) {
			if commit, ok := e.Payload.(*trace.Commit); ok {
				for _, ch := range commit.Changes {
					if ch.Value == nil {
						continue
					}
					if p, ok := ch.Value.Value.(*corev1.Pod); ok && strings.HasPrefix(p.Name, "hello-deploy-") && p.Spec.NodeName != "" {
						node = p.Spec.NodeName
					}
				}
			}
		}
		from := mark(t, c)
		run(t, c, fmt.Sprintf(`
kviz fault stop node/%[1]s
kviz wait --timeout 100s 'object("nodes", "", "%[1]s").status.conditions.exists(c, c.type == "Ready" && c.status == "Unknown")'
sleep 310
kviz wait --timeout 60s 'object("deployments", "demo", "hello-deploy").status.availableReplicas == 2'
kviz fault start node/%[1]s
kubectl wait --for=condition=Ready node --all --timeout=300s
sleep 60
kviz wait --timeout 60s 'object("deployments", "demo", "hello-deploy").status.availableReplicas == 2'
`, node))
		golden(t, "node-dies", milestones(after(t, c, from)))
	})
}

// What goes on, and what waits, while a part of the control plane is down.
func TestPartsOfTheControlPlaneStop(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 22, NoSync: true})
		run(t, c, hellos)

		t.Log("scheduler")
		run(t, c, `
kviz fault stop scheduler
kubectl scale -n demo deployment/hello-deploy --replicas=3
sleep 60
test "$(kubectl get pods -n demo --field-selector=status.phase=Pending -o name | wc -l)" -eq 1
kviz fault start scheduler
kviz wait --timeout 60s 'object("deployments", "demo", "hello-deploy").status.availableReplicas == 3'
kubectl scale -n demo deployment/hello-deploy --replicas=2
kviz wait --timeout 60s 'object("deployments", "demo", "hello-deploy").status.replicas == 2'
`+converged)
		t.Log("controller manager")
		run(t, c, `
kviz fault stop controller-manager
kubectl scale -n demo deployment/hello-deploy --replicas=4
sleep 60
test "$(kubectl get rs -n demo -o jsonpath='{.items[0].spec.replicas}')" -eq 2
kviz fault start controller-manager
kviz wait --timeout 60s 'object("deployments", "demo", "hello-deploy").status.availableReplicas == 4'
kubectl scale -n demo deployment/hello-deploy --replicas=2
kviz wait --timeout 60s 'object("deployments", "demo", "hello-deploy").status.replicas == 2'
`+converged)
		t.Log("kubelet")
		run(t, c, `
kviz fault stop kubelet/node-2
kviz wait --timeout 100s 'object("nodes", "", "node-2").status.conditions.exists(c, c.type == "Ready" && c.status == "Unknown")'
kviz fault start kubelet/node-2
`+converged)
		t.Log("registry")
		run(t, c, `
kviz fault stop registry
kubectl create deployment -n demo late --image=redis:7
kviz wait --timeout 120s 'objects("pods", "demo").exists(p, p.metadata.name.startsWith("late") && has(p.status.containerStatuses) && p.status.containerStatuses.exists(s, has(s.state.waiting) && s.state.waiting.reason == "ImagePullBackOff"))'
kviz fault start registry
kviz wait --timeout 400s 'object("deployments", "demo", "late").status.availableReplicas == 1'
kubectl delete deployment -n demo late
`+converged)
		t.Log("API server")
		// The console's kubectl has nobody to talk to, nor does kubectl exec; the
		// packets of a pod go on, and the name it asks for is in the cache of DNS.
		run(t, c, "kviz fault stop apiserver\nsleep 120\n")
		if out, err := try(t, c, "kubectl get nodes"); err == nil || !strings.Contains(out, "refused") {
			t.Errorf("kubectl without an API server: %v\n%s", err, out)
		}
		if body, exit := curlFrom(t, c, "demo/hello-pod", "hello-svc"); exit != 0 {
			t.Errorf("curl hello-svc without an API server: exit %d %q", exit, body)
		}
		run(t, c, "kviz fault start apiserver\nsleep 5\n"+converged)
		t.Log("DNS")
		run(t, c, "kviz fault stop dns\n")
		if out, err := try(t, c, "kubectl exec -n demo hello-pod -- curl -s --max-time 2 hello-svc"); err == nil || strings.Contains(out, "hello from") {
			t.Errorf("curl by name without DNS: %v\n%s", err, out)
		}
		run(t, c, `kubectl exec -n demo hello-pod -- curl -s --max-time 2 "$(kubectl get svc -n demo hello-svc -o jsonpath='{.spec.clusterIP}')"
kviz fault start dns
sleep 1
`+converged)
	})
}

// curlFrom fetches a URL from a pod by its packets alone, without kubectl exec.
func curlFrom(t *testing.T, c *cluster.Cluster, pod, url string) (body string, exit int) {
	t.Helper()
	k := c.Kernel()
	var p *sim.Process
	if err := k.Do(func() { p = k.NewProcess(trace.Lane{Component: trace.CompSimulation, Instance: "test"}) }); err != nil {
		t.Fatal(err)
	}
	if err := k.Call(t.Context(), p, "curl", func(tk *sim.Task) {
		body, exit, _ = c.Network().Curl(tk, "", pod, url, 2*time.Second)
	}); err != nil {
		t.Fatal(err)
	}
	return body, exit
}

// The leader crashes while writes are under way: they are retried or fail
// honestly, and what was acknowledged is there afterwards.
func TestTheLeaderCrashesUnderLoad(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 23, NoSync: true, Nodes: 1})
		acked := 0
		for i := range 30 {
			if i == 10 || i == 20 {
				run(t, c, "kviz fault crash member/"+c.Raft().Leader())
			}
			if i == 15 {
				for _, m := range c.Raft().Members() {
					if !m.Up {
						run(t, c, "kviz fault start member/"+m.ID)
					}
				}
			}
			if _, err := try(t, c, fmt.Sprintf("kubectl create configmap load-%02d --from-literal=n=%d", i, i)); err != nil {
				continue
			}
			acked++
			defer func() {
				if out := run(t, c, fmt.Sprintf("kubectl get configmap load-%02d -o jsonpath='{.data.n}'", i)); out != fmt.Sprint(i) {
					t.Errorf("load-%02d was acknowledged and holds %q", i, out)
				}
			}()
		}
		if acked < 20 {
			t.Errorf("only %d of 30 writes were acknowledged though two of three members were up", acked)
		}
	})
}

// Two of three members are down: no write goes through, the client gets etcd's
// words, and the API server says that it is not well; pods run on and a Service answers. With a quorum everything goes on,
// and nothing that was acknowledged is lost.
func TestTheQuorumIsLost(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 24, NoSync: true})
		run(t, c, hellos+"kubectl create configmap before --from-literal=kept=yes\n")
		down := []string{"b", "c"}
		if l := c.Raft().Leader(); l != "a" {
			down = []string{"a", l}
		}
		for _, id := range down {
			run(t, c, "kviz fault stop member/"+id)
		}
		out, err := try(t, c, "kubectl create configmap during --from-literal=kept=no")
		if err == nil || !strings.Contains(out, "etcdserver: ") {
			t.Errorf("a write without a quorum: %v\n%s", err, out)
		}
		for _, path := range []string{"readyz", "livez", "healthz"} {
			if out, err := try(t, c, "kubectl get --raw '/"+path+"?verbose'"); err == nil || !strings.Contains(out, "[-]etcd failed") {
				t.Errorf("/%s without a quorum: %v\n%s", path, err, out)
			}
		}
		if body, exit := curlFrom(t, c, "demo/hello-pod", "hello-svc"); exit != 0 {
			t.Errorf("curl hello-svc without a quorum: exit %d %q", exit, body)
		}
		for _, id := range down {
			run(t, c, "kviz fault start member/"+id)
		}
		run(t, c, converged+`
for path in readyz livez healthz; do kubectl get --raw "/$path?verbose" | grep 'etcd ok'; done
test "$(kubectl get configmap before -o jsonpath='{.data.kept}')" = yes
kubectl create configmap later
`)
	})
}

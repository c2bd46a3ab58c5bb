package cluster_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster"
	"kviz/cluster/controller/pods"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/raftstore/steady"
)

var (
	made   = regexp.MustCompile(`(hello-deploy|hello-svc|kube-api-access)-[a-z0-9]{4,10}(-[a-z0-9]{5})?\b`)
	number = regexp.MustCompile(`hash [0-9a-z]+|sha256:[0-9a-f]+|[0-9a-f]{12}\b|KUBE-(SEP|SVC)-[A-Z0-9]{16}|node-[0-9]|[0-9]+(:[0-9]+)+|[0-9]+([.][0-9]+)*(ms|µs|m[0-9]+s|s)?\b`)
)

// chain is what a person reads who asks why an event happened: the short answer,
// one link a line, without what differs from seed to seed.
func chain(events []*trace.Event, id trace.ID) string {
	stream := trace.NewStream(len(events) + 1)
	for _, e := range events {
		stream.Append(e)
	}
	var b strings.Builder
	for _, l := range view.NewHistory(stream).Chain(id) {
		text := made.ReplaceAllString(view.Explain(l.Event), "$1-…")
		text = number.ReplaceAllStringFunc(text, func(s string) string {
			switch {
			case strings.HasPrefix(s, "node-"):
				return "node-N"
			case strings.HasPrefix(s, "hash "):
				return "hash …"
			case strings.HasPrefix(s, "KUBE-"):
				return s[:9] + "…"
			}
			return "N"
		})
		fmt.Fprintf(&b, "%-18s %s\n", l.Event.Kind, text)
	}
	return b.String()
}

// find gives the newest event that a test means.
func find(t *testing.T, events []*trace.Event, what string, meant func(*trace.Event) bool) *trace.Event {
	t.Helper()
	for i := len(events) - 1; i >= 0; i-- {
		if meant(events[i]) {
			return events[i]
		}
	}
	t.Fatalf("there is no event: %s", what)
	return nil
}

// changedPod finds a commit by what it made of a pod.
func changedPod(test func(now *corev1.Pod, deleted bool) bool) func(*trace.Event) bool {
	return func(e *trace.Event) bool {
		p, ok := e.Payload.(*trace.Commit)
		if !ok {
			return false
		}
		for _, ch := range p.Changes {
			switch {
			case ch.Object.Kind != "Pod":
			case ch.Deleted:
				if test(&corev1.Pod{}, true) {
					return true
				}
			case ch.Value != nil:
				if o, ok := ch.Value.Value.(*corev1.Pod); ok && test(o, false) {
					return true
				}
			}
		}
		return false
	}
}

const probed = `
kubectl apply -f - <<EOF
apiVersion: v1
kind: Pod
metadata: {name: probed, namespace: demo}
spec:
  containers:
  - name: web
    image: nginx:stable
    readinessProbe: {httpGet: {path: /, port: 80}, initialDelaySeconds: 3}
EOF
kubectl wait -n demo --for=condition=Ready pod/probed --timeout=100s
`

// What "why?" answers in seven stories, link by link.
func TestWhyTellsTheWholeStory(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 32, Bare: true})
		var b strings.Builder
		tell := func(question, script string, meant func(*trace.Event) bool) {
			t.Helper()
			from := mark(t, c)
			run(t, c, script)
			e := find(t, after(t, c, from), question, meant)
			fmt.Fprintf(&b, "%s\n\n%s\n", question, chain(after(t, c, trace.ID{}), e.ID))
		}
		tell("Why is there this DNAT rule?", `
kubectl apply -f manifests/hello.yaml
kviz wait --timeout 120s 'object("deployments", "demo", "hello-deploy").status.availableReplicas == 2'
sleep 5`, func(e *trace.Event) bool {
			r, ok := e.Payload.(*trace.Rule)
			return ok && !r.Removed && strings.Contains(r.Text, "DNAT") && r.Service == "demo/hello-svc"
		})
		tell("Why is a pod with a readiness probe Ready?", probed,
			changedPod(func(p *corev1.Pod, _ bool) bool { return p.Name == "probed" && pods.Ready(p) }))
		tell("Why was a pod of a ReplicaSet that was scaled down deleted?", `
kubectl scale -n demo deployment/hello-deploy --replicas=1
kviz wait --timeout 100s 'object("deployments", "demo", "hello-deploy").status.replicas == 1'
sleep 40`, changedPod(func(_ *corev1.Pod, deleted bool) bool { return deleted }))
		tell("Why did a container start a third time?", `
kubectl run -n demo crash --image=busybox --command -- false
sleep 120`, func(e *trace.Event) bool {
			s, ok := e.Payload.(*trace.ContainerState)
			return ok && s.State == "running" && s.Restarts == 2 && s.Pod == "demo/crash"
		})
		run(t, c, `
kubectl delete -n demo pod/crash pod/probed
kubectl set image -n demo deployment/hello-deploy hello=nginx:alpine
kubectl rollout status -n demo deployment/hello-deploy --timeout=100s
sleep 60`)
		tell("Why does a container of the former image run after kubectl rollout undo?", `
kubectl rollout undo -n demo deployment/hello-deploy
kubectl rollout status -n demo deployment/hello-deploy --timeout=100s
sleep 40`, func(e *trace.Event) bool {
			s, ok := e.Payload.(*trace.ContainerState)
			return ok && s.State == "running"
		})
		var node string
		find(t, after(t, c, trace.ID{}), "the deployment's pod", changedPod(func(p *corev1.Pod, _ bool) bool {
			node = p.Spec.NodeName
			return strings.HasPrefix(p.Name, "hello-deploy-") && pods.Ready(p) && p.DeletionTimestamp == nil
		}))
		tell("Why was a pod of a node without power evicted?", "kviz fault stop node/"+node+"\nsleep 400",
			changedPod(func(p *corev1.Pod, _ bool) bool { return p.DeletionTimestamp != nil }))
		tell("Why did a rule of the node without power go when it was back?", "kviz fault start node/"+node+"\nsleep 60", func(e *trace.Event) bool {
			r, ok := e.Payload.(*trace.Rule)
			return ok && r.Removed && r.Service == "demo/hello-svc" && r.Node == node
		})
		golden(t, "why", b.String())
		checkCauses(t, after(t, c, trace.ID{}))
	})
}

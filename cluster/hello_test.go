package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// hello applies the manifests of the documents, unmodified, and asks the
// Service from inside a pod until both pods have answered.
const hello = `
kubectl apply -f manifests/namespace.yaml
kubectl apply -f manifests/pod.yaml
kubectl apply -f manifests/deployment.yaml
kubectl apply -f manifests/service.yaml
kviz wait --timeout 60s 'object("deployments", "demo", "hello-deploy").status.availableReplicas == 2'
kubectl wait --for=condition=Ready -n demo pod/hello-pod --timeout=30s
sleep 2
for i in 1 2 3 4 5 6 7 8 9 10; do kubectl exec -n demo hello-pod -- curl -s hello-svc; done
kubectl get pods,rs,deploy,svc,endpointslices -n demo -o wide
on node-1 iptables-save
`

// The appendix manifests of the documents run unmodified on the replicated
// store, up to curl answered by both pods.
func TestHelloManifestsOnRaft(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1})
		out := run(t, c, hello)
		events, _, _ := c.Trace().Read(c.Trace().First(), 1<<20)
		answered := map[string]int{}
		for _, e := range events {
			if f, ok := e.Payload.(*trace.Flow); ok && f.Result == "answered" {
				answered[f.Pod]++
			}
		}
		if len(answered) != 2 {
			t.Errorf("answers by pod: %v, want two pods\n%s", answered, out)
		}
		if !strings.Contains(out, "-A KUBE-SERVICES") {
			t.Errorf("no rules on node-1:\n%s", out)
		}
		if testing.Verbose() {
			fmt.Println(out)
		}
	})
}

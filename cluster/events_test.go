package cluster_test

import (
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// Events say of which container they are; the scheduler's are those of events.k8s.io, with
// the words that these have.
func TestEventsSayWhereAndWho(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Bare: true, Nodes: 1})
		out := run(t, c, `
kubectl run web --image=nginx:1.27
kubectl run big --image=nginx:1.27 --overrides='{"spec":{"containers":[{"name":"big","image":"nginx:1.27","resources":{"requests":{"cpu":"999"}}}]}}'
kubectl wait --for=condition=Ready pod/web --timeout=1m
kubectl get events --field-selector involvedObject.name=web,reason=Started -o jsonpath='{.items[0].involvedObject.fieldPath} {.items[0].source.component} {.items[0].eventTime}{"\n"}'
kubectl get events.v1.events.k8s.io --field-selector regarding.name=web,reason=Scheduled -o jsonpath='{.items[0].reportingController} {.items[0].reportingInstance} {.items[0].action} {.items[0].type}: {.items[0].note}{"\n"}'
kubectl get events.v1.events.k8s.io --field-selector regarding.name=big -o jsonpath='{.items[0].action}: {.items[0].note}{"\n"}'
kubectl get events --field-selector involvedObject.name=web,reason=Scheduled -o jsonpath='{.items[0].firstTimestamp}{.items[0].source.component} {.items[0].reportingComponent}{"\n"}'
`)
		golden(t, "events", out)
	})
}

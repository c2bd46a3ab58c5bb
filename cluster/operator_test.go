package cluster_test

import (
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// A custom resource is a row in etcd until somebody acts upon it: the definition, an
// object, and only then the operator that makes of it what it stands for, keeps it so,
// and while it is away does not. testdata/operator.txt is what is typed and what is
// seen.
func TestAnOperator(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 3, Bare: true})
		golden(t, "operator", typed(t, c, "testdata/operator.txt", identities, varying))

		// What it makes follows from what it was asked for.
		var asked, made *trace.Event
		for _, e := range after(t, c, trace.ID{}) {
			switch p := e.Payload.(type) {
			case *trace.Request:
				if asked == nil && p.Resource == "postgresclusters" && p.Verb == "create" {
					asked = e
				}
			case *trace.Action:
				if made == nil && p.Controller == "postgres-operator" && p.Verb == "create" && p.Target.Kind == "Deployment" {
					made = e
				}
			}
		}
		if asked == nil || made == nil {
			t.Fatalf("asked for by %v, made by %v", asked, made)
		}
	})
}

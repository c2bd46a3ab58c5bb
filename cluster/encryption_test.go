package cluster_test

import (
	"bytes"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// Encryption at rest as an administrator meets it: testdata/encryption.txt is
// what is typed and what is seen. Keys are added, put first and taken away in the
// documented order, and once in the wrong one; the KMS plugin goes away and comes
// back with another key.
func TestEncryptionAtRest(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true, Nodes: 1})
		golden(t, "encryption", typed(t, c, "testdata/encryption.txt", uncertain))
	})
}

// Encrypting N Secrets anew is N writes to etcd and N watch events to whoever
// watches (inventory 84), where the documented command writes the same objects
// again: without encryption it would write nothing.
func TestRotationIsExpensive(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		const n = 12
		const again = "kubectl get secrets --all-namespaces -o json | kubectl replace -f -\nsleep 1\n"
		c := boot(t, cluster.Config{Seed: 2, Bare: true, Nodes: 1})
		run(t, c, "for i in $(seq 12); do kubectl create secret generic s$i --from-literal=k=v; done\n")
		cost := func(script string) (commits, cached int) {
			from := mark(t, c)
			run(t, c, script)
			for _, e := range after(t, c, from) {
				switch p := e.Payload.(type) {
				case *trace.Commit:
					if strings.HasPrefix(p.Changes[0].Key, "/registry/secrets/") {
						commits++
					}
				case *trace.CacheUpdate:
					if p.Resource == "secrets" {
						cached++
					}
				}
			}
			return commits, cached
		}
		for _, step := range []struct {
			script string
			writes int
		}{
			{again, 0},
			{"kviz apiserver encryption manifests/encryption/aescbc.yaml\nkviz fault restart apiserver\nsleep 1\n" + again, n},
			{again, 0},
			{"kviz apiserver encryption manifests/encryption/rotated.yaml\nkviz fault restart apiserver\nsleep 1\n" + again, n},
		} {
			if commits, cached := cost(step.script); commits != step.writes || cached != step.writes {
				t.Errorf("%s: %d writes and %d events of the watch cache; want %d of each", step.script, commits, cached, step.writes)
			}
		}
		var out bytes.Buffer
		if err := c.Console().RunScript(t.Context(), "watch", "timeout 2s kubectl get secrets -w -o name | wc -l", control.Streams{Out: &out, Err: &out}); err != nil || strings.TrimSpace(out.String()) != "12" {
			t.Errorf("kubectl sees %q, %v", out.String(), err)
		}
	})
}

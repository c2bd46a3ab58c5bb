package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// running lists the containers of a node, or of all nodes.
func running(t *testing.T, c *cluster.Cluster, node string) []string {
	t.Helper()
	list, err := c.Running(node)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// stillThere fails unless the same containers run as before, and the Service
// answers a pod's packets: nobody asks the API for that.
func stillThere(t *testing.T, c *cluster.Cluster, when string, before []string) {
	t.Helper()
	if now := running(t, c, ""); !slices.Equal(now, before) {
		t.Errorf("%s run %v, before %v", when, now, before)
	}
	if body, exit := curlFrom(t, c, "demo/hello-pod", "hello-svc"); exit != 0 {
		t.Errorf("%s curl hello-svc: exit %d %q", when, exit, body)
	}
}

// Every disk of the store is lost: the API is empty, and what runs goes on. With a
// backup all is as it was, and no container has noticed; without one a new cluster
// begins (inventory 90).
func TestLosingTheStore(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 35, NoSync: true})
		dir := t.TempDir()
		run(t, c, hellos)
		run(t, c, "cd "+dir+"\netcdctl snapshot save later.db\n")
		before := running(t, c, "")
		t.Log("every disk is lost")
		out := run(t, c, "kviz fault wipe store\nsleep 120\nkubectl get pods,deployments,nodes -A -o name\nkubectl get namespaces -o name\n")
		if strings.Contains(out, "pod/") || strings.Contains(out, "node/") || strings.Contains(out, "namespace/demo") || !strings.Contains(out, "namespace/kube-system") {
			t.Errorf("the API is not that of an empty cluster:\n%s", out)
		}
		stillThere(t, c, "with an empty store", before)
		t.Log("a backup brings it back")
		run(t, c, "cd "+dir+"\nkviz restore later.db --bump-revision 1000000 --mark-compacted\n"+converged)
		stillThere(t, c, "with the backup", before)
		t.Log("without a backup another cluster begins")
		run(t, c, "kviz fault wipe store\nsleep 60\n")
		stillThere(t, c, "with an empty store", before)
		run(t, c, "kviz fault reinstall store\n"+nodesAgain+"sleep 60\n")
		if left := running(t, c, ""); len(left) > 0 {
			t.Errorf("kubelets that start know of no pod, and leave %v", left)
		}
		run(t, c, hellos)
	})
}

// Without a quorum nothing is decided any more: a pod cannot be deleted, one on a
// node that is gone for good is not replaced, and a container that crashes is
// restarted all the same, by its kubelet alone. With the quorum back, what was due
// happens (inventory 91, 92).
func TestWithoutAQuorumNothingConverges(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 37, NoSync: true})
		run(t, c, hellos)
		pod := run(t, c, `kubectl get pods -n demo -o name | grep hello-deploy | head -n 1`)
		pod = strings.TrimSpace(pod)
		node := run(t, c, "kubectl get -n demo "+pod+" -o jsonpath='{.spec.nodeName}'")
		elsewhere := func() (containers []string) {
			for _, n := range []string{"node-1", "node-2", "node-3"} {
				if n != node {
					containers = append(containers, running(t, c, n)...)
				}
			}
			return containers
		}
		// Its pods are due to be evicted 340 s after the node was last heard of.
		run(t, c, "kviz fault crash node/"+node+"\nsleep 330\nkviz fault stop member/b\nkviz fault stop member/c\n")
		before := elsewhere()
		out, err := try(t, c, "sleep 12\nkubectl delete -n demo "+pod+" --wait=false\n")
		if err == nil || !strings.Contains(out, "etcdserver: ") {
			t.Errorf("deleting a pod without a quorum: %v\n%s", err, out)
		}
		if now := elsewhere(); !slices.Equal(now, before) {
			t.Errorf("without a quorum run %v, before %v", now, before)
		}
		run(t, c, "kviz fault start member/b\nkviz fault start member/c\nsleep 30\nkubectl rollout status deployment/hello-deploy -n demo --timeout=15m\n")
		if now := elsewhere(); slices.Equal(now, before) {
			t.Errorf("with the quorum back the pods of %s are not replaced: %v", node, now)
		}
	})
}

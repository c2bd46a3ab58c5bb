package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// How a machine becomes a node: as the bearer of a bootstrap token it asks for a
// certificate, and with that it is the node. testdata/join.txt is what is typed and what
// is seen; then, from the trace, whose the kubelet's requests are, one after another.
func TestANodeJoins(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 4, Bare: true})
		golden(t, "join", typed(t, c, "testdata/join.txt", identities, varying))

		var users []string
		for _, e := range after(t, c, trace.ID{}) {
			st, ok := e.Payload.(*trace.Stage)
			if ok && st.Stage == trace.StageAuthentication && st.Proof != nil && strings.HasPrefix(st.Proof.User, "system:bootstrap:") {
				users = append(users, st.Proof.User)
			}
			if r, ok := e.Payload.(*trace.Request); ok && r.Client == "kubelet/node-5" {
				users = append(users, r.User)
			}
		}
		i := slices.Index(users, "system:node:node-5")
		if i < 1 || slices.Contains(users[i:], "") || !slices.Contains(users[:i], "system:bootstrap:abcdef") {
			t.Errorf("the kubelet's requests are of %v", slices.Compact(users))
		}
	})
}

// A machine that is no node yet is a machine all the same: it can be short of memory and lose
// power. Its kube-proxy begins when it is a node, which then says what it is short of.
func TestFaultsOfAMachineThatJoins(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 4, Bare: true, Nodes: 1})
		run(t, c, `
kubectl apply -f manifests/bootstrap/token.yaml
kubectl delete clusterrolebinding kubeadm:node-autoapprove-bootstrap
kviz node join --token abcdef.0123456789abcdef || true
kviz fault pressure node/node-2 memory
kviz fault restart node/node-2
sleep 15
`)
		for _, e := range after(t, c, trace.ID{}) {
			if e.Lane == (trace.Lane{Component: trace.CompProxy, Instance: "node-2"}) {
				t.Errorf("#%s %s of a kube-proxy on a machine that is no node", e.ID, e.Kind)
			}
		}
		run(t, c, `
kubectl certificate approve $(kubectl get csr | grep Pending | cut -d ' ' -f 1)
kviz wait --timeout 60s 'object("nodes", "", "node-2").status.conditions.exists(c, c.type == "MemoryPressure" && c.status == "True")'
`)
	})
}

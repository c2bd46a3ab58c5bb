package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
)

// How a machine becomes a node: as the bearer of a bootstrap token it asks for a
// certificate, and with that it is the node. testdata/join.txt is what is typed and what
// is seen; then, from the trace, whose the kubelet's requests are, one after another.
func TestANodeJoins(t *testing.T) {
	t.Parallel()
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
}

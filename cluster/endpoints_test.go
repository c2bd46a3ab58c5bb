package cluster_test

import (
	"context"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// Another program deletes a ConfigMap in the store, past the API server: the
// watch cache hears of it, and so does everybody above.
func TestAForeignWriteReachesTheCluster(t *testing.T) {
	steady.RealTime(t, "the other program comes in over a socket")
	c := boot(t, cluster.Config{Bare: true, Nodes: -1})
	s, err := c.ListenEtcd(0, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Endpoints().Etcd; got != s.Addr {
		t.Errorf("endpoint %q, served at %s", got, s.Addr)
	}
	if _, err := c.ListenEtcd(0, ""); err == nil {
		t.Error("served twice")
	}
	run(t, c, "kubectl create configmap hello --from-literal=greeting=hi")

	conn, err := grpc.NewClient(s.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), steady.Patience(t))
	defer cancel()
	const key = "/registry/configmaps/default/hello"
	d, err := pb.NewKVClient(conn).DeleteRange(ctx, &pb.DeleteRangeRequest{Key: []byte(key)})
	if err != nil || d.Deleted != 1 {
		t.Fatalf("delete %s: %v %v", key, d, err)
	}
	// The kernel takes the commit in with its next step; creating takes some.
	run(t, c, "kubectl create configmap later")
	if out := run(t, c, "kubectl get configmaps -o name"); strings.Contains(out, "configmap/hello") || !strings.Contains(out, "configmap/later") {
		t.Errorf("after the deletion of hello:\n%s", out)
	}
	events, _, _ := c.Trace().Read(c.Trace().First(), 1<<20)
	for _, e := range events {
		if p, ok := e.Payload.(*trace.Commit); ok && p.Revision == d.Header.Revision {
			if len(p.Changes) != 1 || p.Changes[0].Key != key || !p.Changes[0].Deleted {
				t.Errorf("commit %+v", p)
			}
			return
		}
	}
	t.Errorf("revision %d is not in the trace", d.Header.Revision)
}

package etcdapi_test

import (
	"errors"
	"fmt"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore/steady"
)

// A downgrade is reported by every member, survives a restart, and ends when it is
// canceled.
func TestADowngradeIsUnderWayUntilItIsCanceled(t *testing.T) {
	steady.Bubble(t, testADowngradeIsUnderWayUntilItIsCanceled)
}

func testADowngradeIsUnderWayUntilItIsCanceled(t *testing.T) {
	s := replicated(t)
	b := newBench(t, s)
	m := pb.NewMaintenanceClient(b.conns[0])
	ask := func(want error, action clientv3.DowngradeAction, version, cluster string) {
		t.Helper()
		r, err := m.Downgrade(b.ctx, &pb.DowngradeRequest{Action: pb.DowngradeRequest_DowngradeAction(action), Version: version})
		if !errors.Is(err, want) || err == nil && r.Version != cluster {
			t.Errorf("%v %s: %v %v, want %s %v", action, version, r, err, cluster, want)
		}
	}
	told := func(at int, want string, enabled bool) {
		t.Helper()
		steady.Await(t, fmt.Sprintf("member %d has storage %s", at, want), func() error {
			r, err := pb.NewMaintenanceClient(b.conns[at]).Status(b.ctx, &pb.StatusRequest{})
			if err == nil && r.StorageVersion == want && r.DowngradeInfo.Enabled == enabled && (r.DowngradeInfo.TargetVersion == want) == enabled {
				return nil
			}
			return fmt.Errorf("status: %v %w", r, err)
		})
	}
	ask(nil, clientv3.DowngradeEnable, "3.6", "3.7")
	for at := range b.conns {
		told(at, "3.6.0", true)
	}
	if _, body := b.get("/version"); body != `{"etcdserver":"3.7.3","etcdcluster":"3.6.0","storage":"3.6.0"}` {
		t.Error(body)
	}
	ask(rpctypes.ErrGRPCDowngradeInProcess, clientv3.DowngradeValidate, "3.5", "")
	ask(rpctypes.ErrGRPCInvalidDowngradeTargetVersion, clientv3.DowngradeEnable, "3.6", "")
	b.put("a", "it goes on")
	follower := 1
	if s.Leader() == s.IDs()[follower] {
		follower = 2
	}
	if err := s.Crash(s.IDs()[follower]); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(s.IDs()[follower]); err != nil {
		t.Fatal(err)
	}
	told(follower, "3.6.0", true)
	ask(nil, clientv3.DowngradeCancel, "", "3.6")
	for at := range b.conns {
		told(at, "3.7.0", false)
	}
	ask(nil, clientv3.DowngradeValidate, "3.6", "3.7")
}

package apply

import (
	"bytes"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/membershippb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// A downgrade goes through the log, into snapshots, and back.
func TestTheClustersVersionIsPartOfTheState(t *testing.T) {
	s := New(Limits{})
	do := func(want error, req *pb.InternalRaftRequest) {
		t.Helper()
		if r := s.Apply(0, req); r.Err != want {
			t.Errorf("%v: %v, want %v", req, r.Err, want)
		}
	}
	is := func(s *State, want Versions) {
		t.Helper()
		if got := s.Versions(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	copied := func() *State {
		t.Helper()
		var b bytes.Buffer
		if _, err := s.Snapshot().WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		c := New(Limits{})
		if err := c.Restore(&b); err != nil {
			t.Fatal(err)
		}
		return c
	}
	is(copied(), Versions{Cluster: "3.7.0"})
	do(rpctypes.ErrGRPCInvalidDowngradeTargetVersion, &pb.InternalRaftRequest{DowngradeInfoSet: &membershippb.DowngradeInfoSetRequest{Enabled: true, Ver: "3.5.0"}})
	do(rpctypes.ErrGRPCInvalidDowngradeTargetVersion, &pb.InternalRaftRequest{ClusterVersionSet: &membershippb.ClusterVersionSetRequest{Ver: "3.8.0"}})
	is(s, Versions{Cluster: "3.7.0"})
	do(nil, &pb.InternalRaftRequest{DowngradeInfoSet: &membershippb.DowngradeInfoSetRequest{Enabled: true, Ver: "3.6.0"}})
	is(copied(), Versions{Cluster: "3.7.0", Downgrading: true, Target: "3.6.0"})
	do(nil, &pb.InternalRaftRequest{ClusterVersionSet: &membershippb.ClusterVersionSetRequest{Ver: "3.6.0"}})
	is(copied(), Versions{Cluster: "3.6.0", Downgrading: true, Target: "3.6.0"})
	do(nil, &pb.InternalRaftRequest{DowngradeInfoSet: &membershippb.DowngradeInfoSetRequest{}})
	is(copied(), Versions{Cluster: "3.6.0"})
	do(nil, &pb.InternalRaftRequest{ClusterVersionSet: &membershippb.ClusterVersionSetRequest{Ver: "3.7.0"}})
	is(copied(), Versions{Cluster: "3.7.0"})
}

func TestAHeadWithUnknownVersionsIsDamaged(t *testing.T) {
	for _, v := range []Versions{{Cluster: "3.5.0"}, {Cluster: "3.6.0", Target: "3.6.0"}, {Cluster: "3.6.0", Downgrading: true}} {
		in := &headReader{b: v.append(nil)}
		if in.versions(); in.err == nil {
			t.Errorf("%+v was read", v)
		}
	}
}

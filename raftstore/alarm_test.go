package raftstore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore"
	"kviz/raftstore/steady"
)

func members(s raftstore.Store) []string {
	if r, ok := s.(*raftstore.Replicated); ok {
		return r.IDs()
	}
	return []string{""}
}

// A database that is full: the alarm, what is refused and what is not, and the way out.
func TestNoSpace(t *testing.T) {
	eachStore(t, raftstore.Config{Quota: 1 << 20}, func(t *testing.T, s leaseStore, _ *handClock) {
		var full error
		wrote := 0
		for ; full == nil && wrote < 100; wrote++ {
			full = call(s, putReq(fmt.Sprintf("k%d", wrote%5), string(make([]byte, 60_000)))).Err
		}
		if !errors.Is(full, rpctypes.ErrGRPCNoSpace) || wrote < 14 || wrote > 20 {
			t.Fatalf("after %d values of 60,000 bytes: %v", wrote, full)
		}
		alarms := s.Alarms()
		if len(alarms) != 1 || alarms[0].Alarm != pb.AlarmType_NOSPACE {
			t.Fatalf("alarms %v", alarms)
		}
		if r, ok := s.(*raftstore.Replicated); ok && alarms[0].MemberID != raftstore.MemberID(r.Leader()) {
			t.Errorf("the alarm is of member %x, the leader is %s", alarms[0].MemberID, r.Leader())
		}
		del := &pb.InternalRaftRequest{DeleteRange: &pb.DeleteRangeRequest{Key: []byte("k0"), RangeEnd: []byte("k4")}}
		for what, c := range map[string]struct {
			req  *pb.InternalRaftRequest
			want error
		}{
			"a small put": {putReq("k", "v"), rpctypes.ErrGRPCNoSpace},
			"a lease":     {&pb.InternalRaftRequest{LeaseGrant: &pb.LeaseGrantRequest{TTL: 10}}, rpctypes.ErrGRPCNoSpace},
			"a delete":    {del, nil},
			"a range":     {getReq("k4"), nil},
			"a transaction that deletes": {&pb.InternalRaftRequest{Txn: &pb.TxnRequest{Success: []*pb.RequestOp{
				{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte("q")}}},
			}}}, nil},
		} {
			if r := call(s, c.req); r.Err != c.want {
				t.Errorf("%s: %v, want %v", what, r.Err, c.want)
			}
		}
		compaction := &pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: s.Revision()}}
		if r := call(s, compaction); r.Err != nil {
			t.Fatal(r.Err)
		}
		for _, id := range members(s) {
			steady.Until(t, "the compaction", func() bool { _, inUse, err := s.DBSize(id); return err == nil && inUse < 300_000 })
			size, _, _ := s.DBSize(id)
			if size < 900_000 {
				t.Errorf("member %q: compaction made the file smaller: %d bytes", id, size)
			}
			if err := s.Defragment(id); err != nil {
				t.Fatal(err)
			}
			if size, inUse, err := s.DBSize(id); size != inUse || size > 300_000 || err != nil {
				t.Errorf("member %q after defragmentation: %d bytes, %d in use, %v", id, size, inUse, err)
			}
		}
		if err := call(s, putReq("k", "v")).Err; !errors.Is(err, rpctypes.ErrGRPCNoSpace) {
			t.Errorf("a put while the alarm stands: %v", err)
		}
		disarm := &pb.InternalRaftRequest{Alarm: &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, MemberID: alarms[0].MemberID, Alarm: pb.AlarmType_NOSPACE}}
		if r := call(s, disarm); r.Err != nil || len(s.Alarms()) > 0 {
			t.Fatalf("disarmed: %v, alarms %v", r.Err, s.Alarms())
		}
		mustPut(t, s, "k", "v")
	})
}

// The answer can come from a follower that is ahead of the leader; what is asked next
// must know of it.
func TestAnAlarmIsListedAsSoonAsItIsAnswered(t *testing.T) {
	eachStore(t, raftstore.Config{}, func(t *testing.T, s leaseStore, _ *handClock) {
		alarm := &pb.AlarmRequest{MemberID: 1, Alarm: pb.AlarmType_CORRUPT}
		for i := range 200 {
			for want, action := range []pb.AlarmRequest_AlarmAction{pb.AlarmRequest_DEACTIVATE, pb.AlarmRequest_ACTIVATE} {
				alarm.Action = action
				if r := call(s, &pb.InternalRaftRequest{Alarm: alarm}); r.Err != nil {
					t.Fatal(r.Err)
				}
				if alarms := s.Alarms(); len(alarms) != want {
					t.Fatalf("round %d: alarms %v after %v", i, alarms, action)
				}
			}
		}
	})
}

func TestTooLarge(t *testing.T) {
	eachStore(t, raftstore.Config{RequestTimeout: time.Minute}, func(t *testing.T, s leaseStore, _ *handClock) {
		mustPut(t, s, "k", string(make([]byte, 3<<19-100)))
		if r := call(s, putReq("k", string(make([]byte, 3<<19)))); !errors.Is(r.Err, rpctypes.ErrGRPCRequestTooLarge) {
			t.Errorf("1.5 MiB and a key: %v", r.Err)
		}
	})
}

// Alarms are part of what a member brings along, from its disk or from another.
func TestAlarmsSurviveReopening(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		dir := t.TempDir()
		s, err := raftstore.Open(raftstore.Config{Dir: dir, NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		raise := &pb.InternalRaftRequest{Alarm: &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: 7, Alarm: pb.AlarmType_CORRUPT}}
		if r := call(s, raise); r.Err != nil {
			t.Fatal(r.Err)
		}
		for _, id := range s.IDs() {
			steady.Until(t, "a snapshot", func() bool { return s.Snapshot(id) == nil })
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		again := open(t, raftstore.Config{Dir: dir, NoSync: true})
		if r := call(again, putReq("k", "v")); !errors.Is(r.Err, rpctypes.ErrGRPCCorrupt) {
			t.Errorf("a put while a member is known to be corrupt: %v", r.Err)
		}
		if r := call(again, getReq("k")); r.Err != nil {
			t.Errorf("a range meanwhile: %v", r.Err)
		}
		if a := again.Alarms(); len(a) != 1 || a[0].MemberID != 7 {
			t.Errorf("alarms %v", a)
		}
	})
}

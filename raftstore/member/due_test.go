package member

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore/steady"
)

// A snapshot is taken as soon as it is due, not when raft happens to look: a member that
// starts again applies what came after it only, and says so.
func TestASnapshotComesWhenItIsDue(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		m := solo(t, nil)
		m.cfg.SnapshotEvery = 100
		must(t, m.Start(true, ""))
		steady.Until(t, "it leads", func() bool { return m.Leader() != nil })
		for i := range 350 {
			data, err := proto.Marshal(&pb.InternalRaftRequest{Put: &pb.PutRequest{Key: fmt.Append(nil, "k", i%7), Value: binary.BigEndian.AppendUint64(nil, uint64(i))}})
			must(t, err)
			l := m.Leader()
			if l == nil || !l.Propose(data, Ticket{Number: uint64(i + 1), Epoch: 1 << 16, Seq: uint64(i)}) {
				t.Fatalf("entry %d was not taken", i)
			}
			if i%100 == 99 {
				steady.Until(t, "it is applied", func() bool { return m.Status().Applied >= uint64(i) })
			}
		}
		steady.Until(t, "a snapshot is there", func() bool { return m.running.Load().snapshots.last() >= 200 })
		must(t, m.Stop("to be opened again"))
		must(t, m.Start(false, ""))
		if got := m.running.Load().recovered; !strings.HasPrefix(got, "a snapshot up to entry ") {
			t.Errorf("recovered %q", got)
		}
	})
}

// A store that only grows has its snapshots too, however much room its pages leave: what
// a restart applies again is no more than half of what was ever written.
func TestAStoreThatGrowsIsSnapshotted(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		m := solo(t, nil)
		m.cfg.SnapshotEvery = 100
		must(t, m.Start(true, ""))
		steady.Until(t, "it leads", func() bool { return m.Leader() != nil })
		const entries = 1200
		for i := range entries {
			data, err := proto.Marshal(&pb.InternalRaftRequest{Put: &pb.PutRequest{Key: fmt.Append(nil, "k", i), Value: make([]byte, 1200)}})
			must(t, err)
			l := m.Leader()
			if l == nil || !l.Propose(data, Ticket{Number: uint64(i + 1), Epoch: 1 << 16, Seq: uint64(i)}) {
				t.Fatalf("entry %d was not taken", i)
			}
			if i%100 == 99 {
				steady.Until(t, "it is applied", func() bool { return m.Status().Applied >= uint64(i) })
				steady.Until(t, "no snapshot is being taken", func() bool { return !m.running.Load().snapshotting.Load() })
			}
		}
		if last := m.running.Load().snapshots.last(); last < entries/2 {
			t.Errorf("the last snapshot covers %d of %d entries", last, entries)
		}
	})
}

package member

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"testing"

	"github.com/hashicorp/raft"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"
)

// FuzzSessionHeader: what begins a snapshot is read as what was written, or refused.
func FuzzSessionHeader(f *testing.F) {
	var seed bytes.Buffer
	if err := (&session{epoch: 7 << 16, next: 12, last: 1 << 33}).writeTo(&seed); err != nil {
		f.Fatal(err)
	}
	f.Add(seed.Bytes())
	f.Add(append(seed.Bytes(), "and what follows"...))
	f.Add(seed.Bytes()[:seed.Len()-1])
	f.Fuzz(func(t *testing.T, b []byte) {
		in := bytes.NewReader(b)
		was := session{epoch: 1, next: 2, last: 3}
		s := was
		if err := s.readFrom(in); err != nil {
			if s != was {
				t.Fatalf("refused (%v), and yet the session is %+v", err, s)
			}
			return
		}
		var again bytes.Buffer
		if err := s.writeTo(&again); err != nil {
			t.Fatal(err)
		}
		if n := len(b) - in.Len(); n != again.Len() || !bytes.Equal(b[:n], again.Bytes()) {
			t.Fatalf("%x is read as %+v, which is written as %x", b, s, again.Bytes())
		}
	})
}

// FuzzTicket: an entry's extensions are a ticket that is written the same, or refused.
func FuzzTicket(f *testing.F) {
	f.Add(Ticket{Number: 1<<40 + 3, Epoch: 9 << 16, Seq: 77}.Bytes())
	f.Add([]byte{})
	f.Add(make([]byte, ticketBytes+1))
	f.Fuzz(func(t *testing.T, b []byte) {
		ticket, err := ticketOf(&raft.Log{Extensions: b})
		if (err == nil) != (len(b) == ticketBytes) || err == nil && !bytes.Equal(ticket.Bytes(), b) {
			t.Fatalf("%x is read as %+v, %v", b, ticket, err)
		}
	})
}

// FuzzRequest: any bytes in the log are a request, the same one for all members,
// or are refused; an entry of another term is not taken for it.
func FuzzRequest(f *testing.F) {
	for _, r := range []*pb.InternalRaftRequest{
		{Put: &pb.PutRequest{Key: []byte("k"), Value: []byte("v")}},
		{Txn: &pb.TxnRequest{Compare: []*pb.Compare{{Key: []byte("k")}}}},
	} {
		b, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, []byte{})
		f.Add(b, b)
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var shared Requests
		one, err := shared.of(&raft.Log{Index: 5, Term: 1, Data: first})
		if err != nil {
			return
		}
		if again, err := shared.of(&raft.Log{Index: 5, Term: 1, Data: first}); err != nil || again != one {
			t.Fatalf("decoded twice: %v, %v", again, err)
		}
		for _, l := range []*raft.Log{{Index: 5, Term: 2, Data: second}, {Index: 5 + uint64(len(shared.ring)), Term: 2, Data: second}} {
			other, err := shared.of(l)
			var want pb.InternalRaftRequest
			if (err == nil) != (proto.Unmarshal(second, &want) == nil) || err == nil && !proto.Equal(other, &want) {
				t.Fatalf("entry %d of term %d with %x is read as %v, %v", l.Index, l.Term, second, other, err)
			}
		}
	})
}

// FuzzRestore: a snapshot is restored to what is written the same again, or is
// refused and leaves the machine as it was. sum says to put the right checksum
// after the contents, so that what lies behind the check is reached.
func FuzzRestore(f *testing.F) {
	full := written(f, filled(f))
	head := len(snapshotMagic) + ticketBytes
	f.Add(full, false)
	f.Add(full[:len(full)-4], true)
	f.Add(full[:head], true)
	f.Add(full[:len(full)-9], true)
	f.Add(written(f, newMachine(&incarnation{})), false)
	f.Fuzz(func(t *testing.T, b []byte, sum bool) {
		if kv := bytes.Index(b, []byte("kviz.mvcc")); sum && kv >= 0 {
			b = binary.LittleEndian.AppendUint32(bytes.Clone(b), crc32.Checksum(b[kv:], crc32.MakeTable(crc32.Castagnoli)))
		}
		mc := filled(t)
		before := written(t, mc)
		if err := mc.Restore(io.NopCloser(bytes.NewReader(b))); err != nil {
			if after := written(t, mc); !bytes.Equal(before, after) {
				t.Fatalf("refused (%v), and yet the state changed", err)
			}
			return
		}
		once := written(t, mc)
		again := newMachine(&incarnation{})
		if err := again.Restore(io.NopCloser(bytes.NewReader(once))); err != nil || !bytes.Equal(written(t, again), once) {
			t.Fatalf("what was restored does not survive a snapshot: %v", err)
		}
		// It must be fit for use.
		mc.state.Apply(mc.state.KV.AppliedIndex()+1, &pb.InternalRaftRequest{DeleteRange: &pb.DeleteRangeRequest{Key: []byte{0}, RangeEnd: []byte{0}}})
	})
}

// filled is a machine that holds keys, a tombstone and a lease.
func filled(t testing.TB) *machine {
	t.Helper()
	mc := newMachine(&incarnation{})
	mc.session = session{epoch: 3 << 16, next: 4, last: 5}
	for i, r := range []*pb.InternalRaftRequest{
		{LeaseGrant: &pb.LeaseGrantRequest{ID: 7, TTL: 60}},
		{Put: &pb.PutRequest{Key: []byte("a"), Value: []byte("1"), Lease: 7}},
		{Put: &pb.PutRequest{Key: []byte("b"), Value: []byte("2")}},
		{DeleteRange: &pb.DeleteRangeRequest{Key: []byte("b")}},
		{Put: &pb.PutRequest{Key: []byte("a"), Value: []byte("3")}},
		{Compaction: &pb.CompactionRequest{Revision: 3}},
	} {
		if r := mc.state.Apply(uint64(i+2), r); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	return mc
}

// written is the machine's snapshot file.
func written(t testing.TB, mc *machine) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := mc.session.writeTo(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := mc.state.Snapshot().WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

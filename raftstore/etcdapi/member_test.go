package etcdapi_test

import (
	"context"
	"slices"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"kviz/raftstore"
	"kviz/raftstore/etcdapi"
	"kviz/raftstore/steady"
)

// follower is a member that does not lead, and its place.
func follower(t *testing.T, s *raftstore.Replicated) (int, string) {
	t.Helper()
	leader := ""
	steady.Until(t, "a leader", func() bool { leader = s.Leader(); return leader != "" })
	ids := s.IDs()
	i := slices.IndexFunc(ids, func(id string) bool { return id != leader })
	return i, ids[i]
}

// A member that is cut off is asked what a member of etcd would be asked.
func TestAMemberThatIsCutOff(t *testing.T) { steady.Bubble(t, testAMemberThatIsCutOff) }

func testAMemberThatIsCutOff(t *testing.T) {
	s := replicated(t)
	b := newBench(t, s)
	b.put("a", "1")
	i, id := follower(t, s)
	kv := pb.NewKVClient(b.conns[i])
	watch := b.watchAt(i)
	watch.create(&pb.WatchCreateRequest{Key: []byte("a")})
	if _, err := kv.Put(b.ctx, &pb.PutRequest{Key: []byte("a"), Value: []byte("2")}); err != nil {
		t.Fatal(err)
	}
	watch.expect("0: 3 PUT a=2")
	if r, err := kv.Range(b.ctx, &pb.RangeRequest{Key: []byte("a"), Serializable: true}); err != nil || string(r.Kvs[0].Value) != "2" {
		t.Errorf("what was written through the member is not read at it: %v %v", r, err)
	}
	steady.Until(t, "the member has applied the write", func() bool { return s.RevisionAt(id) == 3 })
	if err := s.Isolate(id); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(b.ctx, 300*time.Millisecond)
	defer cancel()
	// What becomes of a write that was given up is open: it has a key of its own.
	if _, err := kv.Put(short, &pb.PutRequest{Key: []byte("given up")}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("put at a member that is cut off: %v", err)
	}
	if _, err := kv.Range(short, &pb.RangeRequest{Key: []byte("a")}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("linearizable get: %v", err)
	}
	leader := slices.Index(s.IDs(), s.Leader())
	if _, err := pb.NewKVClient(b.conns[leader]).Put(b.ctx, &pb.PutRequest{Key: []byte("a"), Value: []byte("3")}); err != nil {
		t.Fatal(err)
	}
	r, err := kv.Range(b.ctx, &pb.RangeRequest{Key: []byte("a"), Serializable: true})
	if err != nil || string(r.Kvs[0].Value) != "2" || r.Header.Revision != 3 {
		t.Errorf("serializable get: %v %v, want what the member had when it was cut off", r, err)
	}
	if r, err := kv.Txn(b.ctx, &pb.TxnRequest{Success: []*pb.RequestOp{get("a", true)}}); err != nil || string(r.Responses[0].GetResponseRange().Kvs[0].Value) != "2" {
		t.Errorf("serializable txn: %v %v", r, err)
	}
	// What the group wrote meanwhile comes when the member is back, and not before.
	s.Heal()
	watch.expect("0: 4 PUT a=3")
	if r, err := kv.Range(b.ctx, &pb.RangeRequest{Key: []byte("a")}); err != nil || string(r.Kvs[0].Value) != "3" {
		t.Errorf("after healing: %v %v", r, err)
	}
}

func get(key string, serializable bool) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: []byte(key), Serializable: serializable}}}
}

// A stream that insists on a leader ends when it is lost; others go on.
func TestStreamsThatInsistOnALeader(t *testing.T) { steady.Bubble(t, testStreamsThatInsistOnALeader) }

func testStreamsThatInsistOnALeader(t *testing.T) {
	s := replicated(t)
	b := newBench(t, s)
	b.put("a", "1")
	i, id := follower(t, s)
	insist := metadata.AppendToOutgoingContext(b.ctx, "hasleader", "true")
	stream, err := pb.NewWatchClient(b.conns[i]).Watch(insist)
	if err != nil {
		t.Fatal(err)
	}
	strict := &watch{t: b.t, stream: stream}
	strict.create(&pb.WatchCreateRequest{Key: []byte("a")})
	patient := b.watchAt(i)
	patient.create(&pb.WatchCreateRequest{Key: []byte("a")})
	keep, err := pb.NewLeaseClient(b.conns[i]).LeaseKeepAlive(insist)
	if err != nil {
		t.Fatal(err)
	}
	if err := keep.Send(&pb.LeaseKeepAliveRequest{ID: 5}); err != nil {
		t.Fatal(err)
	}
	if r, err := keep.Recv(); err != nil || r.TTL != 0 || r.ID != 5 {
		t.Fatalf("keep alive of nothing: %v %v", r, err)
	}
	if err := s.Isolate(id); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Convert(err).Message() != "etcdserver: no leader" {
		t.Errorf("the watch ended with %v", err)
	}
	if _, err := keep.Recv(); status.Convert(err).Message() != "etcdserver: no leader" {
		t.Errorf("the keep alive ended with %v", err)
	}
	if _, err := pb.NewKVClient(b.conns[i]).Range(insist, &pb.RangeRequest{Key: []byte("a"), Serializable: true}); status.Convert(err).Message() != "etcdserver: no leader" {
		t.Errorf("get: %v", err)
	}
	s.Heal()
	b.put("a", "2")
	patient.expect("0: 3 PUT a=2")
}

// Addresses come with members and go with them.
func TestAddressesFollowTheMembers(t *testing.T) { steady.Bubble(t, testAddressesFollowTheMembers) }

func testAddressesFollowTheMembers(t *testing.T) {
	s := replicated(t)
	b := newBench(t, s)
	b.put("a", "1")
	cluster := pb.NewClusterClient(b.conns[0])
	added, err := cluster.MemberAdd(b.ctx, &pb.MemberAddRequest{PeerURLs: []string{"http://127.0.0.1:12380"}, IsLearner: true})
	if err != nil {
		t.Fatal(err)
	}
	if added.Member.Name != "" || !added.Member.IsLearner || len(added.Members) != 4 {
		t.Errorf("added %v", added)
	}
	for urls, want := range map[string]string{"http://127.0.0.1:12380": "etcdserver: Peer URLs already exists", "127.0.0.1": "etcdserver: given member URLs are invalid"} {
		_, err := cluster.MemberAdd(b.ctx, &pb.MemberAddRequest{PeerURLs: []string{urls}})
		if got := status.Convert(err).Message(); got != want {
			t.Errorf("add of %s: %s, want %s", urls, got, want)
		}
	}
	addr := b.server.Addresses()[3]
	if addr.ID != added.Member.ID || !addr.Learner || !addr.Open {
		t.Fatalf("the learner's address: %+v", addr)
	}
	learner := b.dial(addr.Addr)
	kv := pb.NewKVClient(learner)
	notYet := "etcdserver: rpc not supported for learner"
	if _, err := kv.Put(b.ctx, &pb.PutRequest{Key: []byte("a")}); status.Convert(err).Message() != notYet {
		t.Errorf("put at a learner: %v", err)
	}
	if _, err := kv.Range(b.ctx, &pb.RangeRequest{Key: []byte("a")}); status.Convert(err).Message() != notYet {
		t.Errorf("linearizable get at a learner: %v", err)
	}
	if st, err := pb.NewMaintenanceClient(learner).Status(b.ctx, &pb.StatusRequest{}); err != nil || !st.IsLearner {
		t.Errorf("status of a learner: %v %v", st, err)
	}
	steady.Until(t, "the learner has the key", func() bool {
		r, err := kv.Range(b.ctx, &pb.RangeRequest{Key: []byte("a"), Serializable: true})
		return err == nil && len(r.Kvs) == 1
	})
	steady.Until(t, "the learner is promoted", func() bool {
		_, err := cluster.MemberPromote(b.ctx, &pb.MemberPromoteRequest{ID: added.Member.ID})
		if got := status.Convert(err).Message(); err != nil && got != "etcdserver: can only promote a learner member which is in sync with leader" {
			t.Fatalf("promote: %v", err)
		}
		return err == nil
	})
	if _, err := cluster.MemberPromote(b.ctx, &pb.MemberPromoteRequest{ID: added.Member.ID}); status.Convert(err).Message() != "etcdserver: can only promote a learner member" {
		t.Errorf("promote a voter: %v", err)
	}
	if _, err := kv.Put(b.ctx, &pb.PutRequest{Key: []byte("a"), Value: []byte("2")}); err != nil {
		t.Errorf("put at a voter: %v", err)
	}
	// It moves while it leads: hashicorp/raft reads a follower's address in one place
	// without its lock (replication.go updateLastAppended).
	if err := s.TransferLeadership("d"); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.MemberUpdate(b.ctx, &pb.MemberUpdateRequest{ID: added.Member.ID, PeerURLs: []string{"http://127.0.0.1:22380"}}); err != nil {
		t.Error(err)
	}
	if err := s.TransferLeadership("a"); err != nil {
		t.Fatal(err)
	}
	removed, err := cluster.MemberRemove(b.ctx, &pb.MemberRemoveRequest{ID: added.Member.ID})
	if err != nil || len(removed.Members) != 3 {
		t.Fatalf("remove: %v %v", removed, err)
	}
	steady.Until(t, "three addresses", func() bool { return len(b.server.Addresses()) == 3 })
	if _, err := cluster.MemberRemove(b.ctx, &pb.MemberRemoveRequest{ID: added.Member.ID}); status.Convert(err).Message() != "etcdserver: member not found" {
		t.Errorf("remove again: %v", err)
	}
}

// The address of a member that comes back is the one it had.
func TestAMemberComesBackToItsAddress(t *testing.T) {
	t.Run("in memory", func(t *testing.T) {
		steady.Bubble(t, func(t *testing.T) { testAMemberComesBackToItsAddress(t, newNetwork()) })
	})
	t.Run("on the machine", func(t *testing.T) {
		steady.RealTime(t, "a port of the machine is opened again")
		testAMemberComesBackToItsAddress(t, machine)
	})
}

func testAMemberComesBackToItsAddress(t *testing.T, net *network) {
	s := replicated(t)
	b := serveOn(t, net, s, etcdapi.Config{})
	b.put("a", "1")
	i, id := follower(t, s)
	told := make(chan struct{}, 100)
	b.server.OnAddresses(func() { told <- struct{}{} })
	changed := func() {
		t.Helper()
		select {
		case <-told:
		case <-b.ctx.Done():
			t.Fatal("no address came or went")
		}
	}
	if err := s.Crash(id); err != nil {
		t.Fatal(err)
	}
	changed()
	if a := b.server.Addresses()[i]; a.Open || a.Addr != b.server.Endpoints[i] {
		t.Errorf("the address of a member that is down: %+v", a)
	}
	if err := s.Restart(id); err != nil {
		t.Fatal(err)
	}
	changed()
	if a := b.server.Addresses()[i]; !a.Open || a.Addr != b.server.Endpoints[i] {
		t.Errorf("the address of a member that is back: %+v", a)
	}
	steady.Until(t, "a put at the member that is back", func() bool {
		_, err := pb.NewKVClient(b.conns[i]).Put(b.ctx, &pb.PutRequest{Key: []byte("a"), Value: []byte("2")})
		if err != nil && status.Code(err) != codes.Unavailable {
			t.Fatal(err)
		}
		return err == nil
	})
}

// A member that does not lead tells that it passes a write on, also where somebody else
// than the store carries it there, as the console's kernel does.
func TestAFollowerTellsThatItPassesAWriteOn(t *testing.T) {
	steady.Bubble(t, testAFollowerTellsThatItPassesAWriteOn)
}

func testAFollowerTellsThatItPassesAWriteOn(t *testing.T) {
	var s *raftstore.Replicated
	told := make(chan string, 1)
	s, err := raftstore.Open(raftstore.Config{NoSync: true, Events: func(e raftstore.Event) {
		if e.Kind == "raft.forward" {
			select {
			case told <- e.Message.From + " " + e.Message.RPC:
			default:
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	b := serve(t, s, etcdapi.Config{Do: func(_ context.Context, _ string, req *pb.InternalRaftRequest) *raftstore.Result {
		result := make(chan *raftstore.Result, 1)
		s.Do(req, func(r *raftstore.Result) { result <- r })
		return <-result
	}})
	i, id := follower(t, s)
	if _, err := pb.NewKVClient(b.conns[i]).Put(b.ctx, &pb.PutRequest{Key: []byte("a"), Value: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-told:
		if got != id+" MsgProp" {
			t.Errorf("told of %q", got)
		}
	case <-b.ctx.Done():
		t.Error("nobody was told")
	}
}

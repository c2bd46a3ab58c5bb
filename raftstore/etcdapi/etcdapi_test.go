package etcdapi_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"kviz/raftstore"
	"kviz/raftstore/etcdapi"
	"kviz/raftstore/steady"
)

// on runs a test over both stores.
func on(t *testing.T, test func(t *testing.T, b *bench)) {
	both(t, raftstore.Config{NoSync: true}, test)
}

func both(t *testing.T, cfg raftstore.Config, test func(t *testing.T, b *bench)) {
	t.Run("bare", func(t *testing.T) {
		steady.Bubble(t, func(t *testing.T) { test(t, newBench(t, raftstore.OpenBareWith(cfg))) })
	})
	t.Run("replicated", func(t *testing.T) {
		steady.Bubble(t, func(t *testing.T) {
			s, err := raftstore.Open(cfg)
			if err != nil {
				t.Fatal(err)
			}
			test(t, newBench(t, s))
		})
	})
}

func replicated(t *testing.T) *raftstore.Replicated {
	t.Helper()
	s, err := raftstore.Open(raftstore.Config{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bench is a store, its API, and a connection to each address.
type bench struct {
	t      *testing.T
	ctx    context.Context
	store  raftstore.Store
	server *etcdapi.Server
	conns  []*grpc.ClientConn
	net    *network
}

func newBench(t *testing.T, store raftstore.Store) *bench { return serve(t, store, etcdapi.Config{}) }

func serve(t *testing.T, store raftstore.Store, cfg etcdapi.Config) *bench {
	t.Helper()
	return serveOn(t, newNetwork(), store, cfg)
}

func serveOn(t *testing.T, net *network, store raftstore.Store, cfg etcdapi.Config) *bench {
	t.Helper()
	cfg.On(net.listen)
	server, err := etcdapi.Serve(store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), steady.Patience(t))
	b := &bench{t: t, ctx: ctx, store: store, server: server, net: net}
	for _, addr := range server.Endpoints {
		b.dial(addr)
	}
	t.Cleanup(func() {
		for _, c := range b.conns {
			c.Close()
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		cancel()
	})
	return b
}

// dial opens one more connection.
func (b *bench) dial(addr string) *grpc.ClientConn {
	b.t.Helper()
	conn, err := b.net.connect(addr)
	if err != nil {
		b.t.Fatal(err)
	}
	b.conns = append(b.conns, conn)
	return conn
}

func (b *bench) kv() pb.KVClient { return pb.NewKVClient(b.conns[0]) }

func (b *bench) put(key, value string) int64 {
	b.t.Helper()
	r, err := b.kv().Put(b.ctx, &pb.PutRequest{Key: []byte(key), Value: []byte(value)})
	if err != nil {
		b.t.Fatalf("put %s: %v", key, err)
	}
	return r.Header.Revision
}

func (b *bench) delete(key string) {
	b.t.Helper()
	if _, err := b.kv().DeleteRange(b.ctx, &pb.DeleteRangeRequest{Key: []byte(key)}); err != nil {
		b.t.Fatalf("delete %s: %v", key, err)
	}
}

func (b *bench) compact(rev int64) {
	b.t.Helper()
	if _, err := b.kv().Compact(b.ctx, &pb.CompactionRequest{Revision: rev}); err != nil {
		b.t.Fatalf("compact %d: %v", rev, err)
	}
}

// watch opens a stream.
func (b *bench) watch() *watch { return b.watchAt(0) }

func (b *bench) watchAt(i int) *watch { return b.watchWith(i) }

// watchLarge takes answers of any size.
func (b *bench) watchLarge() *watch { return b.watchWith(0, grpc.MaxCallRecvMsgSize(1<<30)) }

func (b *bench) watchWith(i int, opts ...grpc.CallOption) *watch {
	b.t.Helper()
	s, err := pb.NewWatchClient(b.conns[i]).Watch(b.ctx, opts...)
	if err != nil {
		b.t.Fatal(err)
	}
	return &watch{t: b.t, stream: s}
}

type watch struct {
	t      *testing.T
	stream pb.Watch_WatchClient
}

func (w *watch) create(r *pb.WatchCreateRequest) *pb.WatchResponse {
	w.t.Helper()
	w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: r}})
	resp := w.recv()
	if !resp.Created {
		w.t.Fatalf("the first answer is %v, not created", resp)
	}
	return resp
}

func (w *watch) cancel(id int64) {
	w.t.Helper()
	w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CancelRequest{CancelRequest: &pb.WatchCancelRequest{WatchId: id}}})
}

func (w *watch) send(r *pb.WatchRequest) {
	w.t.Helper()
	if err := w.stream.Send(r); err != nil {
		w.t.Fatal(err)
	}
}

func (w *watch) recv() *pb.WatchResponse {
	w.t.Helper()
	r, err := w.stream.Recv()
	if err != nil {
		w.t.Fatalf("watch: %v", err)
	}
	return r
}

// events reads until there are n, and tells them as text.
func (w *watch) events(n int) []string {
	w.t.Helper()
	var list []string
	for len(list) < n {
		r := w.recv()
		if len(r.Events) == 0 {
			w.t.Fatalf("after %q: %v", list, r)
		}
		for _, e := range r.Events {
			if e.Kv.ModRevision > r.Header.Revision {
				w.t.Errorf("header revision %d before the event's %d", r.Header.Revision, e.Kv.ModRevision)
			}
			list = append(list, fmt.Sprintf("%d: %s", r.WatchId, describe(e)))
		}
	}
	return list
}

func describe(e *mvccpb.Event) string {
	s := fmt.Sprintf("%d %v %s", e.Kv.ModRevision, e.Type, e.Kv.Key)
	if e.Type == mvccpb.Event_PUT {
		s += "=" + string(e.Kv.Value)
	}
	if e.PrevKv != nil {
		s += " (was " + string(e.PrevKv.Value) + ")"
	}
	return s
}

func (w *watch) expect(want ...string) {
	w.t.Helper()
	if got := w.events(len(want)); !slices.Equal(got, want) {
		w.t.Errorf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestServeTakesNothingAndLeavesNothing(t *testing.T) {
	steady.RealTime(t, "its port is the machine's")
	before := runtime.NumGoroutine()
	store := raftstore.OpenBare()
	server, err := etcdapi.Serve(store, etcdapi.Config{})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(server.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := pb.NewWatchClient(conn).Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := &watch{t: t, stream: stream}
	w.create(&pb.WatchCreateRequest{Key: []byte("a")})
	keep, err := pb.NewLeaseClient(conn).LeaseKeepAlive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := keep.Send(&pb.LeaseKeepAliveRequest{ID: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := keep.Recv(); err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("the watch ended with %v", err)
	}
	conn.Close()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	// Goroutines of the client end on their own.
	steady.Await(t, fmt.Sprintf("as few goroutines as before, %d", before), func() error {
		if runtime.NumGoroutine() <= before {
			return nil
		}
		buf := make([]byte, 1<<16)
		return fmt.Errorf("there are\n%s", buf[:runtime.Stack(buf, true)])
	})
	if _, err := etcdapi.Serve(store, etcdapi.Config{Port: 70000}); err == nil {
		t.Error("port 70000 was listened on")
	}
}

func TestClusterAndMaintenance(t *testing.T) { steady.Bubble(t, testClusterAndMaintenance) }

func testClusterAndMaintenance(t *testing.T) {
	b := newBench(t, replicated(t))
	b.put("a", "1")
	b.put("a", "2")
	list, err := pb.NewClusterClient(b.conns[1]).MemberList(b.ctx, &pb.MemberListRequest{Linearizable: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range list.Members {
		if m.Name != string(rune('a'+i)) || !slices.Equal(m.ClientURLs, []string{"http://" + b.server.Endpoints[i]}) {
			t.Errorf("member %d: %v", i, m)
		}
	}
	var leader uint64
	hashes := map[uint32]int{}
	for i, conn := range b.conns {
		// A serializable read says when the member has come as far as the writes.
		steady.Until(t, "the member has applied the writes", func() bool {
			r, err := pb.NewKVClient(conn).Range(b.ctx, &pb.RangeRequest{Key: []byte("a"), Serializable: true})
			if err != nil {
				t.Fatal(err)
			}
			if r.Header.Revision == 3 && (string(r.Kvs[0].Value) != "2" || r.Header.MemberId != list.Members[i].ID) {
				t.Errorf("read at member %d: %v", i, r)
			}
			return r.Header.Revision == 3
		})
		m := pb.NewMaintenanceClient(conn)
		s, err := m.Status(b.ctx, &pb.StatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Version != etcdapi.Version || s.DbSize < 50 || s.Header.Revision != 3 || s.RaftTerm == 0 || s.Header.MemberId != list.Members[i].ID {
			t.Errorf("status %v", s)
		}
		leader = s.Leader
		h, err := m.HashKV(b.ctx, &pb.HashKVRequest{})
		if err != nil || h.HashRevision != 3 {
			t.Fatalf("hash %v %v", h, err)
		}
		hashes[h.Hash]++
		if a, err := m.Alarm(b.ctx, &pb.AlarmRequest{}); err != nil || len(a.Alarms) > 0 {
			t.Errorf("alarms %v %v", a, err)
		}
	}
	if len(hashes) != 1 {
		t.Errorf("the members' hashes differ: %v", hashes)
	}
	for i, m := range list.Members {
		_, err := pb.NewMaintenanceClient(b.conns[i]).MoveLeader(b.ctx, &pb.MoveLeaderRequest{TargetID: 1})
		want := "etcdserver: not leader"
		if m.ID == leader {
			want = "etcdserver: bad leader transferee"
		}
		if got := status.Convert(err).Message(); got != want {
			t.Errorf("move leader at %s: %s", m.Name, got)
		}
	}
}

func TestAMemberThatIsDownDoesNotAnswer(t *testing.T) {
	steady.Bubble(t, testAMemberThatIsDownDoesNotAnswer)
}

func testAMemberThatIsDownDoesNotAnswer(t *testing.T) {
	s := replicated(t)
	b := newBench(t, s)
	b.put("a", "1")
	follower := slices.IndexFunc(s.IDs(), func(id string) bool { return id != s.Leader() })
	ids := s.IDs()
	if err := s.Crash(ids[follower]); err != nil {
		t.Fatal(err)
	}
	for i, conn := range b.conns {
		_, err := pb.NewKVClient(conn).Put(b.ctx, &pb.PutRequest{Key: []byte("a")})
		if want := i == follower; (status.Code(err) == codes.Unavailable) != want {
			t.Errorf("put at %s while %s is down: %v", ids[i], ids[follower], err)
		}
	}
	for _, id := range ids {
		if id != ids[follower] && id != s.Leader() {
			if err := s.Crash(id); err != nil {
				t.Fatal(err)
			}
		}
	}
	leader := -1
	for i, id := range ids {
		if _, up := s.TermAt(id); up {
			leader = i
		}
	}
	// Alone, it steps down; who insists on a leader gets an error at once.
	ctx := metadata.AppendToOutgoingContext(b.ctx, "hasleader", "true")
	steady.Until(t, "it answers no more", func() bool {
		_, err := pb.NewKVClient(b.conns[leader]).Range(ctx, &pb.RangeRequest{Key: []byte("a"), Serializable: true})
		if got := status.Convert(err).Message(); err != nil && got != "etcdserver: no leader" {
			t.Errorf("without a leader: %s", got)
		}
		return err != nil
	})
	if r, err := pb.NewKVClient(b.conns[leader]).Range(b.ctx, &pb.RangeRequest{Key: []byte("a"), Serializable: true}); err != nil || r.Count != 1 {
		t.Errorf("a serializable read without a leader: %v %v", r, err)
	}
}

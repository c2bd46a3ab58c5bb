package wire

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// stream is one watch stream. What comes is read one event or one control
// message at a time: how events are put into answers is a matter of timing.
type stream struct {
	s      *side
	name   string
	watch  pb.Watch_WatchClient
	cancel context.CancelFunc
	rest   []string
}

func (s *side) watch(name string, pairs ...string) *stream {
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(s.who(), pairs...))
	w, err := pb.NewWatchClient(s.conn()).Watch(ctx)
	if err != nil {
		s.say("watch stream "+name, s.ended(nil, err))
	}
	return &stream{s: s, name: name, watch: w, cancel: cancel}
}

func (w *stream) send(r *pb.WatchRequest) string {
	call := w.name + ": " + w.s.text(r)
	if err := w.watch.Send(r); err != nil {
		call += " (" + err.Error() + ")"
	}
	return call
}

// create asks for a watcher; n things are to come.
func (w *stream) create(n int, r *pb.WatchCreateRequest) {
	w.read(w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: r}}), n)
}

func (w *stream) drop(n int, id int64) {
	w.read(w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CancelRequest{CancelRequest: &pb.WatchCancelRequest{WatchId: id}}}), n)
}

func (w *stream) progress(n int) {
	w.read(w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_ProgressRequest{ProgressRequest: &pb.WatchProgressRequest{}}}), n)
}

// noProgress asks for progress where there is none to tell, and waits until the server has
// decided so: it answers the requests of a stream one after another, here the last one, which
// it refuses. Without that, a put on the same connection could come before the
// request for progress: then the watcher has begun, and both servers rightly answer.
func (w *stream) noProgress() {
	w.progress(0)
	w.create(1, watching("b", "a"))
}

// read writes down the next n things.
func (w *stream) read(call string, n int) {
	for i := range n {
		w.s.say(fmt.Sprintf("%s → %d", call, i), w.next())
	}
}

// readAny writes down the next n things in the order of their texts: several watchers
// of a key get an event in any order (etcd iterates over a map).
func (w *stream) readAny(call string, n int) {
	var all []string
	for range n {
		all = append(all, w.next())
	}
	slices.Sort(all)
	for i, one := range all {
		w.s.say(fmt.Sprintf("%s → %d", call, i), one)
	}
}

func (w *stream) next() string {
	late := time.AfterFunc(w.s.patience, w.cancel)
	defer late.Stop()
	for len(w.rest) == 0 {
		r, err := w.watch.Recv()
		if err != nil {
			return w.s.ended(nil, err)
		}
		if len(r.Events) == 0 {
			return w.s.text(r)
		}
		for _, e := range r.Events {
			one := &pb.WatchResponse{WatchId: r.WatchId, CompactRevision: r.CompactRevision, Canceled: r.Canceled}
			w.rest = append(w.rest, w.s.text(one)+" "+w.s.text(e))
		}
	}
	first := w.rest[0]
	w.rest = w.rest[1:]
	return first
}

func watching(key, end string, change ...func(r *pb.WatchCreateRequest)) *pb.WatchCreateRequest {
	r := &pb.WatchCreateRequest{Key: b(key), RangeEnd: b(end)}
	for _, c := range change {
		c(r)
	}
	return r
}

func from(rev int64) func(*pb.WatchCreateRequest) {
	return func(r *pb.WatchCreateRequest) { r.StartRevision = rev }
}

func called(id int64) func(*pb.WatchCreateRequest) {
	return func(r *pb.WatchCreateRequest) { r.WatchId = id }
}

func withPrev(r *pb.WatchCreateRequest) { r.PrevKv = true }

// watches is the Watch service.
func watches(s *side) {
	w := s.watch("a")
	defer w.cancel()
	w.create(1, watching("w", ""))
	ask(s, s.kv().Put, put("w", "1")) // 2
	w.read("the event", 1)
	w.create(1, watching("w", "", called(7), withPrev))
	w.create(1, watching("w", "", called(7)))
	w.create(1, watching("w", "", called(-5)))
	w.create(1, watching("b", "a"))
	w.create(1, watching("a", "a"))
	w.create(1, watching("w", "", from(-1)))
	w.drop(1, -5)
	w.drop(1, 0)
	ask(s, s.kv().Put, put("w", "2")) // 3
	w.read("with what was", 1)
	ask(s, s.kv().DeleteRange, &pb.DeleteRangeRequest{Key: b("w")}) // 4
	w.read("a deletion", 1)
	ask(s, s.kv().Put, put("w", "3")) // 5
	w.read("made anew", 1)
	w.drop(0, 99) // nothing is said of a watcher that is not there
	w.drop(1, 7)
	w.create(4, watching("w", "", from(2), withPrev))
	w.drop(1, 1)
	w.create(3, watching("w", "", from(2), func(r *pb.WatchCreateRequest) {
		r.Filters = []pb.WatchCreateRequest_FilterType{pb.WatchCreateRequest_NODELETE}
	}))
	w.drop(1, 2)
	many(s)
	future(s)
	progress(s)
	overtaken(s)
	s.turnTo(1)
	f := s.watch("of a follower", "hasleader", "true")
	defer f.cancel()
	f.create(1, watching("f", "g"))
	ask(s, s.kv().Put, put("fa", "1"))
	f.read("the event", 1)
	s.turnTo(0)
}

// many is one transaction's events, and keys from one on.
func many(s *side) {
	w := s.watch("many")
	defer w.cancel()
	w.create(1, watching("m", "\x00"))
	w.create(1, watching("", "\x00"))
	w.create(1, watching("", ""))
	w.drop(1, 1)
	var ops []*pb.RequestOp
	for i := range 4 {
		ops = append(ops, opPut(fmt.Sprintf("m%d", i), "x"))
	}
	ask(s, s.kv().Txn, &pb.TxnRequest{Success: append(ops, opPut("a", ""))})
	w.read("events", 4)
}

// future is watchers that begin later.
func future(s *side) {
	w := s.watch("future")
	defer w.cancel()
	r := ask(s, s.kv().Put, put("x", "now"))
	now := r.GetHeader().GetRevision()
	w.create(1, watching("x", "", from(now+2)))
	w.create(1, watching("x", "", from(now+1)))
	ask(s, s.kv().Put, put("x", "1"))
	w.read("the second only", 1)
	w.drop(1, 1)
	ask(s, s.kv().Put, put("x", "2"))
	w.read("the first now", 1)
}

// progress is requests for progress: what comes of one shows before the next
// event, which comes the same way.
func progress(s *side) {
	w := s.watch("progress")
	defer w.cancel()
	w.noProgress() // without a watcher nobody answers
	now := ask(s, s.kv().Put, put("p", "now")).GetHeader().GetRevision()
	w.create(1, watching("p", "", from(now+1)))
	w.noProgress() // it has not come to where the watcher begins
	ask(s, s.kv().Put, put("p", "1"))
	w.read("the event", 1)
	w.progress(1)
	ask(s, s.kv().Put, put("other", "1"))
	w.progress(1)
	w.create(1, watching("p", ""))
	w.progress(1)
	w.create(1, watching("p", "", from(now+10)))
	w.noProgress() // one watcher holds all back
	ask(s, s.kv().Put, put("p", "2"))
	w.readAny("the event", 2)
	w.drop(1, 2)
	w.progress(1)
}

// overtaken is watchers from before a compaction.
func overtaken(s *side) {
	now := ask(s, s.kv().Put, put("c", "1")).GetHeader().GetRevision()
	ask(s, s.kv().Put, put("c", "2"))
	ask(s, s.kv().Compact, &pb.CompactionRequest{Revision: now, Physical: true})
	w := s.watch("overtaken")
	defer w.cancel()
	w.create(2, watching("c", "", from(now-1)))
	w.create(3, watching("c", "", from(now), withPrev))
	w.noProgress() // etcd keeps the one that was canceled until it is told to forget it
	ask(s, s.kv().Put, put("c", "3"))
	w.read("the event", 1)
	w.drop(1, 0)
	w.progress(1)
	w.create(2, watching("c", "", from(1), called(50)))
	w.create(1, watching("c", "", called(50)))
}

// leases is the Lease service.
func leases(s *side) {
	grant := func(id, ttl int64) { ask(s, s.lease().LeaseGrant, &pb.LeaseGrantRequest{ID: id, TTL: ttl}) }
	grant(100, 600)
	grant(100, 600)
	grant(101, 0)
	grant(101, -1)
	grant(102, 9_000_000_001)
	grant(103, 9_000_000_000)
	grant(-7, 60)
	grant(104, 1)
	if r, err := s.lease().LeaseGrant(s.who(), &pb.LeaseGrantRequest{TTL: 60}); err != nil || r.ID <= 0 {
		s.sayf("a lease with any ID", "%v %v", r, err)
	} else {
		s.sayf("a lease with any ID", "%d", r.TTL)
		_, err = s.lease().LeaseRevoke(s.who(), &pb.LeaseRevokeRequest{ID: r.ID})
		s.sayf("revoke it", "%v", err)
	}
	with := func(key string, lease int64) { ask(s, s.kv().Put, &pb.PutRequest{Key: b(key), Lease: lease}) }
	with("l1", 100)
	with("l2", 100)
	with("l3", 103)
	ask(s, s.kv().Put, &pb.PutRequest{Key: b("l3"), Value: b("again"), IgnoreLease: true})
	with("l3", 100)
	ttl := func(r *pb.LeaseTimeToLiveRequest) {
		got, err := s.lease().LeaseTimeToLive(s.who(), r)
		if got.GetTTL() > 1 {
			got = proto.Clone(got).(*pb.LeaseTimeToLiveResponse)
			got.TTL = got.GrantedTTL // a little of it has run
		}
		slices.SortFunc(got.GetKeys(), bytes.Compare) // etcd gives them in any order
		if s.at != 0 && got != nil {
			got.Header = nil // etcd's follower may not have applied the last entry yet
		}
		s.say("LeaseTimeToLive "+s.text(r), s.ended(got, err))
	}
	ttl(&pb.LeaseTimeToLiveRequest{ID: 100})
	ttl(&pb.LeaseTimeToLiveRequest{ID: 100, Keys: true})
	ttl(&pb.LeaseTimeToLiveRequest{ID: 103, Keys: true})
	ttl(&pb.LeaseTimeToLiveRequest{ID: 999, Keys: true})
	ttl(&pb.LeaseTimeToLiveRequest{})
	s.turnTo(1)
	ttl(&pb.LeaseTimeToLiveRequest{ID: 100, Keys: true})
	s.turnTo(0)
	ask(s, s.lease().LeaseRevoke, &pb.LeaseRevokeRequest{ID: 104})
	ask(s, s.lease().LeaseRevoke, &pb.LeaseRevokeRequest{ID: 101})
	sorted := func() {
		r, err := s.lease().LeaseLeases(s.who(), &pb.LeaseLeasesRequest{})
		sortLeases(r)
		s.say("LeaseLeases", s.ended(r, err))
	}
	sorted()
	for at := range 2 {
		s.turnTo(at)
		keepAlive(s, 100, 999, 0, 103)
	}
	s.turnTo(0)
	w := s.watch("revoke")
	defer w.cancel()
	w.create(1, watching("l", "m"))
	ask(s, s.lease().LeaseRevoke, &pb.LeaseRevokeRequest{ID: 100})
	w.read("all its keys", 3)
	ask(s, s.lease().LeaseRevoke, &pb.LeaseRevokeRequest{ID: 100})
	ask(s, s.kv().Range, get("l", "m"))
	grant(200, 1)
	with("short", 200)
	w.create(1, watching("short", ""))
	w.read("it expires", 1)
	ttl(&pb.LeaseTimeToLiveRequest{ID: 200})
	keepAlive(s, 200)
	ask(s, s.lease().LeaseRevoke, &pb.LeaseRevokeRequest{ID: 103})
	ask(s, s.lease().LeaseRevoke, &pb.LeaseRevokeRequest{ID: -7})
	sorted()
}

func keepAlive(s *side, ids ...int64) {
	ctx, cancel := context.WithTimeout(s.who(), s.patience)
	defer cancel()
	k, err := s.lease().LeaseKeepAlive(ctx)
	for _, id := range ids {
		if err != nil {
			break
		}
		if err = k.Send(&pb.LeaseKeepAliveRequest{ID: id}); err != nil {
			break
		}
		var r *pb.LeaseKeepAliveResponse
		if r, err = k.Recv(); err == nil {
			if s.at != 0 {
				r.Header = nil // as with the time to live
			}
			s.sayf("keep alive", "%s", s.text(r))
		}
	}
	if err != nil {
		s.say("keep alive", s.ended(nil, err))
	}
}

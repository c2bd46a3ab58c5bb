package etcdapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore"
	"kviz/raftstore/etcdapi"
	"kviz/raftstore/steady"
)

func put(key, value string) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(key), Value: []byte(value)}}}
}

func del(key, end string) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte(key), RangeEnd: []byte(end)}}}
}

func nested(t *pb.TxnRequest) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestTxn{RequestTxn: t}}
}

func then(ops ...*pb.RequestOp) *pb.TxnRequest { return &pb.TxnRequest{Success: ops} }

func many(n int, op *pb.RequestOp) []*pb.RequestOp {
	list := make([]*pb.RequestOp, n)
	for i := range list {
		list[i] = op
	}
	return list
}

// The cases of etcd's tests/integration/v3_grpc_test.go TestV3TxnTooManyOps,
// TestV3TxnDuplicateKeys, TestV3TxnInvalidRange and TestV3TooLargeRequest.
func TestRequestsThatEtcdRefuses(t *testing.T) { on(t, testRefused) }

func testRefused(t *testing.T, b *bench) {
	for range 3 {
		b.put("foo", "bar")
	}
	b.compact(2)
	const tooMany = 129
	compares := make([]*pb.Compare, tooMany)
	for i := range compares {
		compares[i] = &pb.Compare{Result: pb.Compare_GREATER, Target: pb.Compare_CREATE, Key: []byte("bar")}
	}
	large := make([]byte, 2<<20)
	for name, c := range map[string]struct {
		req  any
		want error
	}{
		"129 compares":                 {&pb.TxnRequest{Compare: compares}, rpctypes.ErrGRPCTooManyOps},
		"129 in success":               {&pb.TxnRequest{Success: many(tooMany, put("bar", "bar"))}, rpctypes.ErrGRPCTooManyOps},
		"129 in failure":               {&pb.TxnRequest{Failure: many(tooMany, put("bar", "bar"))}, rpctypes.ErrGRPCTooManyOps},
		"129 nested":                   {then(nested(then(many(tooMany, put("bar", "bar"))...))), rpctypes.ErrGRPCTooManyOps},
		"65 and 64 nested":             {then(append(many(65, get("bar", false)), nested(then(many(64, put("x", ""))...)))...), rpctypes.ErrGRPCTooManyOps},
		"put twice":                    {then(put("abc", "1"), put("abc", "2")), rpctypes.ErrGRPCDuplicateKey},
		"put nested again":             {then(put("abc", ""), nested(then(put("abc", "")))), rpctypes.ErrGRPCDuplicateKey},
		"put and delete":               {then(put("abc", ""), del("abc", "")), rpctypes.ErrGRPCDuplicateKey},
		"put and delete of a range":    {then(put("abc", ""), del("a", "b")), rpctypes.ErrGRPCDuplicateKey},
		"nested put and delete":        {then(del("a", "b"), nested(then(put("abc", "")))), rpctypes.ErrGRPCDuplicateKey},
		"nested put in both branches":  {then(nested(&pb.TxnRequest{Success: []*pb.RequestOp{put("a", "")}, Failure: []*pb.RequestOp{put("a", "")}})), nil},
		"delete twice":                 {then(del("abc", ""), del("a", "z")), nil},
		"put and delete beside":        {then(put("abc", ""), del("b", "c")), nil},
		"empty operation":              {then(&pb.RequestOp{}), rpctypes.ErrGRPCKeyNotFound},
		"compare without key":          {&pb.TxnRequest{Compare: []*pb.Compare{{}}}, rpctypes.ErrGRPCEmptyKey},
		"range in the future":          {then(&pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: []byte("foo"), Revision: 99}}}, put("foo", "x")), rpctypes.ErrGRPCFutureRev},
		"compacted range":              {then(&pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: []byte("foo"), Revision: 1}}}, put("foo", "x")), rpctypes.ErrGRPCCompacted},
		"put without key":              {&pb.PutRequest{}, rpctypes.ErrGRPCEmptyKey},
		"ignore value with a value":    {&pb.PutRequest{Key: []byte("foo"), Value: []byte("x"), IgnoreValue: true}, rpctypes.ErrGRPCValueProvided},
		"ignore lease with a lease":    {&pb.PutRequest{Key: []byte("foo"), Lease: 1, IgnoreLease: true}, rpctypes.ErrGRPCLeaseProvided},
		"ignore value of nothing":      {&pb.PutRequest{Key: []byte("nothing"), IgnoreValue: true}, rpctypes.ErrGRPCKeyNotFound},
		"put with an unknown lease":    {&pb.PutRequest{Key: []byte("foo"), Lease: 123456}, rpctypes.ErrGRPCLeaseNotFound},
		"put of 2 MiB":                 {&pb.PutRequest{Key: []byte("foo"), Value: large[:1600<<10]}, rpctypes.ErrGRPCRequestTooLarge},
		"put of more than gRPC takes":  {&pb.PutRequest{Key: []byte("foo"), Value: large}, status.Error(codes.ResourceExhausted, "")},
		"delete without key":           {&pb.DeleteRangeRequest{}, rpctypes.ErrGRPCEmptyKey},
		"range without key":            {&pb.RangeRequest{}, rpctypes.ErrGRPCEmptyKey},
		"range in an unknown order":    {&pb.RangeRequest{Key: []byte("foo"), SortOrder: 7}, rpctypes.ErrGRPCInvalidSortOption},
		"range by an unknown target":   {&pb.RangeRequest{Key: []byte("foo"), SortTarget: 7}, rpctypes.ErrGRPCInvalidSortOption},
		"compact the compacted":        {&pb.CompactionRequest{Revision: 2}, rpctypes.ErrGRPCCompacted},
		"compact the future":           {&pb.CompactionRequest{Revision: 99}, rpctypes.ErrGRPCFutureRev},
		"lease with a TTL of a decade": {&pb.LeaseGrantRequest{TTL: 9_000_000_001}, rpctypes.ErrGRPCLeaseTTLTooLarge},
	} {
		if err := b.send(c.req); status.Code(err) != status.Code(c.want) || c.want != nil && status.Convert(c.want).Message() != "" && status.Convert(err).Message() != status.Convert(c.want).Message() {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// send calls the method that takes such a request.
func (b *bench) send(req any) (err error) {
	kv := b.kv()
	switch r := req.(type) {
	case *pb.TxnRequest:
		_, err = kv.Txn(b.ctx, r)
	case *pb.PutRequest:
		_, err = kv.Put(b.ctx, r)
	case *pb.DeleteRangeRequest:
		_, err = kv.DeleteRange(b.ctx, r)
	case *pb.RangeRequest:
		_, err = kv.Range(b.ctx, r)
	case *pb.CompactionRequest:
		_, err = kv.Compact(b.ctx, r)
	case *pb.LeaseGrantRequest:
		_, err = pb.NewLeaseClient(b.conns[0]).LeaseGrant(b.ctx, r)
	}
	return err
}

// Large answers come in pieces to clients that ask for that, whole to the others.
func TestLargeWatchResponsesAreFragmented(t *testing.T) { on(t, testFragments) }

func testFragments(t *testing.T, b *bench) {
	// Five transactions of 1.2 MiB, read from the past, are more than one piece.
	ops := make([]*pb.RequestOp, 12)
	for i := range ops {
		ops[i] = put(fmt.Sprintf("k%02d", i), strings.Repeat("v", 100<<10))
	}
	for range 5 {
		if _, err := b.kv().Txn(b.ctx, then(ops...)); err != nil {
			t.Fatal(err)
		}
	}
	for _, fragment := range []bool{false, true} {
		w := b.watchLarge()
		w.create(&pb.WatchCreateRequest{Key: []byte("k"), RangeEnd: []byte("l"), StartRevision: 2, Fragment: fragment})
		events, pieces, open := 0, 0, false
		for events < 60 || open {
			r := w.recv()
			size := proto.Size(r)
			if fragment && size > 2<<20 {
				t.Errorf("a piece of %d bytes", size)
			}
			if r.Fragment && !fragment {
				t.Error("a fragment that nobody asked for")
			}
			open = r.Fragment
			events += len(r.Events)
			pieces++
		}
		if fragment != (pieces > 1) || events != 60 {
			t.Errorf("fragment %v: %d events in %d pieces", fragment, events, pieces)
		}
	}
}

// A watcher that asks for progress gets it, if nothing else was sent, as long as it is
// up to date.
func TestProgressIsToldFromTimeToTime(t *testing.T) {
	steady.Bubble(t, testProgressIsToldFromTimeToTime)
}

func testProgressIsToldFromTimeToTime(t *testing.T) {
	store := raftstore.OpenBare()
	b := serve(t, store, etcdapi.Config{WatchProgressInterval: 100 * time.Millisecond})
	b.put("other", "1")
	w := b.watch()
	w.create(&pb.WatchCreateRequest{Key: []byte("a"), ProgressNotify: true})
	w.create(&pb.WatchCreateRequest{Key: []byte("b")})
	w.create(&pb.WatchCreateRequest{Key: []byte("c"), ProgressNotify: true, StartRevision: 1000})
	for range 3 {
		if r := w.recv(); r.WatchId != 0 || r.Header.Revision != 2 || len(r.Events) > 0 {
			t.Errorf("progress: %v", r)
		}
	}
	// The one that begins in the future is not up to date: no progress notification for all of them.
	w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_ProgressRequest{ProgressRequest: &pb.WatchProgressRequest{}}})
	if r := w.recv(); r.WatchId != 0 {
		t.Errorf("%v", r)
	}
}

// What a client says of itself is looked at before anything else.
func TestMetadata(t *testing.T) { steady.Bubble(t, testMetadata) }

func testMetadata(t *testing.T) {
	b := newBench(t, raftstore.OpenBare())
	bad := metadata.AppendToOutgoingContext(b.ctx, rpctypes.MetadataClientAPIVersionKey, "3.7\xff")
	if _, err := b.kv().Range(bad, &pb.RangeRequest{Key: []byte("a")}); err == nil {
		t.Error("a version that is no text was taken")
	}
	good := metadata.AppendToOutgoingContext(b.ctx, rpctypes.MetadataClientAPIVersionKey, "3.7")
	if _, err := b.kv().Range(good, &pb.RangeRequest{Key: []byte("a")}); err != nil {
		t.Error(err)
	}
	if _, body := b.get("/metrics"); !strings.Contains(body, `etcd_server_client_requests_total{client_api_version="3.7",type="unary"} 1`) {
		t.Error("the client's version is not counted")
	}
}

// A watcher that may see nothing is created and canceled in one answer.
func TestWatchersThatAreRefused(t *testing.T) { on(t, testRefusedWatchers) }

func testRefusedWatchers(t *testing.T, b *bench) {
	for range 5 {
		b.put("a", "1")
	}
	b.compact(4)
	w := b.watch()
	w.create(&pb.WatchCreateRequest{Key: []byte("a"), WatchId: 7})
	for name, c := range map[string]struct {
		req    *pb.WatchCreateRequest
		reason string
	}{
		"before the first": {&pb.WatchCreateRequest{Key: []byte("a"), StartRevision: -1}, "etcdserver: mvcc: required revision has been compacted"},
		"an empty range":   {&pb.WatchCreateRequest{Key: []byte("b"), RangeEnd: []byte("a")}, "mvcc: watcher range is empty"},
		"an ID twice":      {&pb.WatchCreateRequest{Key: []byte("a"), WatchId: 7}, "mvcc: duplicate watch ID provided on the WatchStream"},
	} {
		if r := w.create(c.req); !r.Canceled || r.WatchId != -1 || r.CancelReason != c.reason {
			t.Errorf("%s: %v", name, r)
		}
	}
	if r := w.create(&pb.WatchCreateRequest{Key: []byte("a"), StartRevision: 2}); r.Canceled || r.WatchId != 0 {
		t.Errorf("a compacted start: %v", r)
	}
	if r := w.recv(); !r.Canceled || r.WatchId != 0 || r.CompactRevision != 4 || r.Header.Revision != 0 {
		t.Errorf("a compacted start: %v", r)
	}
	// The stream lives on.
	b.put("a", "last")
	w.expect("7: 7 PUT a=last")
}

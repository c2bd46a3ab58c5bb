package etcdapi_test

import (
	"fmt"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

func TestWatchFromThePastIntoTheFuture(t *testing.T) { on(t, testWatchFromThePast) }

func testWatchFromThePast(t *testing.T, b *bench) {
	b.put("a", "1") // 2
	b.put("b", "2") // 3
	b.put("a", "3") // 4
	b.delete("a")   // 5
	w := b.watch()
	if r := w.create(&pb.WatchCreateRequest{Key: []byte("a"), StartRevision: 2, PrevKv: true}); r.Header.Revision != 5 || r.WatchId != 0 {
		t.Errorf("created: %v", r)
	}
	w.expect("0: 2 PUT a=1", "0: 4 PUT a=3 (was 1)", "0: 5 DELETE a (was 3)")
	b.put("a", "4") // 6
	w.expect("0: 6 PUT a=4")

	w.create(&pb.WatchCreateRequest{Key: []byte("a"), RangeEnd: []byte("c"), StartRevision: 8, Filters: []pb.WatchCreateRequest_FilterType{pb.WatchCreateRequest_NOPUT}})
	b.delete("b")   // 7: too early for the second
	b.put("a", "5") // 8
	b.delete("a")   // 9
	w.expect("0: 8 PUT a=5 (was 4)", "0: 9 DELETE a (was 5)", "1: 9 DELETE a")

	w.cancel(0)
	if r := w.recv(); !r.Canceled || r.WatchId != 0 || r.CancelReason != "" {
		t.Errorf("cancel: %v", r)
	}
	b.put("a", "6")
	b.delete("a")
	w.expect("1: 11 DELETE a")
}

func TestWatchTxnIsOneResponse(t *testing.T) { on(t, testWatchTxn) }

func testWatchTxn(t *testing.T, b *bench) {
	w := b.watch()
	w.create(&pb.WatchCreateRequest{Key: []byte("k"), RangeEnd: []byte("l")})
	var ops []*pb.RequestOp
	for i := range 3 {
		ops = append(ops, &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: fmt.Appendf(nil, "k%d", i)}}})
	}
	if _, err := b.kv().Txn(b.ctx, &pb.TxnRequest{Success: ops}); err != nil {
		t.Fatal(err)
	}
	if r := w.recv(); len(r.Events) != 3 || r.Header.Revision != 2 {
		t.Errorf("%v", r)
	}
}

func TestWatchRefusals(t *testing.T) { on(t, testWatchRefusals) }

func testWatchRefusals(t *testing.T, b *bench) {
	for range 4 {
		b.put("a", "1")
	}
	b.compact(4)
	w := b.watch()
	refused := func(r *pb.WatchCreateRequest, reason string) {
		t.Helper()
		if got := w.create(r); got.WatchId != -1 || !got.Canceled || got.CancelReason != reason {
			t.Errorf("%v: %v", r, got)
		}
	}
	refused(&pb.WatchCreateRequest{Key: []byte("b"), RangeEnd: []byte("a")}, "mvcc: watcher range is empty")
	w.create(&pb.WatchCreateRequest{Key: []byte("a"), WatchId: 7})
	refused(&pb.WatchCreateRequest{Key: []byte("a"), WatchId: 7}, "mvcc: duplicate watch ID provided on the WatchStream")

	r := w.create(&pb.WatchCreateRequest{Key: []byte("a"), StartRevision: 3})
	if got := w.recv(); got.WatchId != r.WatchId || !got.Canceled || got.CompactRevision != 4 {
		t.Errorf("watch from a compacted revision: %v", got)
	}
	r = w.create(&pb.WatchCreateRequest{Key: []byte("a"), StartRevision: 4})
	w.expect(fmt.Sprintf("%d: 4 PUT a=1", r.WatchId), fmt.Sprintf("%d: 5 PUT a=1", r.WatchId))
}

// A stream that begins before more writes than are kept reads the history, in
// pieces, and misses nothing while more is written.
func TestWatchLongHistory(t *testing.T) { on(t, testWatchLongHistory) }

func testWatchLongHistory(t *testing.T, b *bench) {
	const before, after, watchers = 1500, 300, 5
	write := func(n int) {
		done := make(chan error, n)
		for i := range n {
			go func() {
				_, err := b.kv().Put(b.ctx, &pb.PutRequest{Key: fmt.Appendf(nil, "k%d", i%7), Value: []byte("v")})
				done <- err
			}()
		}
		for range n {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	write(before)
	w := b.watch()
	for range watchers {
		w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{
			Key: []byte("k"), RangeEnd: []byte("l"), StartRevision: 2,
		}}})
	}
	written := make(chan struct{})
	go func() { defer close(written); write(after) }()
	next := [watchers]int64{}
	for seen := 0; seen < watchers*(before+after); {
		r := w.recv()
		for _, e := range r.Events {
			if want := 2 + next[r.WatchId]; e.Kv.ModRevision != want {
				t.Fatalf("watcher %d: revision %d, want %d", r.WatchId, e.Kv.ModRevision, want)
			}
			next[r.WatchId]++
			seen++
		}
	}
	<-written
}

func TestProgressIsToldWhenAskedFor(t *testing.T) { on(t, testProgress) }

func testProgress(t *testing.T, b *bench) {
	w := b.watch()
	w.create(&pb.WatchCreateRequest{Key: []byte("a")})
	rev := b.put("b", "1")
	w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_ProgressRequest{ProgressRequest: &pb.WatchProgressRequest{}}})
	if r := w.recv(); r.WatchId != -1 || r.Header.Revision != rev || len(r.Events) > 0 {
		t.Errorf("progress: %v, want revision %d", r, rev)
	}
}

func testCanceledTwice(t *testing.T, b *bench) {
	for range 4 {
		b.put("a", "1")
	}
	b.compact(4)
	w := b.watch()
	w.create(&pb.WatchCreateRequest{Key: []byte("a"), StartRevision: 2, WatchId: 5})
	if r := w.recv(); r.CompactRevision != 4 {
		t.Fatalf("%v", r)
	}
	w.create(&pb.WatchCreateRequest{Key: []byte("a"), WatchId: 6})
	if r := w.create(&pb.WatchCreateRequest{Key: []byte("a"), WatchId: 5}); !r.Canceled {
		t.Errorf("the ID is free: %v", r)
	}
	w.progress()
	w.cancel(5)
	if r := w.recv(); r.WatchId != 5 || !r.Canceled || r.CompactRevision != 0 {
		t.Errorf("of the request for progress or the cancel: %v", r)
	}
	w.progress()
	if r := w.recv(); r.WatchId != -1 || r.Header.Revision != 5 {
		t.Errorf("progress: %v", r)
	}
	if r := w.create(&pb.WatchCreateRequest{Key: []byte("a"), WatchId: 5}); r.Canceled {
		t.Errorf("the ID is still taken: %v", r)
	}
}

// A watcher that begins with the next revision has not begun: as in etcd nobody
// gets a progress notification until there is such a revision. Then everybody does.
func TestNoProgressBeforeTheWatchBegins(t *testing.T) { on(t, testProgressOfTheFuture) }

func testProgressOfTheFuture(t *testing.T, b *bench) {
	b.put("a", "1") // 2
	w := b.watch()
	w.create(&pb.WatchCreateRequest{Key: []byte("a"), StartRevision: 3})
	w.progress()
	w.create(&pb.WatchCreateRequest{Key: []byte("b")}) // had there been an answer, it would have come first
	b.put("c", "1")                                    // 3
	w.progress()
	if r := w.recv(); r.WatchId != -1 || r.Header.Revision != 3 || len(r.Events) > 0 {
		t.Errorf("%v", r)
	}
}

func (w *watch) progress() {
	w.t.Helper()
	w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_ProgressRequest{ProgressRequest: &pb.WatchProgressRequest{}}})
}

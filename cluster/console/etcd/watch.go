package etcd

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"

	"kviz/cluster/console/command"
	"kviz/cluster/trace"
)

// watchMode says how an etcdctl watch ends.
type watchMode int

const (
	watchNever   watchMode = iota // when the person ends it, or a timeout command
	watchHistory                  // when it has told what there is
)

// unanswered is how long (of real time) a member may take to tell its progress
// before it is asked again.
const unanswered = 50 * time.Millisecond

// watchGate stands between etcdctl and a member's watch. It lets through what
// is visible in the cluster, and no more; it asks for the watch's progress to
// learn that everything has come; and it ends the watch, at an exact event.
type watchGate struct {
	grpc.ServerStream
	run  *run
	ctx  context.Context
	stop context.CancelFunc

	asked chan *pb.WatchRequest // by etcdctl, or by this gate
	drain chan int64            // the revision up to which everything has come

	mu     sync.Mutex // of what follows, and of sending
	begun  bool
	ids    []int64
	held   []*pb.WatchResponse // events that are not let through yet
	after  int64               // a watch that begins now or later is not told up to this revision
	theirs int                 // progress etcdctl itself asked for
}

func newWatchGate(run *run, stream grpc.ServerStream) *watchGate {
	ctx, stop := context.WithCancel(stream.Context())
	return &watchGate{ServerStream: stream, run: run, ctx: ctx, stop: stop, asked: make(chan *pb.WatchRequest), drain: make(chan int64, 1)}
}

func (w *watchGate) Context() context.Context { return w.ctx }

// serve runs the member's handler on what etcdctl asks.
func (w *watchGate) serve(srv any, handle grpc.StreamHandler) error {
	// What waits in receive ends with the call, that is, when this returns.
	w.run.inv.Kernel.Beside("etcdctl watch requests", w.receive)
	err := handle(srv, w)
	w.stop()
	if w.run.ctx.Err() != nil {
		return w.run.ctx.Err()
	}
	return err
}

// receive hands on what etcdctl asks.
func (w *watchGate) receive() {
	for {
		r := &pb.WatchRequest{}
		if err := w.ServerStream.RecvMsg(r); err != nil {
			w.stop()
			return
		}
		if c := r.GetCreateRequest(); c != nil {
			// From now on: what now is, virtual time says. A member does not tell the
			// progress of a watch that begins in the future, so such a one begins now too.
			rev, ok := w.visible()
			if !ok {
				w.stop()
				return
			}
			if c.StartRevision == 0 || c.StartRevision > rev {
				w.mu.Lock()
				w.after = max(rev, c.StartRevision-1)
				w.mu.Unlock()
				c.StartRevision = rev
			}
		}
		if r.GetProgressRequest() != nil {
			w.mu.Lock()
			w.theirs++
			w.mu.Unlock()
		}
		if !w.ask(r) {
			return
		}
	}
}

func (w *watchGate) ask(r *pb.WatchRequest) bool {
	select {
	case w.asked <- r:
		return true
	case <-w.ctx.Done():
		return false
	}
}

// RecvMsg is what the member's handler reads from.
func (w *watchGate) RecvMsg(m any) error {
	select {
	case r := <-w.asked:
		to := m.(*pb.WatchRequest)
		to.RequestUnion = r.RequestUnion
		return nil
	case <-w.ctx.Done():
		return io.EOF
	}
}

// SendMsg is what the member's handler writes to.
func (w *watchGate) SendMsg(m any) error {
	r := m.(*pb.WatchResponse)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case r.Created:
		w.ids = append(w.ids, r.WatchId)
		if !w.begun && !r.Canceled {
			w.begun = true
			w.run.inv.Kernel.Beside("etcdctl watch", w.drive)
		}
	case len(r.Events) > 0:
		w.held = append(w.held, r)
		return nil
	case r.WatchId == -1 && w.theirs == 0:
		select {
		case w.drain <- r.Header.Revision:
		default:
		}
		return nil
	case r.WatchId == -1:
		w.theirs--
	}
	return w.ServerStream.SendMsg(r)
}

// drive lets events through as they become visible, and ends the watch.
func (w *watchGate) drive() {
	news, err := w.run.inv.Kernel.Changes(w.run.ctx, w.run.inv.Cause, 0, func(e *trace.Event) bool { return e.Kind == trace.StoreCommit })
	if err != nil {
		w.stop()
		return
	}
	defer news.Close()
	for last := false; ; {
		if !w.release() {
			return
		}
		if last || w.run.watch == watchHistory {
			break
		}
		switch err := news.Next(w.run.ctx); {
		case errors.Is(err, command.ErrLimit):
			last = true
		case err != nil:
			w.stop()
			return
		}
	}
	w.run.mu.Lock()
	w.run.ended = true
	w.run.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range w.ids {
		if w.ServerStream.SendMsg(lastOfWatch(id)) != nil {
			w.stop()
		}
	}
}

// visible is the newest visible revision; not ok: the cluster has stopped.
func (w *watchGate) visible() (rev int64, ok bool) {
	err := w.run.inv.Kernel.Do(func() { rev = w.run.store.Revision() })
	return rev, err == nil
}

// release lets through what is visible, once it has come.
func (w *watchGate) release() bool {
	visible, ok := w.visible()
	if !ok {
		return false
	}
	for {
		if !w.ask(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_ProgressRequest{ProgressRequest: &pb.WatchProgressRequest{}}}) {
			return false
		}
		select {
		case rev := <-w.drain:
			if rev < visible {
				// The member that is asked lags behind; it tells when it has caught up.
				select {
				case <-time.After(time.Millisecond): // of real time: members replicate by the machine's clock
				case <-w.ctx.Done():
					return false
				}
				continue
			}
		case <-time.After(unanswered): // of real time, likewise
			continue // it does not tell while it has not come to where the watch begins
		case <-w.ctx.Done():
			return false
		}
		return w.pass(visible)
	}
}

// pass sends the held events up to a revision.
func (w *watchGate) pass(visible int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	var later []*pb.WatchResponse
	for _, r := range w.held {
		for len(r.Events) > 0 && r.Events[0].Kv.ModRevision <= w.after {
			r = &pb.WatchResponse{Header: r.Header, WatchId: r.WatchId, Events: r.Events[1:]}
		}
		n, _ := slices.BinarySearchFunc(r.Events, visible+1, func(e *mvccpb.Event, rev int64) int { return int(e.Kv.ModRevision - rev) })
		if n < len(r.Events) {
			later = append(later, &pb.WatchResponse{Header: r.Header, WatchId: r.WatchId, Events: r.Events[n:]})
		}
		if n == 0 {
			continue
		}
		if err := w.ServerStream.SendMsg(&pb.WatchResponse{Header: r.Header, WatchId: r.WatchId, Events: r.Events[:n]}); err != nil {
			w.stop()
			return false
		}
	}
	w.held = later
	return true
}

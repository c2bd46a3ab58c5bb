package console

import (
	"context"
	"errors"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/dbfile"
	"kviz/raftstore/etcdapi"
)

// Etcd is the cluster's store as etcdctl and kviz restore see it. Methods with
// a task are called on the kernel's goroutine, as part of the task.
type Etcd interface {
	// Members are the members' names. The first one is whom etcdctl asks when it
	// is not told.
	Members() []string
	// Up reports whether a member runs.
	Up(member string) bool
	// Serve makes the store answer etcd's clients on listeners of the console's.
	Serve(etcdapi.Config) (*etcdapi.Server, error)
	// Do carries a request to the store and waits until its effect is visible.
	// Errors are etcd's own.
	Do(t *sim.Task, req *pb.InternalRaftRequest) (proto.Message, error)
	// Revision is the newest revision that has become visible.
	Revision() int64
	// Settle waits until a member has everything that is visible, where nothing
	// keeps it from that.
	Settle(t *sim.Task, member string)
	// Restore gives every member a new disk with what a backup holds, and starts
	// what depends on the store again.
	Restore(t *sim.Task, c *dbfile.Content, opt RestoreOptions) (*trace.Restore, error)
}

// RestoreOptions are those of etcdutl snapshot restore.
type RestoreOptions struct {
	BumpRevision  int64
	MarkCompacted bool
}

// etcdRun is one etcdctl: who asks, and how long it may take.
type etcdRun struct {
	c      *Console
	ctx    context.Context
	inv    *Invocation
	secret string        // by which its connections are known
	limit  time.Duration // --command-timeout, of virtual time
	watch  watchMode

	mu       sync.Mutex
	deadline time.Duration // virtual time by which requests must have been answered; 0: none was made yet
	wrote    []string      // keys of the API server's that it wrote
	ended    bool          // its watch has seen enough
	turns    *turns        // nil: the program itself asks one member after the other
}

// errTooLate is what a request ends with that the command's time was too short
// for. It has a text of its own, which etcdctl's is put in place of: with the
// code of a deadline, the client would ask again.
var errTooLate = errors.New("kviz: the time of the command is over")

// serve carries a request of etcdctl's into the cluster, as work from outside
// with the command as its cause; virtual time passes for it.
func (r *etcdRun) serve(name string, fn func(*sim.Task)) error {
	late := false
	err := r.c.call(r.ctx, r.inv.Cause, name, func(t *sim.Task) {
		left := r.left(t)
		if left <= 0 {
			late = true
			return
		}
		var (
			over bool
			end  sim.Cond
		)
		// What was asked for goes on when nobody waits for it any more.
		r.c.process.Go(name, func(inner *sim.Task) {
			inner.SetCauses(r.inv.Cause)
			fn(inner)
			over = true
			end.Broadcast()
		})
		for !over {
			if left = r.left(t); left <= 0 {
				late = true
				return
			}
			end.WaitTimeout(t, left)
		}
	})
	if err == nil && late {
		return errTooLate
	}
	return err
}

// left is how much is left of the command's time, which begins with its first
// request.
func (r *etcdRun) left(t *sim.Task) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.deadline == 0 {
		r.deadline = t.Elapsed() + r.limit
		if end, ok := deadlineOf(r.ctx); ok {
			r.deadline = min(r.deadline, end)
		}
	}
	return r.deadline - t.Elapsed()
}

// expire lets the command's time pass: nobody answers.
func (r *etcdRun) expire() error {
	err := r.serve("no answer", func(t *sim.Task) { t.Sleep(r.left(t) + 1) })
	if err == nil {
		err = errTooLate
	}
	return err
}

package etcd

import (
	"context"
	"errors"
	"sync"
	"time"

	"kviz/cluster/console/command"
	"kviz/cluster/sim"
)

// run is one etcdctl: who asks, and how long it may take.
type run struct {
	store  Store
	ctx    context.Context
	inv    *command.Invocation
	secret string        // by which its connections are known
	limit  time.Duration // --command-timeout, of virtual time
	watch  watchMode

	mu     sync.Mutex
	inside int           // requests that are in the cluster now
	since  time.Duration // virtual time when the first of them came in
	spent  time.Duration // virtual time in which requests before them were in the cluster
	wrote  []string      // keys of the API server's that it wrote
	ended  bool          // its watch has seen enough
	turns  *turns        // nil: the program itself asks one member after the other
}

// errTooLate is what a request ends with that the command's time was too short
// for. It has a text of its own, which etcdctl's is put in place of: with the
// code of a deadline, the client would ask again.
var errTooLate = errors.New("kviz: the time of the command is over")

// serve carries a request of etcdctl's into the cluster, as work from outside
// with the command as its cause; virtual time passes for it.
func (r *run) serve(name string, fn func(*sim.Task)) error {
	late := false
	err := r.inv.Task(r.ctx, name, func(t *sim.Task) {
		r.enter(t)
		defer r.leave(t)
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
		r.inv.Kernel.Process.Go(name, func(inner *sim.Task) {
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

// enter has the command's time pass.
func (r *run) enter(t *sim.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inside == 0 {
		r.since = t.Elapsed()
	}
	r.inside++
}

func (r *run) leave(t *sim.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inside--; r.inside == 0 {
		r.spent += t.Elapsed() - r.since
	}
}

// left is how much is left of the command's time. It passes while a request is in the
// cluster: how long the program itself takes in between is the machine's time, in which a
// cluster that runs as fast as it can may get through hours.
func (r *run) left(t *sim.Task) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := r.limit - r.spent
	if r.inside > 0 {
		left -= t.Elapsed() - r.since
	}
	if end, ok := command.Deadline(r.ctx); ok {
		left = min(left, end-t.Elapsed())
	}
	return left
}

// expire lets the command's time pass: nobody answers.
func (r *run) expire() error {
	err := r.serve("no answer", func(t *sim.Task) { t.Sleep(r.left(t) + 1) })
	if err == nil {
		err = errTooLate
	}
	return err
}

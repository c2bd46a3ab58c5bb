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
func (r *run) serve(name string, fn func(*sim.Task)) error {
	late := false
	err := r.inv.Task(r.ctx, name, func(t *sim.Task) {
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

// left is how much is left of the command's time, which begins with its first
// request.
func (r *run) left(t *sim.Task) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.deadline == 0 {
		r.deadline = t.Elapsed() + r.limit
		if end, ok := command.Deadline(r.ctx); ok {
			r.deadline = min(r.deadline, end)
		}
	}
	return r.deadline - t.Elapsed()
}

// expire lets the command's time pass: nobody answers.
func (r *run) expire() error {
	err := r.serve("no answer", func(t *sim.Task) { t.Sleep(r.left(t) + 1) })
	if err == nil {
		err = errTooLate
	}
	return err
}

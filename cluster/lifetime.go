package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// lifetime is how far a cluster is between its boot and its end.
type lifetime struct {
	ready      chan struct{} // closed when the control plane is up and every node Ready, or cannot become so
	readyNodes atomic.Int64  // see ReadyNodes
	ended      chan struct{} // closed when the run has ended
	err        error         // see Err; written before ended is closed
}

func newLifetime() *lifetime {
	return &lifetime{ready: make(chan struct{}), ended: make(chan struct{})}
}

// end says that the run has ended.
func (l *lifetime) end(err error) {
	l.err = err
	close(l.ended)
}

// ErrNotReady is returned when a cluster ended before it was ready.
var ErrNotReady = errors.New("the cluster ended before it was ready")

// WaitReady waits until the control plane is up and every node is Ready. Where the
// store is too full for that, it waits until this is known: somebody has to make room.
func (l *lifetime) WaitReady(ctx context.Context) error {
	select {
	case <-l.ready:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the cluster: %w", ctx.Err())
	case <-l.ended:
		if l.err != nil {
			return l.err
		}
		return ErrNotReady
	}
}

// ReadyNodes is how many nodes were Ready when the cluster was: none where the store is
// too full.
func (l *lifetime) ReadyNodes() int { return int(l.readyNodes.Load()) }

// Ready is closed when the cluster is up.
func (l *lifetime) Ready() <-chan struct{} { return l.ready }

// Ended is closed when the run has ended, by Close or by a broken invariant;
// [Cluster.Err] then says which.
func (l *lifetime) Ended() <-chan struct{} { return l.ended }

// Err is the broken invariant that ended the run, if one did, and what closing the store
// failed with.
func (l *lifetime) Err() error {
	select {
	case <-l.ended:
		return l.err
	default:
		return nil
	}
}

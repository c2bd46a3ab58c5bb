package attachdetach

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/sim"
)

// The back-off of what failed (pkg/util/goroutinemap/exponentialbackoff): 500 ms, then twice as
// long each time, up to 2 min 2 s.
const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = 2*time.Minute + 2*time.Second
)

// How an operation looks for the driver's answer (csi_attacher.go
// waitForVolumeAttachDetachStatusWithLister, without its jitter): after 500 ms, then in
// intervals that grow by 5 % up to 7 s, for 2 minutes.
const (
	firstPoll  = 500 * time.Millisecond
	lastPoll   = 7 * time.Second
	pollFactor = 1.05
	csiTimeout = 2 * time.Minute
)

// verb is what an operation does; an operation that fails backs off from the same verb only.
type verb string

const (
	attach verb = "volume_attach"
	detach verb = "volume_detach"
)

// operation is an attach or a detach that is under way, or that has failed
// (pkg/volume/util/nestedpendingoperations). One that has succeeded is forgotten.
type operation struct {
	key     string // the node; "" of a volume that only one node can have, which stands for all
	verb    verb
	pending bool

	// While it is pending:
	node   string // where
	began  time.Time
	due    time.Time                // when the answer that is there will be seen; zero while there is none
	volume *corev1.PersistentVolume // what an attach is of, and the pods that it is for
	pods   []*corev1.Pod

	// Once it has failed:
	failed time.Time
	wait   time.Duration // no other try before that has passed
	err    error
}

// operations are those of each volume, in the order in which they began.
type operations map[name][]*operation

// keyOf is an operation's key: two operations of a volume exclude each other if their keys are
// the same, or one of them is "".
func keyOf(pv *corev1.PersistentVolume, node string) string {
	if exclusive(pv) {
		return ""
	}
	return node
}

// find gives the operation that excludes one with this key: one that is under way, else that of
// the very key, else the first (isOperationExists).
func (o operations) find(volume name, key string) *operation {
	var found *operation
	for _, op := range o[volume] {
		if op.key != "" && key != "" && op.key != key {
			continue
		}
		if op.pending {
			return op
		}
		if found == nil || op.key == key {
			found = op
		}
	}
	return found
}

// backoff is how long until a verb may be tried again after an operation; 0: now.
func (op *operation) backoff(v verb, now time.Time) time.Duration {
	if op == nil || op.verb != v || op.failed.IsZero() {
		return 0
	}
	// One may try when more than the time has passed.
	return max(op.failed.Add(op.wait+1).Sub(now), 0)
}

// start begins an operation. What excludes it must not be under way, nor back off from it (Run).
func (o operations) start(volume name, key string, v verb, node string) *operation {
	op := o.find(volume, key)
	if op == nil {
		op = &operation{}
		o[volume] = append(o[volume], op)
	}
	if op.verb != v {
		op.verb, op.failed, op.wait, op.err = v, time.Time{}, 0, nil
	}
	op.key, op.node, op.pending, op.due = key, node, true, time.Time{}
	return op
}

// succeed ends an operation (operationComplete).
func (o operations) succeed(volume name, op *operation) {
	o[volume] = slices.DeleteFunc(o[volume], func(other *operation) bool { return other == op })
	if len(o[volume]) == 0 {
		delete(o, volume)
	}
}

// fail ends an operation, and doubles the time before the next (ExponentialBackoff.Update).
func (op *operation) fail(t *sim.Task, err error) {
	op.pending, op.err, op.failed = false, err, t.Now()
	if op.wait == 0 {
		op.wait = firstRetry
	} else {
		op.wait = min(2*op.wait, lastRetry)
	}
}

// deadline is when it has taken too long.
func (op *operation) deadline() time.Time { return op.began.Add(csiTimeout) }

// poll is when it next looks for an answer, at now or after.
func (op *operation) poll(now time.Time) time.Time {
	every := firstPoll
	at := op.began.Add(every)
	for at.Before(now) {
		every = min(time.Duration(float64(every)*pollFactor), lastPoll)
		at = at.Add(every)
	}
	return at
}

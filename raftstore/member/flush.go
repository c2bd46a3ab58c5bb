package member

import (
	"sync"

	"github.com/hashicorp/raft"
)

// flushQueue lets a leader write to its own disk while it already replicates
// (raft dissertation §10.2.1; etcd does the same). Raft calls StoreLogs and
// takes the entries for durable when it returns. So the leader's StoreLogs only
// queues them, and package wire keeps each follower's acknowledgement from raft
// until the leader's disk has the entries too ([wire.Endpoint.SetGate]).
//
// Why that is safe: an entry is committed when a quorum acknowledged it. Raft
// counts the leader itself too early, but alone it is no quorum; every other
// acknowledgement waits for the leader's disk. So a committed entry is on the
// leader's disk and on those of enough followers, which is more than raft asks.
// If the leader's disk fails, the leader goes down: nobody has counted on it.
//
// Followers, and everyone while messages are held, write before they answer.
type flushQueue struct {
	mu      sync.Mutex
	more    *sync.Cond   // something was queued, was written, or the end has come
	logs    []*raft.Log  // not yet durable, in index order, without gaps
	ended   bool         // nothing more will come
	dead    bool         // the flusher is gone and will write no more
	dropped bool         // what is not being written now never will be
	waiters []gateWaiter // acknowledgements that wait
}

type gateWaiter struct {
	index   uint64
	durable chan struct{}
}

func (q *flushQueue) init() { q.more = sync.NewCond(&q.mu) }

func (q *flushQueue) push(logs []*raft.Log) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.logs = append(q.logs, logs...)
	q.more.Broadcast()
}

// get reads an entry that is not yet durable.
func (q *flushQueue) get(index uint64, log *raft.Log) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.logs) == 0 || index < q.logs[0].Index || index > q.logs[len(q.logs)-1].Index {
		return false
	}
	*log = *q.logs[index-q.logs[0].Index]
	return true
}

// last is the last index queued, 0 if nothing is.
func (q *flushQueue) last() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.logs) == 0 {
		return 0
	}
	return q.logs[len(q.logs)-1].Index
}

// drained waits until everything queued up to an index is durable; false if it never
// will be.
func (q *flushQueue) drained(upTo uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	waits := func() bool { return len(q.logs) > 0 && q.logs[0].Index <= upTo }
	for waits() && !q.dead {
		q.more.Wait()
	}
	return !waits()
}

// passed is nil when the entry is durable, else a channel that is closed then.
func (q *flushQueue) passed(index uint64) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.logs) == 0 || index < q.logs[0].Index {
		return nil
	}
	w := gateWaiter{index: index, durable: make(chan struct{})}
	q.waiters = append(q.waiters, w)
	return w.durable
}

// take waits for entries to write; nil when the end has come.
func (q *flushQueue) take() []*raft.Log {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.logs) == 0 && !q.ended {
		q.more.Wait()
	}
	if q.dropped {
		return nil
	}
	return q.logs[:len(q.logs):len(q.logs)]
}

// written takes the first n entries out and lets acknowledgements pass.
func (q *flushQueue) written(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.logs = append([]*raft.Log(nil), q.logs[n:]...)
	var still []gateWaiter
	for _, w := range q.waiters {
		if len(q.logs) == 0 || w.index < q.logs[0].Index {
			close(w.durable)
		} else {
			still = append(still, w)
		}
	}
	q.waiters = still
	q.more.Broadcast()
}

// end lets the flusher write what is left and waits until it is gone.
func (q *flushQueue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.more.Broadcast()
	for len(q.logs) > 0 && !q.dead {
		q.more.Wait()
	}
}

// drop has the flusher end after what it is writing now, if anything. The rest can still
// be read, but counts for nothing: no acknowledgement passes.
func (q *flushQueue) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended, q.dropped = true, true
	q.more.Broadcast()
}

func (q *flushQueue) die() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dead = true
	q.more.Broadcast()
}

// flush is the goroutine that writes a leader's entries.
func (d *disk) flush() {
	defer d.queue.die()
	for {
		logs := d.queue.take()
		if len(logs) == 0 {
			return
		}
		if err := d.store(logs, nil); err != nil {
			d.inc.m.wantsRoom(err)
			d.die(brokenPromise + ": " + err.Error())
		}
		d.queue.written(len(logs))
	}
}

// mayOverlap says whether an append may be written beside its replication. A
// leader that is the only voter commits by its own disk alone, so it writes
// first; and so does every leader with a change of the members, which may make
// it the only one in the very moment in which it is appended.
func (d *disk) mayOverlap(logs []*raft.Log) bool {
	m := d.inc.m
	if !d.inc.live.Load() || d.inc.raft.State() != raft.Leader ||
		m.held.Load() || m.room.full.Load() || d.gone.Load() || d.torn.Load() {
		return false
	}
	for _, l := range logs {
		if l.Type == raft.LogConfiguration {
			return false
		}
	}
	voters := 0
	for _, sv := range d.inc.servers() {
		if sv.Suffrage == raft.Voter {
			voters++
		}
	}
	return voters > 1
}

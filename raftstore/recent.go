package raftstore

import (
	"sync"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// recentChanges is how many changes are kept for those who follow closely: a
// good tenth of a second of the most writes that a disk takes, which is what a
// thousand watchers on a busy machine need. Whoever falls further behind reads a
// member's history.
const recentChanges = 2048

// recent holds the newest changes that were delivered. It holds an unbroken
// run of revisions that ends at told.
type recent struct {
	mu      sync.Mutex
	told    int64 // no change up to here will still come
	changes []Change
	more    chan struct{} // closed with the next change; nil if nobody waits
	era     uint64        // how often the history was replaced
}

// add takes the next change. One that a snapshot on the disk already held is
// no news.
func (r *recent) add(rev int64, events []*mvccpb.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rev <= r.told {
		return
	}
	if rev != r.told+1 {
		r.changes = nil
	}
	if len(r.changes) >= 2*recentChanges {
		r.changes = append(make([]Change, 0, 2*recentChanges), r.changes[recentChanges:]...)
	}
	r.changes = append(r.changes, Change{Revision: rev, Events: events})
	r.told = rev
	r.wake()
}

// reach says that everything up to rev is already in a member's state.
func (r *recent) reach(rev int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rev > r.told {
		r.told, r.changes = rev, nil
	}
}

// reset continues from a revision: the members hold another history, or possibly less
// of the same one. It reports whether anything that was delivered is no longer valid.
func (r *recent) reset(rev int64, another bool) (lost bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if lost = another || rev < r.told; lost {
		r.told, r.changes = rev, nil
		r.era++
		r.wake()
	}
	return lost
}

// end wakes the waiters; call it when nothing more will come.
func (r *recent) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wake()
}

func (r *recent) wake() {
	if r.more != nil {
		close(r.more)
		r.more = nil
	}
}

// since gives the changes from a revision on. If they are not all kept here
// ok is false, and UpTo says how far the history has to be read.
func (r *recent) since(from int64) (c Changes, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.more == nil {
		r.more = make(chan struct{})
	}
	c = Changes{UpTo: max(r.told, from-1), More: r.more, Era: r.era}
	if from > r.told {
		return c, true
	}
	first := r.told - int64(len(r.changes)) + 1
	if from < first {
		return c, false
	}
	c.List = r.changes[from-first : len(r.changes) : len(r.changes)]
	return c, true
}

func (r *recent) revision() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.told
}

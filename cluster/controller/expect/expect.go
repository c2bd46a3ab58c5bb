// Package expect remembers what a controller has asked for and not yet seen.
//
// A controller decides on its cache, and its cache is late. Say a ReplicaSet
// wants 3 pods and the cache shows none. The controller creates 3; the first of
// them reaches the cache and wakes it up again. The cache shows 1 of 3: without
// a memory it would create 2 more, and end with 5. So it notes "3 creations
// expected", counts down as they show up, and does nothing while some are
// outstanding. If they do not show up within five minutes, it stops waiting.
//
// Mirrors pkg/controller/controller_utils.go ControllerExpectations and
// UIDTrackingControllerExpectations.
//
// Nothing is left out. Start reading at [Expectations].
package expect

import "time"

// Timeout is how long expectations hold (upstream ExpectationsTimeout).
const Timeout = 5 * time.Minute

// Expectations are those of one controller, by key of the object that owns what
// is created and deleted.
type Expectations struct {
	byKey map[string]*outstanding
}

type outstanding struct {
	creations int
	deletions map[string]struct{} // by name
	deleting  int                 // by number
	since     time.Time
}

// New makes an empty memory.
func New() *Expectations { return &Expectations{byKey: map[string]*outstanding{}} }

// Creations notes that n creations are on their way, in place of what was noted
// before.
func (e *Expectations) Creations(key string, n int, now time.Time) {
	e.byKey[key] = &outstanding{creations: n, since: now}
}

// Deletions notes that the named objects are being deleted. They are tracked one
// by one, because a deletion shows up twice: as a deletionTimestamp, and as the
// end.
func (e *Expectations) Deletions(key string, names []string, now time.Time) {
	o := &outstanding{deletions: make(map[string]struct{}, len(names)), since: now}
	for _, n := range names {
		o.deletions[n] = struct{}{}
	}
	e.byKey[key] = o
}

// Numbers notes how many creations and deletions are on their way. Such deletions are only
// counted, as the controllers of Jobs and DaemonSets do it: each change of a pod that is
// being deleted counts as one.
func (e *Expectations) Numbers(key string, creations, deletions int, now time.Time) {
	e.byKey[key] = &outstanding{creations: creations, deleting: deletions, since: now}
}

// Created counts down one creation: seen in the cache, or failed.
func (e *Expectations) Created(key string) {
	if o := e.byKey[key]; o != nil && o.creations > 0 {
		o.creations--
	}
}

// Deleted counts down one deletion: seen in the cache, or failed.
func (e *Expectations) Deleted(key, name string) {
	if o := e.byKey[key]; o != nil {
		delete(o.deletions, name)
		o.deleting = max(o.deleting-1, 0)
	}
}

// Satisfied reports whether nothing is outstanding, or it is so long ago that
// waiting makes no sense.
func (e *Expectations) Satisfied(key string, now time.Time) bool {
	o := e.byKey[key]
	return o == nil || o.creations == 0 && len(o.deletions) == 0 && o.deleting == 0 || now.Sub(o.since) > Timeout
}

// Outstanding is how many creations and deletions are still expected.
func (e *Expectations) Outstanding(key string) (creations, deletions int) {
	if o := e.byKey[key]; o != nil {
		return o.creations, len(o.deletions) + o.deleting
	}
	return 0, 0
}

// Forget drops what is noted for a key.
func (e *Expectations) Forget(key string) { delete(e.byKey, key) }

package view

import (
	"slices"
	"sort"
	"time"

	"kviz/cluster/trace"
)

// Queue is a work queue.
type Queue struct {
	gen
	Name       string
	Lane       string // who works it off
	Ready      int    // keys ready to be taken
	Processing int
	Delayed    int

	Adds, Gets, Dones, Merged, Retries uint64 // since the start

	Waited time.Duration // how long the keys that were taken had waited, in all
	Worked time.Duration // how long workers had those that are done, in all

	lane    trace.Lane
	keys    table[string, *QueueKey]
	depth   []Depth
	sources []Source
	arrived uint64
}

func (q *Queue) seal() {
	clip(&q.depth)
	q.sources = slices.Clone(q.sources)
	q.keys = q.keys.copy()
}

// QueueKey is one key in a work queue.
type QueueKey struct {
	gen
	Key        string
	Waiting    bool          // ready to be taken
	Processing bool          // a worker has it
	Dirty      bool          // added again while a worker has it
	Delayed    bool          // waits for its time
	Due        time.Duration // when the delay ends
	Retries    int
	Merged     int // adds that found it there already
	Since      time.Duration
	Waited     time.Duration // how long it was ready before a worker took it the last time
	Event      trace.ID      // the last move
	arrived    uint64
}

func (k *QueueKey) seal() {}

// Depth is how many keys were ready at a time.
type Depth struct {
	At    time.Duration
	Ready int
}

// Waiting lists the keys ready to be taken, first come first.
func (q *Queue) Waiting() []*QueueKey { return q.pick(func(k *QueueKey) bool { return k.Waiting }) }

// InProcess lists the keys that workers have, first come first.
func (q *Queue) InProcess() []*QueueKey {
	return q.pick(func(k *QueueKey) bool { return k.Processing })
}

// DelayedKeys lists the keys that wait for their time, first come first.
func (q *Queue) DelayedKeys() []*QueueKey {
	return q.pick(func(k *QueueKey) bool { return k.Delayed })
}

// Key is one key that is in the queue, or nil.
func (q *Queue) Key(key string) *QueueKey { k, _ := q.keys.get(key); return k }

// Depths is how the number of ready keys changed lately (at most 128), oldest
// first.
func (q *Queue) Depths() []Depth { return last(q.depth, 128) }

// Source is how many keys came into a queue because of changes of a kind.
type Source struct {
	Resource string
	Keys     uint64
}

// Sources lists the kinds whose changes brought the queue's keys, in the order in which they first did:
// what its controller watches, as far as that has been told of anything.
func (q *Queue) Sources() []Source { return q.sources[:len(q.sources):len(q.sources)] }

func (q *Queue) pick(want func(*QueueKey) bool) []*QueueKey {
	var out []*QueueKey
	q.keys.all(func(_ string, k *QueueKey) bool {
		if want(k) {
			out = append(out, k)
		}
		return true
	})
	sort.SliceStable(out, func(i, j int) bool { return out[i].arrived < out[j].arrived })
	return out
}

// Informer is a client's cache of one kind.
type Informer struct {
	gen
	trace.Informer        // as last synced or relisted
	Synced         bool   // it has its list, so its workers may start
	Relists        int    // lists, the first one too
	Tombstones     int    // deletions that were missed and learnt of by a list
	Resyncs        int    //
	Delivered      uint64 // watch events since the start
	Event          trace.ID
	At             time.Duration

	stale []Stale
}

func (i *Informer) seal() { i.stale = slices.Clone(i.stale) }

// Stale is an object that a cache has as it was, because the event of its change
// was lost, is held, or was overtaken by an older one.
type Stale struct {
	Object   trace.Ref
	Type     string // of the event that it does not know: ADDED, MODIFIED, DELETED
	Revision int64  // that the cache does not know
	Event    trace.ID
	At       time.Duration
	Unknown  []trace.FieldDiff // what the cache has (From), and what the event says (To)
	Back     bool              // an older event arrived behind the newer one: the cache has gone back
}

// Stale lists what the cache has otherwise than the store and will not hear of,
// oldest first: until the object changes again, or the client lists again.
func (i *Informer) Stale() []Stale { return i.stale[:len(i.stale):len(i.stale)] }

// Controller is what a controller does.
type Controller struct {
	gen
	Name       string
	Lane       string
	Runs       uint64
	Errors     uint64
	Actions    uint64
	CacheReads uint64 // from its informers' caches
	LiveReads  uint64 // from the API server, because a cache is not good enough
	Writes     uint64
	LastError  string
	LastFailed trace.ID

	current []*ReconcileRun
	ended   []*ReconcileRun
}

func (c *Controller) seal() {
	c.current = append([]*ReconcileRun(nil), c.current...)
	clip(&c.ended)
}

// ReconcileRun is one run of a controller over a key.
type ReconcileRun struct {
	gen
	Controller string
	Key        string
	Start      trace.ID
	At         time.Duration
	Waited     time.Duration // how long the key was ready before
	Retries    int           // how often the key had been put back because runs failed
	Actions    []ActionTaken
	Done       bool
	End        trace.ID
	EndAt      time.Duration
	Result     string // done, error, requeue
	Error      string
	RequeueIn  time.Duration
	Waits      string // what it left undone, and why

	HeldFor   time.Duration // how long some request of it waited for its client's rate limit
	HeldUntil time.Duration // when the last of them is sent

	CacheReads, LiveReads, Writes int // once it is done
}

func (r *ReconcileRun) seal() { clip(&r.Actions) }

// ActionTaken is something a controller decided to do.
type ActionTaken struct {
	*trace.Action
	Event trace.ID
}

// Current lists the keys the controller is working on, longest first.
func (c *Controller) Current() []*ReconcileRun { return c.current[:len(c.current):len(c.current)] }

// Recent lists the controller's last finished runs (at most 32), oldest first.
func (c *Controller) Recent() []*ReconcileRun { return last(c.ended, 32) }

// Last is the controller's last finished run, or nil.
func (c *Controller) Last() *ReconcileRun {
	if len(c.ended) == 0 {
		return nil
	}
	return c.ended[len(c.ended)-1]
}

// Lease says which instance of a component is active.
type Lease struct {
	gen
	Name        string
	Holder      string // "" while nobody holds it
	Previous    string
	Transitions int
	Event       trace.ID
	Since       time.Duration
}

func (l *Lease) seal() {}

// Queues lists the work queues by name.
func (s *State) Queues() []*Queue { return s.queues.values() }

// Queue is a work queue by name, or nil.
func (s *State) Queue(name string) *Queue { q, _ := s.queues.get(name); return q }

// Informers lists the informers by owner and resource.
func (s *State) Informers() []*Informer { return s.informers.values() }

// Informer is a component's cache of a resource, or nil.
func (s *State) Informer(owner, resource string) *Informer {
	i, _ := s.informers.get(owner + "\x00" + resource)
	return i
}

// Controllers lists the controllers that ever ran, by name.
func (s *State) Controllers() []*Controller { return s.controllers.values() }

// Controller is a controller by name, or nil.
func (s *State) Controller(name string) *Controller { c, _ := s.controllers.get(name); return c }

// Leases lists the leases that components held, by name.
func (s *State) Leases() []*Lease { return s.leases.values() }

// Lease is a lease by name, or nil.
func (s *State) Lease(name string) *Lease { l, _ := s.leases.get(name); return l }

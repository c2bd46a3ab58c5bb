package view

import (
	"slices"
	"strings"

	"kviz/cluster/trace"
)

const (
	maxDepth = 128
	maxRuns  = 32
)

func init() {
	on(trace.QueueAdd, queueAdd)
	on(trace.QueueDelay, queueDelay)
	on(trace.QueueGet, queueGet)
	on(trace.QueueDone, queueDone)
	on(trace.InformerSync, func(b *Builder, e *trace.Event, p *trace.Informer) {
		i := b.informer(e, p)
		i.Synced, i.stale = true, nil
		i.Tombstones += p.Tombstones
	})
	on(trace.InformerRelist, func(b *Builder, e *trace.Event, p *trace.Informer) {
		i := b.informer(e, p)
		i.Synced = false
		i.Relists++
	})
	on(trace.InformerResync, func(b *Builder, e *trace.Event, p *trace.Informer) { b.informer(e, p).Resyncs++ })
	on(trace.ReconcileStart, reconcileStart)
	on(trace.ReconcileAction, reconcileAction)
	on(trace.ReconcileEnd, reconcileEnd)
	on(trace.LeaderElected, leaderElected)
}

func (b *Builder) informer(e *trace.Event, p *trace.Informer) *Informer {
	i := edit(b, b.s.informers, p.Informer+"\x00"+p.Resource)
	revision := max(i.Revision, p.Revision)
	i.Informer, i.Event, i.At = *p, e.ID, e.At
	i.Revision = revision
	return i
}

func (b *Builder) queue(e *trace.Event, p *trace.QueueItem) *Queue {
	q := edit(b, b.s.queues, p.Queue)
	if q.Name == "" {
		q.Name, q.keys = p.Queue, newTable[string, *QueueKey]()
	}
	if q.lane != e.Lane {
		q.lane, q.Lane = e.Lane, e.Lane.String()
	}
	if q.Ready != p.Ready || len(q.depth) == 0 {
		q.depth = recent(q.depth, Depth{e.At, p.Ready}, maxDepth)
	}
	b.deepen(e, p.Ready-q.Ready)
	q.Ready, q.Processing, q.Delayed = p.Ready, p.Processing, p.Delayed
	return q
}

func (b *Builder) queueKey(q *Queue, e *trace.Event, p *trace.QueueItem) *QueueKey {
	k := edit(b, q.keys, p.Key)
	k.Key, k.Retries, k.Event = p.Key, p.Retries, e.ID
	return k
}

// telling is a watch event that a controller was told of.
type telling struct {
	event    trace.ID
	resource string
}

// mostTold is how many are kept: a handler puts its key into a queue as soon as it is told.
const mostTold = 16

// heard counts a key that came because of a watch event.
func (q *Queue) heard(told []telling, causes []trace.ID) {
	for i := len(told) - 1; i >= 0; i-- {
		if !slices.Contains(causes, told[i].event) {
			continue
		}
		for j := range q.sources {
			if q.sources[j].Resource == told[i].resource {
				q.sources[j].Keys++
				return
			}
		}
		q.sources = append(q.sources, Source{told[i].resource, 1})
		return
	}
}

func (q *Queue) arrive(k *QueueKey, e *trace.Event) {
	q.arrived++
	k.arrived, k.Since = q.arrived, e.At
}

func queueAdd(b *Builder, e *trace.Event, p *trace.QueueItem) {
	q := b.queue(e, p)
	q.Adds++
	q.heard(b.s.told, e.Causes)
	k := b.queueKey(q, e, p)
	if k.Delayed && k.Due <= e.At {
		k.Delayed = false
	}
	switch {
	case p.Merged:
		q.Merged++
		k.Merged++
	case k.Processing:
		k.Dirty = true
	default:
		if !k.Waiting {
			q.arrive(k, e)
		}
		k.Waiting = true
	}
	b.square(q, p)
}

func queueDelay(b *Builder, e *trace.Event, p *trace.QueueItem) {
	q := b.queue(e, p)
	k := b.queueKey(q, e, p)
	if p.Retries > 0 {
		q.Retries++
	}
	if !k.Delayed && !k.Processing && !k.Waiting {
		q.arrive(k, e)
	}
	k.Delayed, k.Due = true, e.At+p.After
}

func queueGet(b *Builder, e *trace.Event, p *trace.QueueItem) {
	q := b.queue(e, p)
	q.Gets++
	k := b.queueKey(q, e, p)
	k.Waited = 0
	if k.Waiting {
		k.Waited = e.At - k.Since
		q.Waited += k.Waited
	}
	q.arrive(k, e)
	k.Waiting, k.Dirty, k.Processing, k.Merged = false, false, true, 0
	b.square(q, p)
}

func queueDone(b *Builder, e *trace.Event, p *trace.QueueItem) {
	q := b.queue(e, p)
	q.Dones++
	k := b.queueKey(q, e, p)
	if k.Processing {
		q.Worked += e.At - k.Since
	}
	k.Processing, k.Dirty = false, false
	if p.Requeued {
		k.Waiting = true
		q.arrive(k, e)
	}
	b.square(q, p)
}

// square takes out keys that are in nobody's hands, and, when the queue says
// it holds less than the picture does (its process died and started over), the
// keys that it must have forgotten: all but the one that moved.
func (b *Builder) square(q *Queue, p *trace.QueueItem) {
	if k, ok := q.keys.get(p.Key); ok && !k.Waiting && !k.Processing && !k.Delayed {
		q.keys.delete(p.Key)
	}
	if q.keys.len() <= p.Ready+p.Processing+p.Delayed {
		return
	}
	for _, k := range q.keys.values() {
		stale := k.Waiting && p.Ready == 0 || k.Processing && p.Processing == 0 || k.Delayed && p.Delayed == 0
		if k.Key != p.Key && stale {
			q.keys.delete(k.Key)
		}
	}
}

func (b *Builder) controller(e *trace.Event, name string) *Controller {
	c := edit(b, b.s.controllers, name)
	if c.Name == "" {
		c.Name, c.Lane = name, e.Lane.String()
	}
	return c
}

func reconcileStart(b *Builder, e *trace.Event, p *trace.Reconcile) {
	c := b.controller(e, p.Controller)
	c.Runs++
	run := &ReconcileRun{gen: gen{b.gen}, Controller: p.Controller, Key: p.Key, Start: e.ID, At: e.At}
	b.s.queues.all(func(_ string, q *Queue) bool {
		if q.lane != e.Lane {
			return true
		}
		k := q.Key(p.Key)
		if k == nil || !k.Processing {
			return true // a controller may have several queues
		}
		run.Waited, run.Retries = k.Waited, k.Retries
		return false
	})
	for i, r := range c.current {
		if r.Key == p.Key {
			c.current[i] = run
			return
		}
	}
	c.current = append(c.current, run)
	if len(c.current) > 64 {
		c.current = append([]*ReconcileRun(nil), c.current[1:]...)
	}
}

// run is the controller's run over a key, ready to be changed.
func (c *Controller) run(b *Builder, key string) (*ReconcileRun, int) {
	for i, r := range c.current {
		if r.Key == key {
			if r.n != b.gen {
				fresh := *r
				fresh.seal()
				fresh.n = b.gen
				c.current[i] = &fresh
			}
			return c.current[i], i
		}
	}
	return nil, -1
}

func reconcileAction(b *Builder, e *trace.Event, p *trace.Action) {
	c := b.controller(e, p.Controller)
	c.Actions++
	if r, _ := c.run(b, p.Key); r != nil {
		r.Actions = append(r.Actions, ActionTaken{p, e.ID})
	}
	b.autoscaled(e, p)
}

func reconcileEnd(b *Builder, e *trace.Event, p *trace.Reconcile) {
	c := b.controller(e, p.Controller)
	c.CacheReads += uint64(p.CacheReads)
	c.LiveReads += uint64(p.LiveReads)
	c.Writes += uint64(p.Writes)
	if p.Error != "" || p.Result == "error" {
		c.Errors++
		c.LastError, c.LastFailed = p.Error, e.ID
	}
	r, i := c.run(b, p.Key)
	if r == nil {
		r = &ReconcileRun{gen: gen{b.gen}, Controller: p.Controller, Key: p.Key, At: e.At}
	} else {
		c.current = append(c.current[:i:i], c.current[i+1:]...)
	}
	r.Done, r.End, r.EndAt, r.Result, r.Error, r.RequeueIn = true, e.ID, e.At, p.Result, p.Error, p.RequeueIn
	r.Waits = p.Waits
	r.CacheReads, r.LiveReads, r.Writes = p.CacheReads, p.LiveReads, p.Writes
	c.ended = recent(c.ended, r, maxRuns)
}

func leaderElected(b *Builder, e *trace.Event, p *trace.Election) {
	l := edit(b, b.s.leases, p.Lease)
	l.Name, l.Event, l.Since = p.Lease, e.ID, e.At
	switch {
	case p.Won:
		if l.Holder != p.Holder {
			l.Transitions++
			if p.Previous != "" {
				l.Previous = p.Previous
			} else if l.Holder != "" {
				l.Previous = l.Holder
			}
		}
		l.Holder = p.Holder
	case l.Holder == p.Holder:
		l.Holder, l.Previous = "", p.Holder
	}
}

// runsIn reports whether what speaks in a lane lives in a process: the
// controllers live in a controller manager's.
func runsIn(lane, process string) bool {
	return lane == process || strings.HasSuffix(lane, "-controller") && process == Manager(lane)
}

// workersDied forgets what a process held in memory: queues, caches, clients, runs.
func (b *Builder) workersDied(e *trace.Event, process string) {
	for _, q := range b.s.queues.values() {
		if runsIn(q.Lane, process) {
			n := edit(b, b.s.queues, q.Name)
			n.keys = newTable[string, *QueueKey]()
			b.deepen(e, -n.Ready)
			n.Ready, n.Processing, n.Delayed = 0, 0, 0
		}
	}
	for key, i := range entries(b.s.informers) {
		if runsIn(i.Informer.Informer, process) {
			b.s.informers.delete(key)
		}
	}
	for key, c := range entries(b.s.clients) {
		if runsIn(c.Lane, process) {
			b.s.clients.delete(key)
		}
	}
	for _, c := range b.s.controllers.values() {
		if runsIn(c.Lane, process) && len(c.current) > 0 {
			edit(b, b.s.controllers, c.Name).current = nil
		}
	}
	for n, w := range entries(b.s.watchers) {
		if runsIn(w.Client, process) {
			b.s.watchers.delete(n)
		}
	}
	if process == trace.CompScheduler {
		for key, p := range entries(b.s.Scheduler.pods) {
			if p.In == "" {
				b.s.Scheduler.pods.delete(key)
			}
		}
		b.s.Scheduler.Active, b.s.Scheduler.Backoff, b.s.Scheduler.Unschedulable = 0, 0, 0
	}
}

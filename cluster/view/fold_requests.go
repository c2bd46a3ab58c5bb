package view

import (
	"maps"
	"slices"
	"strings"

	"kviz/cluster/trace"
)

const (
	maxDone    = 512
	maxActive  = 4096
	maxWaiting = 256
	maxWatches = 65536

	maxRevisions    = 256 // of the events of a watch cache
	maxEndedWatches = 16
)

func init() {
	on(trace.RequestReceived, requestReceived)
	on(trace.RequestStage, requestStage)
	on(trace.RequestDone, requestDone)
	on(trace.RequestWaiting, func(b *Builder, e *trace.Event, p *trace.Request) {
		key := p.Request
		if key == 0 { // it gets its number when it is let in
			key = e.ID.Seq<<20 | uint64(e.ID.Sub)
		}
		b.s.waiting.set(key, &Request{Request: p, Received: e.ID, At: e.At})
		b.s.waiting.trim(maxWaiting)
	})
	on(trace.WatchCacheEvent, func(b *Builder, e *trace.Event, p *trace.CacheUpdate) {
		name := orElse(p.Custom, p.Resource)
		w := edit(b, b.s.watchCaches, cacheKey(e, name))
		w.Server = e.Lane.String()
		w.Resource, w.Revision, w.Watchers, w.Event = name, p.Revision, p.Watchers, e.ID
		w.Events++
		w.Oldest = p.Oldest
		if p.Kept > 0 {
			w.Kept = uint64(p.Kept)
		} else {
			w.Kept++
		}
		w.revisions = recent(w.revisions, p.Revision, maxRevisions)
	})
	on(trace.WatchCacheListed, func(b *Builder, e *trace.Event, p *trace.CacheList) {
		name := orElse(p.Custom, p.Resource)
		w := edit(b, b.s.watchCaches, cacheKey(e, name))
		w.Server = e.Lane.String()
		w.Resource, w.Revision, w.Watchers, w.Event, w.Locked = name, p.Revision, 0, e.ID, ""
		w.Kept, w.Oldest, w.revisions = 0, 0, nil
	})
	on(trace.WatchOpened, func(b *Builder, e *trace.Event, p *trace.Watch) {
		b.s.watchers.set(p.Watch, &Watcher{gen: gen{b.gen}, Watch: *p, Server: e.Lane.String(), Opened: e.ID, Revision: p.From, Command: b.opener(e.Causes)})
		b.s.watchers.trim(maxWatches)
	})
	on(trace.WatchClosed, func(b *Builder, e *trace.Event, p *trace.Watch) {
		b.watchEnded(e, p)
	})
	on(trace.WatchDelivered, watchDelivered)
	on(trace.WatchHeld, watchHeld)
	on(trace.WatchLost, watchLost)
}

// watchEnded takes a watch off the open ones and keeps it for a while, with why it
// ended.
func (b *Builder) watchEnded(e *trace.Event, p *trace.Watch) {
	w, ok := b.s.watchers.delete(p.Watch)
	if !ok {
		return
	}
	n := *w
	n.n = b.gen
	n.Reason, n.LastEvent, n.LastAt = p.Reason, e.ID, e.At
	b.s.ended = recent(b.s.ended, &n, maxEndedWatches)
}

func requestReceived(b *Builder, e *trace.Event, p *trace.Request) {
	b.letIn(p)
	b.s.Traffic.Requests++
	b.reads(e, p)
	r := &Request{gen: gen{b.gen}, Request: p, Server: e.Lane.String(), Received: e.ID, At: e.At, Command: b.commandOf(e.Causes)}
	b.s.active.set(p.Request, r)
	b.s.active.trim(maxActive)
}

// commandOf is the console's command among some causes.
func (b *Builder) commandOf(causes []trace.ID) trace.ID {
	for _, c := range causes {
		if b.s.Command(c) != nil {
			return c
		}
	}
	return trace.ID{}
}

// opener is the console's command whose request opens a watch.
func (b *Builder) opener(causes []trace.ID) (command trace.ID) {
	b.s.active.back(func(_ uint64, r *Request) bool {
		if n := len(r.Stages); slices.Contains(causes, r.Received) || n > 0 && slices.Contains(causes, r.Stages[n-1].Event) {
			command = r.Command
			return false
		}
		return true
	})
	return command
}

// letIn takes a request off those that wait before a cluster that stands: by
// its number, or, where it had none yet, the oldest that asked for the same.
func (b *Builder) letIn(p *trace.Request) {
	if _, ok := b.s.waiting.delete(p.Request); ok {
		return
	}
	var oldest uint64
	b.s.waiting.back(func(key uint64, r *Request) bool {
		if r.Request.Request == 0 && r.Verb == p.Verb && r.Path == p.Path && r.Client == p.Client {
			oldest = key
		}
		return true
	})
	if oldest != 0 {
		b.s.waiting.delete(oldest)
	}
}

func requestStage(b *Builder, e *trace.Event, p *trace.Stage) {
	if _, ok := b.s.active.get(p.Request); !ok {
		return
	}
	r := edit(b, b.s.active, p.Request)
	r.Stages = append(r.Stages, StageRun{p, e.ID, e.At})
	r.Reached = p.Stage
	if p.Flow != nil {
		b.flowPassed(e, p.Flow)
	}
	if p.Proof != nil { // before, only that there are credentials was known
		known := *r.Request // the event's own stays as it is
		known.User = p.Proof.User
		r.Request = &known
	}
	if p.Verdict == "refuse" {
		r.Refused, r.Code, r.Message = p.Stage, p.Code, p.Note
	}
}

func requestDone(b *Builder, e *trace.Event, p *trace.Response) {
	old, ok := b.s.active.delete(p.Request)
	if !ok {
		return
	}
	r := *old
	r.seal()
	r.n = b.gen
	r.Done, r.Code, r.Reason, r.Message, r.Took, r.Answered, r.Object = true, p.Code, p.Reason, p.Message, p.Took, e.ID, p.Object
	if p.Stage != "" {
		r.Refused = p.Stage
	}
	b.answered(e, p)
	b.evictionAnswered(e, &r)
	if r.Refused != "" {
		b.s.Traffic.refuse(r.Refused)
	}
	b.s.done.set(p.Request, &r)
	b.s.done.trim(maxDone)
}

// commitOfRequest ties a commit to the request whose storage stage asked for
// it.
func (b *Builder) commitOfRequest(e *trace.Event) {
	if of := b.requestOf(e); of != nil {
		r := edit(b, b.s.active, of.Request.Request)
		r.Commit = e.ID
		b.assign(e, r)
		b.act(e, r)
		b.s.Traffic.Stored++
	}
}

// requestOf is the request whose storage stage asked for a commit, or nil.
func (b *Builder) requestOf(e *trace.Event) (of *Request) {
	if len(e.Causes) == 0 {
		return nil
	}
	looked := 0
	b.s.active.back(func(_ uint64, r *Request) bool {
		looked++
		if caused(e, r) {
			of = r
		}
		return of == nil && looked < 64
	})
	return of
}

func (t *Traffic) refuse(stage string) {
	more := maps.Clone(t.refused)
	if more == nil {
		more = map[string]uint64{}
	}
	more[stage]++
	t.refused = more
}

func caused(e *trace.Event, r *Request) bool {
	for _, c := range e.Causes {
		if c == r.Received {
			return true
		}
		for i := len(r.Stages) - 1; i >= 0; i-- {
			if r.Stages[i].Event == c {
				return true
			}
		}
	}
	return false
}

func watchDelivered(b *Builder, e *trace.Event, p *trace.WatchEvent) {
	if _, ok := b.s.watchers.get(p.Watch); !ok {
		return
	}
	w := edit(b, b.s.watchers, p.Watch)
	b.s.Traffic.Told++
	a := b.asker(w.Client, w.Resource)
	a.told = ticked(a.told, e.At)
	a.Told, a.Last = a.Told+1, e.ID
	w.Delivered++
	w.LastType, w.LastEvent, w.LastAt = p.Type, e.ID, e.At
	if w.Client == trace.CompKCM || w.Client == trace.CompCCM {
		b.s.told = recent(b.s.told, telling{e.ID, w.Resource}, mostTold)
	}
	w.Revision = max(w.Revision, p.Revision)
	w.goesOn(e, p)
	if p.Behind {
		b.isOver(w, "delay") // it delays one event
	}

	key := w.Client + "\x00" + w.Resource
	if _, ok := b.s.informers.get(key); ok {
		i := edit(b, b.s.informers, key)
		i.Delivered++
		i.Revision = max(i.Revision, p.Revision)
		i.stale = slices.DeleteFunc(i.stale, func(s Stale) bool { return s.Object.Key() == e.Object.Key() })
		if p.Newer > 0 {
			i.stale = append(i.stale, unknown(e, p))
		}
		switch p.Type {
		case "ADDED":
			i.Items++
		case "DELETED":
			i.Items--
		}
	}
}

// watchHeld notes what a client does not know yet.
func watchHeld(b *Builder, e *trace.Event, p *trace.WatchEvent) {
	if _, ok := b.s.watchers.get(p.Watch); ok {
		w := edit(b, b.s.watchers, p.Watch)
		w.held = append(w.held, unknown(e, p))
	}
}

// goesOn takes an event off those that are held, if it is one.
func (w *Watcher) goesOn(e *trace.Event, p *trace.WatchEvent) {
	w.held = slices.DeleteFunc(w.held, func(s Stale) bool { return s.Revision == p.Revision && s.Object == e.Object })
}

func unknown(e *trace.Event, p *trace.WatchEvent) Stale {
	return Stale{Object: e.Object, Type: p.Type, Revision: max(p.Revision, p.Newer), Event: e.ID, At: e.At, Unknown: p.Unknown, Back: p.Newer > 0}
}

// watchLost notes what a client's cache does not know and will not hear of.
func watchLost(b *Builder, e *trace.Event, p *trace.WatchEvent) {
	if _, ok := b.s.watchers.get(p.Watch); !ok {
		return
	}
	w := edit(b, b.s.watchers, p.Watch)
	w.goesOn(e, p)
	b.isOver(w, "drop") // it loses one event
	key := w.Client + "\x00" + w.Resource
	if _, ok := b.s.informers.get(key); ok {
		i := edit(b, b.s.informers, key)
		i.stale = append(i.stale, unknown(e, p))
	}
}

// isOver ends a fault of a client's watch that is done to one event.
func (b *Builder) isOver(w *Watcher, name string) {
	for _, f := range b.s.FaultsOn(w.Target()) {
		if f.Fault.Fault == name {
			b.s.faults.delete(faultKey(w.Target(), name, f.Detail))
		}
	}
}

func cacheKey(e *trace.Event, name string) string { return cacheName(name, e.Lane.String()) }

// cacheName is a watch cache's: those of the first server have the resource's name,
// those of apiserver/b "pods /b".
func cacheName(resource, server string) string {
	return resource + tail(" ", strings.TrimPrefix(server, trace.CompAPIServer))
}

// serverDied ends what an API server's process held in memory.
func (b *Builder) serverDied(e *trace.Event) {
	server := e.Lane.String()
	b.serverGone(server)
	for n, r := range entries(b.s.active) {
		if r.Server != server {
			continue
		}
		b.s.active.delete(n)
		gone := *r
		gone.seal()
		gone.n = b.gen
		gone.Done, gone.Answered, gone.Message = true, e.ID, "the API server's process ended before it answered"
		b.s.done.set(gone.Request.Request, &gone)
	}
	b.s.done.trim(maxDone)
	b.flowsGone(server)
	for n, w := range entries(b.s.watchers) {
		if w.Server == server {
			b.s.watchers.delete(n)
		}
	}
	for key, c := range entries(b.s.watchCaches) {
		if c.Server == server {
			b.s.watchCaches.delete(key)
		}
	}
	if b.s.watchers.len() == 0 { // else another server has gone on
		b.s.ended, b.s.Traffic = nil, Traffic{}
	}
}

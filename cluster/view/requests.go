package view

import (
	"slices"
	"sort"
	"strings"
	"time"

	"kviz/cluster/trace"
)

// Request is one request to the API server.
type Request struct {
	gen
	*trace.Request
	Server   string // the process that serves it: "apiserver"
	Received trace.ID
	At       time.Duration
	Command  trace.ID   // of the console that asked; zero for another client
	Stages   []StageRun // in the order they ran
	Reached  string     // the last stage that ran; "" before the first
	Done     bool
	Refused  string // the stage that ended it; "" if none did
	Code     int
	Reason   string
	Message  string
	Took     time.Duration
	Answered trace.ID
	Object   *trace.Object // in the answer
	Commit   trace.ID      // store.commit it led to, if any
}

func (r *Request) seal() { clip(&r.Stages) }

// StageRun is what one stage of the pipeline did.
type StageRun struct {
	*trace.Stage
	Event trace.ID
	At    time.Duration
}

// Stage lists the runs of one stage, in order: admission has one for each
// plugin that did something.
func (r *Request) Stage(stage string) []StageRun {
	var out []StageRun
	for _, run := range r.Stages {
		if run.Stage.Stage == stage {
			out = append(out, run)
		}
	}
	return out
}

// Stands is the stage at which a request stands: the one it has reached, or the storage where it waits there for what it reads,
// since the event of a stage comes at its end. A request that is about to change something reads the object first; that it waits
// for that is seen where the store has no leader that could answer.
func (s *State) Stands(r *Request) string {
	if r.Done || r.Request == nil || r.Reached != trace.StageAuthorization && r.Reached != trace.StageDecode {
		return r.Reached
	}
	silent := false
	if q := s.Reach(); q.Total > 0 {
		silent = !q.OK() || s.Store.Leader == ""
	}
	if r.Stages[len(r.Stages)-1].Verdict != "refuse" && (r.reads() || silent && r.Verb != "create") {
		return trace.StageStorage
	}
	return r.Reached
}

// reads reports whether the request changes nothing.
func (r *Request) reads() bool { return r.Verb == "get" || r.Verb == "list" || r.Verb == "watch" }

// Watcher is one open watch.
type Watcher struct {
	gen
	trace.Watch
	Server    string   // where it is open: "apiserver"
	Command   trace.ID // of the console that opened it; zero for another client
	Opened    trace.ID
	Delivered uint64 // events
	Revision  int64  // of the last event
	LastType  string
	LastEvent trace.ID
	LastAt    time.Duration

	held []Stale
}

func (w *Watcher) seal() { w.held = slices.Clone(w.held) }

// Held lists the events that somebody has wait on their way to the client, oldest first.
func (w *Watcher) Held() []Stale { return w.held[:len(w.held):len(w.held)] }

// Target is what faults call the way to the client.
func (w *Watcher) Target() string { return "informer/" + w.Client + "/" + w.Of() }

// Of is the watch cache the watch is at, as [WatchCache] names it.
func (w *Watcher) Of() string { return orElse(w.Custom, w.Resource) }

// WatchCache is the API server's watch cache of one resource.
type WatchCache struct {
	gen
	Resource string // of a custom kind with its group: "hats.example.com"
	Server   string // whose cache it is: "apiserver"
	Revision int64
	Events   uint64
	Watchers int // the last event went to
	Event    trace.ID
	Locked   string // why a value cannot be decrypted, and so nothing is listed or watched; "" otherwise

	Kept   uint64 // events in the window: a watch can begin at any of them
	Oldest int64  // revision of the oldest, once the window has let some go; 0 while it has all

	revisions []int64 // of the last events, oldest first
}

func (w *WatchCache) seal() { clip(&w.revisions) }

// Behind is how many events of the cache are newer than a revision: what a watch
// of everything that has got so far still has to be sent. It counts no further than
// 256.
func (w *WatchCache) Behind(revision int64) int {
	list := last(w.revisions, maxRevisions)
	return len(list) - sort.Search(len(list), func(i int) bool { return list[i] > revision })
}

// Traffic is what the API server has done since it was started.
type Traffic struct {
	Requests uint64 // that arrived
	Stored   uint64 // writes of them that the store took
	Told     uint64 // watch events that reached a client

	refused map[string]uint64 // by stage; never changed, only replaced
}

// Refused is how many requests ended in a stage.
func (t *Traffic) Refused(stage string) uint64 { return t.refused[stage] }

// Requests lists the requests that are answered (the last 512 at most), by
// number.
func (s *State) Requests() []*Request { return s.done.values() }

// ActiveRequests lists the requests inside the pipeline, by number.
func (s *State) ActiveRequests() []*Request { return s.active.values() }

// WaitingRequests lists the requests from outside that wait because the
// cluster is paused.
func (s *State) WaitingRequests() []*Request { return s.waiting.values() }

// Request is a request by number, active or lately answered, or nil.
func (s *State) Request(number uint64) *Request {
	if r, ok := s.active.get(number); ok {
		return r
	}
	r, _ := s.done.get(number)
	return r
}

// Watchers lists the open watches by number.
func (s *State) Watchers() []*Watcher { return s.watchers.values() }

// Watcher is an open watch by number, or nil.
func (s *State) Watcher(number uint64) *Watcher { w, _ := s.watchers.get(number); return w }

// EndedWatches lists the last watches that ended (at most 16), oldest first: Reason
// says why, LastEvent is their end.
func (s *State) EndedWatches() []*Watcher { return last(s.ended, maxEndedWatches) }

// Cache is the name of the watch cache that tells the watcher.
func (w *Watcher) Cache() string { return cacheName(w.Of(), w.Server) }

// Name is the cache's: "pods", or "pods /b" at apiserver/b.
func (c *WatchCache) Name() string { return cacheName(c.Resource, c.Server) }

// StoreWatch is the name of its watch at the store: "pods", "b/pods".
func (c *WatchCache) StoreWatch() string {
	if _, instance, other := strings.Cut(c.Server, "/"); other {
		return instance + "/" + c.Resource
	}
	return c.Resource
}

// WatchCaches lists the API servers' watch caches by resource.
func (s *State) WatchCaches() []*WatchCache { return s.watchCaches.values() }

// WatchCache is a watch cache by its name, or nil: by the resource, at the first
// API server.
func (s *State) WatchCache(name string) *WatchCache {
	w, _ := s.watchCaches.get(name)
	return w
}

package flowcontrol

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"

	"kviz/cluster/apiserver/fairness"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
)

// Work estimates what a request takes: one seat, except for lists of many objects,
// and for writes that go to many watchers (apiserver
// pkg/util/flowcontrol/request/width.go).
func (f *Filter) Work(req *request.Request, kind *registry.Kind, sch *fairness.Schema) fairness.Work {
	if kind == nil || !kind.Stored() {
		return fairness.Work{Seats: 1}
	}
	switch req.Verb {
	case "list", "watch":
		return fairness.Work{Seats: min(max(1, f.listSeats(req, kind)), sch.Level.Most(mostListSeats))}
	case "create", "update", "patch", "delete":
		return f.writeWork(req, kind, sch)
	}
	return fairness.Work{Seats: 1}
}

const (
	mostListSeats  = 100
	bytesPerSeat   = 100_000
	mostCacheBytes = 1_000_000 // that an answer from the watch cache takes at a time
	mostWriteSeats = 10
	watchesPerSeat = 10
	eventWork      = 5 * time.Millisecond // for each seat of them
)

// listSeats is one seat for each 100 kB that must be in memory at once, from how
// many objects there are and how big they are on average
// (request/list_work_estimator.go seatsBasedOnObjectSize).
func (f *Filter) listSeats(req *request.Request, kind *registry.Kind) int {
	opts := &req.List
	cache := f.Caches.Opened(kind)
	begins := opts.ResourceVersion == "" || opts.ResourceVersion == "0" || opts.SendInitialEvents != nil && *opts.SendInitialEvents
	if cache == nil || cache.Len() == 0 || req.Verb == "watch" && !begins {
		return 1
	}
	n := int64(cache.Len())
	size := cache.Size() / n
	limited := n
	if opts.Limit > 0 {
		limited = min(limited, opts.Limit)
	}
	fromCache := req.Verb == "watch" || !fromStore(opts)
	switch {
	case req.Name != "" || req.SelectedName() != "":
		limited = 1
	case !fromCache && (opts.FieldSelector != "" || opts.LabelSelector != ""):
		limited = max(limited, n/2)
	}
	at := limited * size
	if fromCache {
		at = min(at, mostCacheBytes)
	}
	return int((at + bytesPerSeat - 1) / bytesPerSeat)
}

// fromStore reports whether the estimator thinks that a list is not answered from
// the watch cache (storage/cacher/delegator ShouldDelegateList without snapshots).
func fromStore(opts *metav1.ListOptions) bool {
	switch opts.ResourceVersionMatch {
	case metav1.ResourceVersionMatchExact:
		return true
	case metav1.ResourceVersionMatchNotOlderThan:
		return false
	}
	return opts.Continue != "" || opts.Limit > 0 && opts.ResourceVersion != "" && opts.ResourceVersion != "0"
}

// writeWork is one seat, and others that are kept for a while after the answer, one
// for every ten watchers that the write goes to (request/mutating_work_estimator.go).
func (f *Filter) writeWork(req *request.Request, kind *registry.Kind, sch *fairness.Schema) fairness.Work {
	w := fairness.Work{Seats: 1}
	if req.Resource.Resource == "serviceaccounts" && req.Subresource == "token" {
		return w // of which nobody hears
	}
	watchers := 0
	if cache := f.Caches.Opened(kind); cache != nil {
		watchers = cache.Interested(req.Namespace, req.Name)
	}
	sch.Stats.Watchers(watchers)
	if watchers < watchesPerSeat {
		return w
	}
	seats := (watchers + watchesPerSeat - 1) / watchesPerSeat
	w.Final = min(seats, sch.Level.Most(mostWriteSeats))
	w.Latency = fcrequest.SeatsTimesDuration(float64(seats), eventWork).DurationPerSeat(float64(w.Final))
	return w
}

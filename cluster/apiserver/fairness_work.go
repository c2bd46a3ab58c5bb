package apiserver

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"

	"kviz/cluster/apiserver/fairness"
)

// work is what a request is thought to take: one seat, but for lists of many
// objects, and for writes of which many hear (apiserver
// pkg/util/flowcontrol/request/width.go).
func (c *call) work(sch *fairness.Schema) fairness.Work {
	if c.Kind == nil || !c.Kind.Stored() {
		return fairness.Work{Seats: 1}
	}
	switch c.Req.Verb {
	case "list", "watch":
		return fairness.Work{Seats: min(max(1, c.listSeats()), sch.Level.Most(mostListSeats))}
	case "create", "update", "patch", "delete":
		return c.writeWork(sch)
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
func (c *call) listSeats() int {
	opts := &c.Req.List
	cache := c.s.openCache(c.Kind)
	begins := opts.ResourceVersion == "" || opts.ResourceVersion == "0" || opts.SendInitialEvents != nil && *opts.SendInitialEvents
	if cache == nil || cache.Len() == 0 || c.Req.Verb == "watch" && !begins {
		return 1
	}
	n := int64(cache.Len())
	size := cache.Size() / n
	limited := n
	if opts.Limit > 0 {
		limited = min(limited, opts.Limit)
	}
	fromCache := c.Req.Verb == "watch" || !fromStore(opts)
	switch {
	case c.Req.Name != "" || c.Req.SelectedName() != "":
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
// for each ten watchers who will hear of it (request/mutating_work_estimator.go).
func (c *call) writeWork(sch *fairness.Schema) fairness.Work {
	w := fairness.Work{Seats: 1}
	if c.Req.Resource.Resource == "serviceaccounts" && c.Req.Subresource == "token" {
		return w // of which nobody hears
	}
	watchers := 0
	if cache := c.s.openCache(c.Kind); cache != nil {
		watchers = cache.Interested(c.Req.Namespace, c.Req.Name)
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

package cluster

import (
	"maps"
	"slices"
	"time"

	"kviz/cluster/controller/reconcile"
)

// queueDelays is how much longer the runs of each work queue of the controllers take than
// they would: with it can be seen what a queue is for. A hundred changes of one object come
// to as many runs as a run leaves room for. It is the machine's fault, not the process's: who
// is started again is as slow.
type queueDelays map[string]time.Duration

// around has the runs of a queue wait before they begin, and makes the queue known.
func (d queueDelays) around(queue string, sync reconcile.Sync) reconcile.Sync {
	d[queue] += 0
	return func(r *reconcile.Run) error {
		if delay := d[queue]; delay > 0 {
			r.T.Sleep(delay)
		}
		return sync(r)
	}
}

// queues are the names of the queues that were ever made, sorted.
func (d queueDelays) queues() []string { return slices.Sorted(maps.Keys(d)) }

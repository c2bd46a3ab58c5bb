package cluster

import (
	"maps"
	"slices"
	"time"

	"kviz/cluster/controller/reconcile"
	"kviz/cluster/sim"
)

// queueDelays is how much longer the runs of each work queue of the controllers take than
// they would: with it can be seen what a queue is for. A hundred changes of one object come
// to as many runs as a run leaves room for. It is the machine's fault, not the process's: who
// is started again is as slow.
type queueDelays map[string]*sim.Delay

// around has the runs of a queue wait before they begin, and makes the queue known.
func (d queueDelays) around(queue string, sync reconcile.Sync) reconcile.Sync {
	if d[queue] == nil {
		d[queue] = &sim.Delay{}
	}
	return func(r *reconcile.Run) error {
		d[queue].Pass(r.T)
		return sync(r)
	}
}

// slow has every run of a queue's take so much longer, those that have begun too; 0 undoes
// it.
func (d queueDelays) slow(queue string, by time.Duration) { d[queue].Set(by) }

// queues are the names of the queues that were ever made, sorted.
func (d queueDelays) queues() []string { return slices.Sorted(maps.Keys(d)) }

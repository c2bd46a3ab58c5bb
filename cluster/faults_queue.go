package cluster

import (
	"maps"
	"slices"
	"strings"
	"time"

	"kviz/cluster/controller/reconcile"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
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

// names are the targets queue/NAME, of every queue that was ever made.
func (d queueDelays) names() []string {
	names := slices.Sorted(maps.Keys(d))
	for i, name := range names {
		names[i] = "queue/" + name
	}
	return names
}

func (d queueDelays) find(name string) (any, error) {
	if delay := d[strings.TrimPrefix(name, "queue/")]; delay != nil {
		return queueTarget{delay}, nil
	}
	return nil, nil
}

// queueTarget is one of the controllers' work queues.
type queueTarget struct{ delay *sim.Delay }

// Slow has every run take so much longer, those that have begun too; 0 undoes it.
func (t queueTarget) Slow(d time.Duration, _ []trace.ID) error {
	t.delay.Set(d)
	return nil
}

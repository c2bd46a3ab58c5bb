package persistentvolume

import (
	"time"

	"kviz/cluster/controller/reconcile"
)

// operations are what upstream does about claims and volumes beside its workers, each by a name:
// one that fails is not tried again before its back-off is over (pkg/util/goroutinemap and
// exponentialbackoff). Here the worker itself does them, since each is a write or two.
type operations map[string]*failed

type failed struct {
	at   time.Time
	wait time.Duration
}

// Upstream's back-off.
const (
	firstWait = 500 * time.Millisecond
	mostWait  = 2*time.Minute + 2*time.Second
)

// try does something unless it failed a short time ago.
func (o operations) try(run *reconcile.Run, name string, do func() error) {
	f := o[name]
	if f != nil && run.T.Now().Sub(f.at) <= f.wait {
		run.Waits("the last try failed %s ago, and the next is made when %s have passed since", run.T.Now().Sub(f.at).Round(time.Millisecond), f.wait)
		return
	}
	if do() == nil {
		delete(o, name)
		return
	}
	if f == nil {
		f = &failed{wait: firstWait / 2}
		o[name] = f
	}
	f.at, f.wait = run.T.Now(), min(2*f.wait, mostWait)
}

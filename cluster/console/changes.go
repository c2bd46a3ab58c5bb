package console

import (
	"context"
	"errors"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// scriptLimit is how long (virtual) a script's command waits that set no limit
// of its own: a script on a cluster that runs as fast as it can would otherwise
// wait for ever.
const scriptLimit = time.Hour

// changes tells a command that waits when to look again. It notes events as
// they enter the trace, from before the first look, so that nothing is missed
// between a look and the wait after it.
type changes struct {
	c      *Console
	cause  trace.ID
	stop   *sim.Stop
	count  uint64 // of changes noted; kernel's goroutine
	cond   sim.Cond
	gone   bool          // nobody waits any more
	until  time.Duration // virtual; 0: no limit
	seen   uint64
	passed bool // the limit
}

// errLimit is what waiting ends with when its time is over.
var errLimit = errors.New("timed out")

// watchChanges notes every event for which interesting is true. limit is in
// virtual time from now; zero means none but that of a timeout command.
func (c *Console) watchChanges(ctx context.Context, cause trace.ID, limit time.Duration, interesting func(*trace.Event) bool) (*changes, error) {
	w := &changes{c: c, cause: cause}
	w.stop = &sim.Stop{At: func(e *trace.Event) bool {
		if interesting(e) {
			w.count++
			w.cond.Broadcast()
		}
		return false
	}}
	err := c.cfg.Kernel.Do(func() {
		if limit > 0 {
			w.until = c.cfg.Kernel.Elapsed() + limit
		}
		if end, ok := deadlineOf(ctx); ok && (w.until == 0 || end < w.until) {
			w.until = end
		}
		c.cfg.Kernel.AddStop(w.stop)
	})
	if err != nil {
		return nil, ErrStopped
	}
	return w, nil
}

// next waits until something has changed since the last call (or since the
// beginning). While it waits, virtual time passes.
func (w *changes) next(ctx context.Context) error {
	err := w.c.call(ctx, w.cause, "wait", func(t *sim.Task) {
		for w.count == w.seen && !w.gone {
			left := time.Duration(0)
			if w.until > 0 {
				if left = w.until - t.Elapsed(); left <= 0 {
					w.passed = true
					return
				}
			}
			w.cond.WaitTimeout(t, left)
		}
		w.seen = w.count
	})
	if err != nil {
		return err
	}
	if w.passed {
		return errLimit
	}
	return nil
}

// close ends the noting, and a wait that was given up.
func (w *changes) close() {
	_ = w.c.cfg.Kernel.Do(func() {
		w.c.cfg.Kernel.RemoveStop(w.stop)
		w.gone = true
		w.cond.Broadcast()
	})
}

// changeOf notes changes of the named resources ("pods"); of all when none is
// named.
func changeOf(resources ...string) func(*trace.Event) bool {
	return func(e *trace.Event) bool {
		u, ok := e.Payload.(*trace.CacheUpdate)
		if !ok || e.Kind != trace.WatchCacheEvent {
			return false
		}
		for _, r := range resources {
			if r == u.Resource {
				return true
			}
		}
		return len(resources) == 0
	}
}

// limitOf is the limit of a command: its own, or, in a script, the longest.
func (inv *Invocation) limitOf(own time.Duration) time.Duration {
	if own <= 0 && inv.Script {
		return scriptLimit
	}
	return max(own, 0)
}

package command

import (
	"context"
	"errors"
	"slices"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Changes tells a command that waits when to look again. It notes events as
// they enter the trace, from before the first look, so that nothing is missed
// between a look and the wait after it.
type Changes struct {
	k      *Kernel
	cause  trace.ID
	stop   *sim.Stop
	count  uint64 // of changes noted; kernel's goroutine
	cond   sim.Cond
	gone   bool          // nobody waits any more
	until  time.Duration // virtual; 0: no limit
	seen   uint64
	passed bool // the limit
}

// ErrLimit is what waiting ends with when its time is over.
var ErrLimit = errors.New("timed out")

// Changes notes every event for which interesting is true. limit is in
// virtual time from now; zero means none but that of a timeout command.
func (k *Kernel) Changes(ctx context.Context, cause trace.ID, limit time.Duration, interesting func(*trace.Event) bool) (*Changes, error) {
	w := &Changes{k: k, cause: cause}
	w.stop = &sim.Stop{At: func(e *trace.Event) bool {
		if interesting(e) {
			w.count++
			w.cond.Broadcast()
		}
		return false
	}}
	err := k.Do(func() {
		if limit > 0 {
			w.until = k.Elapsed() + limit
		}
		if end, ok := Deadline(ctx); ok && (w.until == 0 || end < w.until) {
			w.until = end
		}
		k.AddStop(w.stop)
	})
	if err != nil {
		return nil, ErrStopped
	}
	return w, nil
}

// Next waits until something has changed since the last call (or since the
// beginning). While it waits, virtual time passes.
func (w *Changes) Next(ctx context.Context) error {
	err := w.k.Wait(ctx, w.cause, "wait", func(t *sim.Task) {
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
	return w.orLimit(err)
}

// NextBefore is Next that comes back at a virtual time at the latest; 0 is none.
func (w *Changes) NextBefore(ctx context.Context, at time.Duration) error {
	if at == 0 {
		return w.Next(ctx)
	}
	err := w.k.Wait(ctx, w.cause, "wait", func(t *sim.Task) {
		end := at
		if w.until > 0 {
			end = min(end, w.until)
		}
		if w.count == w.seen && !w.gone && end > t.Elapsed() {
			w.cond.WaitTimeout(t, end-t.Elapsed())
		}
		w.passed = w.until > 0 && t.Elapsed() >= w.until
		w.seen = w.count
	})
	return w.orLimit(err)
}

// Sleep lets virtual time pass whatever changes, or as much as is left of the limit.
func (w *Changes) Sleep(ctx context.Context, d time.Duration) error {
	over := false
	err := w.k.Wait(ctx, w.cause, "sleep", func(t *sim.Task) {
		if w.until > 0 && w.until-t.Elapsed() <= d {
			d, over = w.until-t.Elapsed(), true
		}
		t.Sleep(d)
	})
	if err == nil && over {
		return ErrLimit
	}
	return err
}

func (w *Changes) orLimit(err error) error {
	if err == nil && w.passed {
		return ErrLimit
	}
	return err
}

// Close ends the noting, and a wait that was given up.
func (w *Changes) Close() {
	_ = w.k.Do(func() {
		w.k.RemoveStop(w.stop)
		w.gone = true
		w.cond.Broadcast()
	})
}

// ChangeOf notes changes of the named resources ("pods"); of all when none is
// named.
func ChangeOf(resources ...string) func(*trace.Event) bool {
	return func(e *trace.Event) bool {
		u, ok := e.Payload.(*trace.CacheUpdate)
		if !ok || e.Kind != trace.WatchCacheEvent {
			return false
		}
		return len(resources) == 0 || slices.Contains(resources, u.Resource)
	}
}

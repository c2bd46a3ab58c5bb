package own

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/panes"
	"kviz/tui/stage"
)

// moment is a place in the teacher's run.
type moment struct {
	history *view.History
	beat    string // "" where there is no lesson
	version uint64
	at      trace.ID
}

func (m moment) same(o moment) bool {
	return m.beat == o.beat && m.version == o.version && m.at == o.at
}

// Errors for students.
var (
	errNotBegun = errors.New("the class has not begun")
	errSetting  = errors.New("the scene is still being set: in a moment")
)

// takes gives what was made, if it was: neither a run nor an error is that nobody waits any more.
func (r *Runs) takes(t *ticket) (*run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := t.run
	t.run = nil
	return one, t.err
}

// present is where the class is: the event at which the stage stands. In a beat in which everybody does something it is where
// the class came to it, so that all begin alike. The lock is held.
func (r *Runs) present() (moment, error) {
	stand := r.cfg.Lead.Scene().Stand
	if stand.History == nil {
		return moment{}, errNotBegun
	}
	m := moment{history: stand.History}
	switch b := stand.Look.Beat; {
	case b != nil:
		if r.cfg.Branch != nil { // there is a lesson to go on with
			m.beat, m.version = b.ID, b.Version
		}
		if m.beat != "" && m.beat == r.now.beat && m.version == r.now.version {
			return r.now, nil
		}
		follower := stage.New(panes.All)
		follower.Follow(stand)
		_, st := follower.Where()
		if st == nil {
			return m, errSetting
		}
		m.at = trace.ID{Seq: st.Last.Seq}
	case stand.Look.Active:
		return m, errSetting
	default:
		m.at = trace.ID{Seq: stand.History.Latest().Last.Seq}
	}
	if m.at.Seq == 0 {
		return m, errNotBegun
	}
	return m, nil
}

// ticket is a cluster that is to be made.
type ticket struct {
	from   moment
	ctx    context.Context
	cancel context.CancelFunc
	share  atomic.Uint64 // how much of it is made, as a float from 0 to 1
	done   chan struct{} // closed when it is made, or cannot be
	gone   bool          // nobody waits for it any more; Runs' lock, as what follows
	run    *run          // that nobody has taken
	err    error
}

// newTicket puts a cluster that is to be made into the queue. The lock is held.
func (r *Runs) newTicket(from moment) *ticket {
	t := &ticket{from: from, done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(r.ctx)
	r.there++
	return t
}

// ask gives somebody a ticket: one that is made already, if there is one.
func (r *Runs) ask() (*ticket, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	from, err := r.present()
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(r.ahead, func(t *ticket) bool { return t.from.same(from) }); i >= 0 && !r.closed {
		t := r.ahead[i]
		r.ahead = slices.Delete(r.ahead, i, i+1)
		return t, nil
	}
	if why := r.refuses(); why != "" {
		return nil, errors.New(why)
	}
	t := r.newTicket(from)
	at := len(r.queue) // before those that nobody has asked for
	for at > 0 && slices.Contains(r.ahead, r.queue[at-1]) {
		at--
	}
	r.queue = slices.Insert(r.queue, at, t)
	r.pump()
	return t, nil
}

// pump has as many clusters made at a time as may be. The lock is held.
func (r *Runs) pump() {
	for !r.closed && r.making < r.limits.Forks && len(r.queue) > 0 {
		t := r.queue[0]
		r.queue = r.queue[1:]
		r.making++
		r.group.Go(func() { r.work(t) })
	}
}

// work makes a cluster.
func (r *Runs) work(t *ticket) {
	begun := time.Now()
	one, err := r.make(t)
	r.mu.Lock()
	r.making--
	if took := time.Since(begun); err == nil {
		if r.took == 0 {
			r.took = took
		}
		r.took = (3*r.took + took) / 4
	}
	if err != nil {
		r.there--
		r.ahead = slices.DeleteFunc(r.ahead, func(o *ticket) bool { return o == t })
	}
	var unwanted *run
	if t.gone || r.closed {
		unwanted, one = one, nil
	}
	t.run, t.err = one, err
	close(t.done)
	r.pump()
	r.mu.Unlock()
	if unwanted != nil {
		_ = r.end(unwanted) // it would be said to nobody
	}
}

// giveUp is that nobody waits for a ticket any more. What it is for is ended once it is made, if it has been begun.
func (r *Runs) giveUp(t *ticket) error {
	t.cancel()
	r.mu.Lock()
	t.gone = true
	if i := slices.Index(r.queue, t); i >= 0 {
		r.queue = slices.Delete(r.queue, i, i+1)
		r.there--
		close(t.done)
	}
	unwanted := t.run
	t.run = nil
	r.mu.Unlock()
	if unwanted == nil {
		return nil
	}
	return r.end(unwanted)
}

// place says how a ticket stands: its place in the queue, 0 for one that is being made, and how long it takes still.
func (r *Runs) place(t *ticket) (place int, left time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.queue, t)
	if i < 0 {
		return 0, time.Duration((1 - math.Float64frombits(t.share.Load())) * float64(r.took))
	}
	rounds := i/r.limits.Forks + 1
	return i + 1, r.took/2 + time.Duration(rounds)*r.took
}

// make runs the teacher's run again, and goes on with the lesson there. Where that cannot be, the scene is set by the lesson.
func (r *Runs) make(t *ticket) (*run, error) {
	past := until(t.from.history, t.from.at)
	r.foresee(past, t.from.at)
	c, err := r.cfg.Forker.Fork(t.ctx, Fork{Past: past, At: t.from.at, Quota: r.limits.Store, Progress: func(p control.ForkProgress) {
		t.share.Store(math.Float64bits(float64(p.Done) / float64(max(p.Of, 1))))
	}})
	if err == nil {
		branch := r.cfg.Branch
		if t.from.beat == "" {
			branch = nil
		}
		var one *run
		if one, err = newRun(c, r.limits, branch); err == nil {
			one.says = "a cluster of your own, as the class's is now: q goes back to the class"
			return one, nil
		}
	}
	switch {
	case t.ctx.Err() != nil:
		return nil, t.ctx.Err()
	case r.cfg.Fresh == nil || t.from.beat == "":
		return nil, fmt.Errorf("there is no run of your own from here: %w", err)
	}
	why := err
	if c, err = r.cfg.Fresh(t.ctx, r.limits.Store); err != nil {
		return nil, errors.Join(why, err)
	}
	one, err := newRun(c, r.limits, func(c lessons.Cluster) (Player, error) { return r.cfg.Begin(t.ctx, c, t.from.beat) })
	if err != nil {
		return nil, errors.Join(why, err)
	}
	one.says = "the class's run cannot be run again from here, so the scene was set by the lesson"
	return one, nil
}

// foresee says how long a run takes to be run again, as long as nobody has measured it.
func (r *Runs) foresee(past []*trace.Event, at trace.ID) {
	r.mu.Lock()
	known := r.took > 0
	r.mu.Unlock()
	if known {
		return
	}
	if o, err := r.cfg.Forker.Outlook(past, at); err == nil {
		r.mu.Lock()
		or(&r.took, o.About)
		r.mu.Unlock()
	}
}

// until are the events of a run up to one.
func until(h *view.History, at trace.ID) (all []*trace.Event) {
	stream := h.Stream()
	for pos, n := stream.Oldest(), stream.Len(); pos < n; {
		events, next, _ := stream.Read(pos, int(min(n-pos, 1<<14)))
		if len(events) == 0 {
			break
		}
		all, pos = append(all, events...), next
		if all[len(all)-1].ID.Seq > at.Seq {
			break
		}
	}
	return all
}

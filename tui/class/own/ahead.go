package own

import (
	"context"
	"slices"

	"kviz/lessons"
	"kviz/tui/class"
)

// At a gate everybody asks at the same time, and a cluster takes a second or two to make. So a few are made as the class comes
// to a beat in which something is to be done, or as its gate opens; the class goes on meanwhile.

// Run makes clusters ahead, until ctx ends.
func (r *Runs) Run(ctx context.Context) {
	for ctx.Err() == nil {
		scene, room := r.cfg.Changes()
		stale := r.lookAhead()
		for _, t := range stale {
			_ = r.giveUp(t) // it would be said to nobody
		}
		select {
		case <-scene:
		case <-room:
		case <-ctx.Done():
		case <-r.ctx.Done():
			return
		}
	}
}

// lookAhead asks for clusters where the class is at a gate, and gives those that are for another moment.
func (r *Runs) lookAhead() (stale []*ticket) {
	look := r.cfg.Lead.Scene().Stand.Look
	open := r.cfg.Branch != nil && look.Beat != nil && !look.Beat.Past && (look.Kind == lessons.Do || r.cfg.Room.State().Gates[look.Beat.ID].State == class.Open)
	r.mu.Lock()
	defer r.mu.Unlock()
	if open && r.now.beat == look.Beat.ID && r.now.version == look.Beat.Version {
		return nil
	}
	stale, r.ahead, r.now = r.ahead, nil, moment{}
	if !open || r.closed {
		return stale
	}
	now, err := r.present()
	if err != nil {
		return stale
	}
	r.now = now
	for range min(r.limits.Ahead, r.limits.Private-r.there) {
		if r.memory.full() {
			break
		}
		t := r.newTicket(now)
		r.ahead, r.queue = append(r.ahead, t), append(r.queue, t)
	}
	r.pump()
	return stale
}

// dropAhead gives what was made and nobody asked for.
func (r *Runs) dropAhead() []*ticket {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.Clone(r.ahead)
	r.ahead = nil
	return all
}

package cacher

import (
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// What a watch begins with, the present objects or what happened since a revision, has to
// be chosen from everything that there is. Upstream has a goroutine of the watch for that
// (cache_watcher.go processInterval), and so does this cache where it may take long: the
// watch is open, what comes meanwhile waits behind its beginning, and the choice is made
// beside the kernel, of entries that nobody changes. It stops when the watch ends.

const (
	// LongChoice is how many requirements may be asked on the kernel, to begin a watch or to find
	// the watches of one write; looking at an object counts as one.
	LongChoice = 1 << 15
	// perLook is the modelled time of one of them.
	perLook = 50 * time.Nanosecond
	// perDecoding is how many of them decoding an object is worth.
	perDecoding = 256
	// choiceWait is for how long the others wait in real time for a choice that takes longer
	// than was modelled, unless it is for the console: its scripts give the same trace every
	// time.
	choiceWait = 10 * time.Millisecond
)

// beginning is what there is to choose a watch's first events from.
type beginning struct {
	want    *Selector
	present []*Entry   // all that there is
	past    []*change  // or what happened since
	last    []delivery // what comes after them
	cause   trace.ID
	looks   int         // how many requirements it takes to choose
	own     bool        // it is chosen beside the kernel
	gone    atomic.Bool // nobody waits for it any more
	chosen  []delivery  // that it was chosen already
}

// looks is how many requirements it takes to choose among entries.
func (s *Selector) looks(of ...*Entry) (n int) {
	for _, en := range of {
		switch {
		case en == nil:
		case en.as != nil:
			n += 1 + perDecoding
		default:
			n += 1 + s.cost(en.Object)
		}
	}
	return n
}

// Present gives the entries of a namespace ("" for all) that the wanted objects are among, by key, and how
// many requirements it takes to choose. Where everything is wanted they are limit at most; 0 is no limit.
func (c *Cache) Present(want *Selector, limit int64) (all []*Entry, looks int) {
	all = []*Entry{}
	c.scan(want.namespace, func(_ string, en *Entry) bool {
		all = append(all, en)
		looks += want.looks(en)
		return limit == 0 || int64(len(all)) < limit || !want.Everything()
	})
	return all, looks
}

// Keep has entries stay as they are, whatever the cache does with them, so that they can be
// looked at beside the kernel.
func Keep(all []*Entry) {
	for i, en := range all {
		all[i] = en.kept()
	}
}

func (en *Entry) kept() *Entry {
	if en == nil || en.as == nil { // nobody changes it
		return en
	}
	own := *en
	return &own
}

// keep is [Keep] of what a watch begins with.
func (b *beginning) keep() {
	Keep(b.present)
	for i, c := range b.past {
		own := *c
		own.now, own.prev, own.before = c.now.kept(), c.prev.kept(), nil
		b.past[i] = &own
	}
	b.own = true
}

// choose gives the first events. After [beginning.keep] it can be called beside the kernel.
func (b *beginning) choose() []delivery {
	k := b.want.kind
	var first []delivery
	for _, en := range b.present {
		if b.gone.Load() {
			return nil
		}
		if b.want.Matches(en.object()) {
			first = append(first, delivery{kind: watch.Added, obj: en.Object, ref: refOf(k, en.Object), revision: en.Revision, cause: b.cause})
		}
	}
	pretend := &Watcher{}
	for _, c := range b.past {
		if b.gone.Load() {
			return nil
		}
		if d, ok := pretend.see(c, b.want.verdict(c)); ok {
			d.ref = refOf(k, c.now.named())
			first = append(first, d)
		}
	}
	return append(first, b.last...)
}

// Beginning reports whether first events wait for the client.
func (w *Watcher) Beginning() bool { return w.began > 0 }

// begin has the first events sent: now, or once they are chosen.
func (w *Watcher) begin() {
	b := w.first
	if !b.own {
		w.first = nil
		w.set.looked += b.looks
		w.sendFirst(b.chosen)
		return
	}
	if w.closed || !w.set.p.Alive() {
		return
	}
	task := w.set.p.Go("the first events of a watch", func(t *sim.Task) {
		if !w.set.takeTurn(t, w) {
			return
		}
		defer w.set.endTurn()
		var first []delivery
		if broken := t.HandleCrashOn(trace.Ref{}, "the first events of a watch", func() {
			t.Offload("the first events of a watch of "+w.want.kind.GroupVersionResource.Resource, time.Duration(b.looks)*perLook, w.patience, func() { first = b.choose() })
		}); broken != nil {
			w.first = nil
			w.end("the watch cache panicked at its first events")
			return
		}
		if w.first = nil; !w.closed {
			w.sendFirst(first)
		}
	})
	task.OnEnd(func() { b.gone.Store(true) })
}

// takeTurn waits until nobody else of the kind chooses: one choice after another leaves the
// machine's processors to others. It reports whether the watch is still open.
func (ws *watcherSet) takeTurn(t *sim.Task, w *Watcher) bool {
	for ws.chooses && !w.closed {
		ws.turn.Wait(t)
	}
	if w.closed {
		return false
	}
	ws.chooses = true
	return true
}

func (ws *watcherSet) endTurn() {
	ws.chooses = false
	ws.turn.Broadcast()
}

// sendFirst sends the first events, and what came meanwhile.
func (w *Watcher) sendFirst(first []delivery) {
	if w.began = len(first); w.began == 0 && len(w.early) == 0 {
		w.choosing = false
		return
	}
	w.set.later(func() {
		early := w.early
		w.choosing, w.early = false, nil
		for _, d := range first {
			w.send(d)
		}
		for _, d := range early {
			w.put(d)
		}
	})
}

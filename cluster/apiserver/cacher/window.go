package cacher

import (
	"fmt"
	"sort"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// window is the watch cache's memory of recent events: a ring. A watch can
// begin at any revision that is still in it (apiserver
// pkg/storage/cacher/watch_cache_history.go).
type window struct {
	ring     []*change // nil until there is an event
	size     int       // it begins with
	first    int       // index of the oldest, counting from the beginning of time
	end      int       // index after the newest
	fixed    bool
	listed   int64 // revision of the initial list
	lostSome bool  // events have fallen out of the ring
}

const (
	windowDefault = 1024
	windowMax     = 16 * 1024 // upstream: 102400
	// windowFresh is how old the oldest event should be before it may fall out:
	// the ring grows to hold it (watch_cache.go eventFreshDuration).
	windowFresh = 75 * time.Second
)

func (w *window) init(size int) {
	w.fixed = size > 0
	if size <= 0 {
		size = windowDefault
	}
	w.size = size
}

// start forgets every event: the cache was filled as of a revision.
func (w *window) start(revision int64) {
	clear(w.ring)
	w.first, w.lostSome, w.listed = w.end, false, revision
}

func (w *window) add(c *change) {
	if w.ring == nil {
		w.ring = make([]*change, w.size)
	}
	if w.end-w.first == len(w.ring) {
		oldest := w.ring[w.first%len(w.ring)]
		if !w.fixed && len(w.ring) < windowMax && c.at-oldest.at < windowFresh {
			w.grow()
		} else {
			oldest.leave()
			w.first++
			w.lostSome = true
		}
	}
	w.ring[w.end%len(w.ring)] = c
	w.end++
}

// leave lets go of what a change is known by inside the window.
func (c *change) leave() {
	if c.before = nil; c.now.by == c {
		c.now.by = nil
	}
}

// behind is the change that n newer ones have followed, nil if the window does not hold it.
func (w *window) behind(n int) *change {
	if w.end-w.first <= n {
		return nil
	}
	return w.ring[(w.end-1-n)%len(w.ring)]
}

func (w *window) grow() {
	bigger := make([]*change, 2*len(w.ring))
	n := 0
	for i := w.first; i < w.end; i++ {
		bigger[n] = w.ring[i%len(w.ring)]
		n++
	}
	w.ring, w.first, w.end = bigger, 0, n
}

// left is the revision of the oldest event and how many there are, once older ones
// have fallen out; zeros before.
func (w *window) left() (oldest int64, kept int) {
	if !w.lostSome {
		return 0, 0
	}
	return w.ring[w.first%len(w.ring)].revision, w.end - w.first
}

// since gives the events after a revision, or 410 Gone.
func (w *window) since(revision int64) ([]*change, error) {
	oldest := w.listed + 1
	if w.lostSome {
		oldest = w.ring[w.first%len(w.ring)].revision
	}
	if revision < oldest-1 {
		return nil, apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", revision, oldest-1))
	}
	n := w.end - w.first
	from := sort.Search(n, func(i int) bool { return w.ring[(w.first+i)%len(w.ring)].revision > revision })
	out := make([]*change, 0, n-from)
	for i := w.first + from; i < w.end; i++ {
		out = append(out, w.ring[i%len(w.ring)])
	}
	return out, nil
}

package cacher

import (
	"time"

	"kviz/cluster/sim"
)

// A write is held against the selectors of all watches of its kind. Watches with the same
// selector share one answer; and where the answers would keep everybody waiting all the
// same, for many different and long selectors or objects of very many labels, they are
// found beside the kernel before the cache takes the write in.

// asked is a selector that watches have.
type asked struct {
	want    *Selector
	watches int
	at      uint64 // the change that it was asked about last
	verdict
}

// asks are the selectors of a kind's watches.
type asks struct {
	by   map[wording]*asked
	most int    // how many requirements of all of them an object is asked at most
	now  uint64 // counts the changes
}

func (as *asks) join(w *Watcher) {
	words := w.want.written()
	a := as.by[words]
	if a == nil {
		if as.by == nil {
			as.by = map[wording]*asked{}
		}
		a = &asked{want: w.want}
		as.by[words] = a
		as.most += w.want.Most()
	}
	a.watches++
	w.asked, w.want = a, a.want
}

func (as *asks) leave(w *Watcher) {
	a := w.asked
	if a == nil {
		return
	}
	if a.watches--; a.watches == 0 {
		delete(as.by, a.want.written())
		as.most -= a.want.Most()
	}
}

// verdict is a watcher's of the change that is being sent.
func (ws *watcherSet) verdict(w *Watcher, c *change) verdict {
	a := w.asked
	if a.at == ws.asks.now {
		return a.verdict
	}
	v, known := c.known[a]
	if !known {
		v = a.want.verdict(c)
		ws.looked += a.want.ofChange(c)
	}
	a.at, a.verdict = ws.asks.now, v
	return v
}

// ofChange is how many requirements it takes to hold a selector against a change.
func (s *Selector) ofChange(c *change) int {
	n := s.cost(c.now.object())
	if c.prev != nil {
		n += s.cost(c.prev.object())
	}
	return n
}

// judge finds the verdicts on changes that the cache is about to take in beside the kernel,
// if there are many.
func (ws *watcherSet) judge(t *sim.Task, changes []*change) {
	if 2*len(changes)*ws.asks.most <= LongChoice {
		return
	}
	type question struct {
		of *asked
		c  *change
		verdict
	}
	var all []question
	looks := 0
	for _, c := range changes {
		seen := map[*asked]bool{}
		ws.concerned(c, func(list []*Watcher) {
			for _, w := range list {
				if !seen[w.asked] {
					seen[w.asked] = true
					looks += w.asked.want.ofChange(c)
					all = append(all, question{of: w.asked, c: c})
				}
			}
		})
	}
	if looks <= LongChoice {
		return
	}
	t.Offload("which watches a write goes to", time.Duration(looks)*perLook, choiceWait, func() {
		for i := range all {
			all[i].verdict = all[i].of.want.verdict(all[i].c)
		}
	})
	for _, q := range all {
		if q.c.known == nil {
			q.c.known = map[*asked]verdict{}
		}
		q.c.known[q.of] = q.verdict
	}
}

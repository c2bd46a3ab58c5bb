package storage

import (
	"slices"
	"time"

	"kviz/cluster/trace"
)

// A watch whose client does not take what it is sent falls behind: etcd moves it
// from its synced watchers to the unsynced ones and serves it from the history,
// from the first revision it has not been told of, as fast as the client takes
// it. So nothing is lost, unless that history is compacted meanwhile: then the
// watch is cancelled with the compact revision the next time it could be sent something
// something, and its client has to list again (etcd
// server/storage/mvcc/watchable_store.go notify, syncWatchers;
// watcher_group.go chooseAll).
//
// What makes a watch lag here is a fault: its line is stalled, or slow. It stays
// with the line, so a watch that is opened again lags as well.

// line is the way from the store to the client of one named watch.
type line struct {
	stalled bool
	slow    time.Duration // that each revision takes longer
	why     trace.ID      // the newest fault of it
}

// lineOf is the line of a name, made when it is first asked for.
func (c *Client) lineOf(name string) *line {
	if name == "" {
		return &line{}
	}
	l := c.lines[name]
	if l == nil {
		l = &line{}
		c.lines[name] = l
	}
	return l
}

// Lines lists the names of the watches that there are or were.
func (c *Client) Lines() []string {
	names := make([]string, 0, len(c.lines))
	for name := range c.lines {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Stall has the watches of a name told nothing until [Client.Flow]. why is the
// event of the fault.
func (c *Client) Stall(name string, why trace.ID) {
	c.change(name, why, func(l *line) { l.stalled = true })
}

// Flow ends Stall: what waits is sent at once, or as fast as the line is.
func (c *Client) Flow(name string, why trace.ID) {
	c.change(name, why, func(l *line) { l.stalled = false })
}

// SlowLine has every revision take d to reach the watches of a name, one after
// another; 0 ends it.
func (c *Client) SlowLine(name string, d time.Duration, why trace.ID) {
	c.change(name, why, func(l *line) { l.slow = d })
}

// Break breaks the connection of the watches of a name. etcd's client opens each
// again, under another number, behind the newest revision that it was sent (client/v3
// watch.go resume): nothing is lost.
func (c *Client) Break(name string, why trace.ID) {
	for _, w := range slices.Clone(c.watches) {
		if w.name != name {
			continue
		}
		w.reopen("its connection broke; the client opens it again", why)
	}
}

// reopen ends a watch and opens it under another number where it was.
func (w *Watch) reopen(reason string, why trace.ID) {
	c := w.c
	closed := c.k.Emit(trace.Event{Lane: lane, Kind: trace.StoreWatchClosed, Causes: known([]trace.ID{why}), Payload: w.told(reason)})
	c.watched++
	w.number = c.watched
	opened := w.told("")
	if len(w.held) > 0 {
		opened.Revision = w.held[0].Revision
	}
	c.k.Emit(trace.Event{Lane: lane, Kind: trace.StoreWatchOpened, Causes: []trace.ID{closed}, Payload: opened})
	if len(w.held) > 0 {
		w.tellLag(closed, w.line.why)
	}
}

func (c *Client) change(name string, why trace.ID, how func(*line)) {
	l := c.lineOf(name)
	how(l)
	l.why = why
	for _, w := range slices.Clone(c.watches) {
		if w.line == l {
			w.sync()
		}
	}
}

// send tells a watch of a revision, at once if it is synced.
func (w *Watch) send(b Batch) {
	if len(w.held) == 0 && !w.line.stalled && w.line.slow == 0 && !w.cutOff() {
		w.Mailbox.Send(b)
		return
	}
	w.held = append(w.held, b)
	w.tellLag(b.Commit, w.line.why)
	if len(w.held) == 1 {
		w.sync()
	}
}

// sync plans when the oldest revision that waits is sent.
func (w *Watch) sync() {
	w.turn++
	if len(w.held) == 0 || w.line.stalled {
		return
	}
	if w.cutOff() {
		w.retry()
		return
	}
	if w.line.slow == 0 {
		for len(w.held) > 0 && w.step() {
		}
		return
	}
	turn := w.turn
	w.c.k.After(w.line.slow, func() {
		if w.turn == turn && w.step() {
			w.sync()
		}
	})
}

// step tells the oldest revision that waits; it reports whether the watch goes
// on.
func (w *Watch) step() bool {
	b := w.held[0]
	if b.Revision < w.c.compacted {
		w.cancel()
		return false
	}
	w.held = w.held[1:]
	b.Late = w.line.why
	w.Mailbox.Send(b)
	if len(w.held) == 0 || w.line.slow > 0 {
		w.tellLag(w.line.why)
	}
	return true
}

// cancel ends a watch that still has to be sent what was compacted.
func (w *Watch) cancel() {
	told := w.lag("etcdserver: mvcc: required revision has been compacted")
	told.Compacted, w.compacted = w.c.compacted, w.c.compacted
	w.end(told, w.c.compactedBy, w.line.why)
}

// tellLag tells how far behind the watch is now.
func (w *Watch) tellLag(causes ...trace.ID) {
	w.c.k.Emit(trace.Event{Lane: lane, Kind: trace.StoreWatchLag, Causes: known(causes), Payload: w.lag("")})
}

func (w *Watch) lag(reason string) *trace.StoreWatch {
	p := w.told(reason)
	if len(w.held) == 0 {
		return p
	}
	p.Next = w.held[0].Revision
	p.Lag = w.c.revision - p.Next + 1
	for _, b := range w.held {
		p.Waiting += len(b.Events)
	}
	return p
}

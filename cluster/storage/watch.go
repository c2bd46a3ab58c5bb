package storage

import (
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Watch is a stream of the commits under a prefix, from the moment it was
// opened. It is never dropped for being slow; it ends when the history that it
// still has to be sent was compacted (see lag.go).
type Watch struct {
	Mailbox sim.Mailbox[Batch]

	number uint64
	name   string
	prefix string
	c      *Client
	conn   *Conn // whose endpoint it is at; nil: the store as a whole
	line   *line

	held []Batch // what it lags behind by, oldest first
	turn uint64  // counts what was planned for it: an older plan is void

	ended     trace.ID // the event of its end
	compacted int64    // the compaction it was cancelled with, 0 if it was not
}

// Batch is what one revision changed under the watch's prefix.
type Batch struct {
	Revision int64
	Events   []*mvccpb.Event // shared; with PrevKv
	Commit   trace.ID
	Late     trace.ID // what let it go on, if it had to wait
}

// Watch opens a watch on every key with the prefix, from now on; by its name faults
// find it, "" has none. The causes are why the client opens it.
func (c *Client) Watch(name, prefix string, causes ...trace.ID) *Watch {
	return c.watch(nil, name, prefix, causes)
}

func (c *Client) watch(x *Conn, name, prefix string, causes []trace.ID) *Watch {
	c.watched++
	w := &Watch{number: c.watched, name: name, prefix: prefix, c: c, conn: x, line: c.lineOf(name)}
	c.watches = append(c.watches, w)
	c.k.Emit(trace.Event{Lane: lane, Kind: trace.StoreWatchOpened, Causes: known(causes), Payload: w.told("")})
	return w
}

// told is the watch as the trace has it.
func (w *Watch) told(reason string) *trace.StoreWatch {
	who := trace.CompAPIServer
	if w.conn != nil {
		who = w.conn.client
	}
	return &trace.StoreWatch{Watch: w.number, Name: w.name, Client: who, Prefix: w.prefix, Revision: w.c.revision + 1, Reason: reason}
}

// known are the causes that have an event.
func known(causes []trace.ID) []trace.ID {
	return slices.DeleteFunc(slices.Clone(causes), trace.ID.IsZero)
}

// Stop closes the watch. The causes are what ended its client, or why that has
// done with it.
func (w *Watch) Stop(causes ...trace.ID) { w.end(w.told("the client closed it"), causes...) }

func (w *Watch) end(told *trace.StoreWatch, causes ...trace.ID) {
	w.Mailbox.Close()
	w.held = nil
	w.turn++
	i := slices.Index(w.c.watches, w)
	if i < 0 {
		return
	}
	w.c.watches = slices.Delete(slices.Clone(w.c.watches), i, i+1)
	w.ended = w.c.k.Emit(trace.Event{Lane: lane, Kind: trace.StoreWatchClosed, Causes: known(causes), Payload: told})
}

// Ended is the event of the watch's end, and the compaction that it was
// cancelled with, 0 if it was not.
func (w *Watch) Ended() (id trace.ID, compacted int64) { return w.ended, w.compacted }

// Waiting is how many revisions the client has not taken yet.
func (w *Watch) Waiting() int { return len(w.held) + w.Mailbox.Len() }

// covers is asked by every watch about every write, so it copies nothing.
func (w *Watch) covers(key []byte) bool {
	return len(key) >= len(w.prefix) && string(key[:len(w.prefix)]) == w.prefix
}

func (w *Watch) offer(b Batch) {
	n := 0
	for _, e := range b.Events {
		if w.covers(e.Kv.Key) {
			n++
		}
	}
	switch n {
	case 0:
		return
	case len(b.Events):
		w.send(b)
		return
	}
	some := make([]*mvccpb.Event, 0, n)
	for _, e := range b.Events {
		if w.covers(e.Kv.Key) {
			some = append(some, e)
		}
	}
	b.Events = some
	w.send(b)
}

package storage

import (
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Watch is a stream of the commits under a prefix, from the moment it was
// opened. It is never dropped for being slow; the API server's watch cache,
// which is its only reader, must keep up.
type Watch struct {
	Mailbox sim.Mailbox[Batch]

	number uint64
	prefix string
	c      *Client
}

// Batch is what one revision changed under the watch's prefix.
type Batch struct {
	Revision int64
	Events   []*mvccpb.Event // shared; with PrevKv
	Commit   trace.ID
}

// Watch opens a watch on every key with the prefix, from now on. The causes are
// why the client does.
func (c *Client) Watch(prefix string, causes ...trace.ID) *Watch {
	c.watched++
	w := &Watch{number: c.watched, prefix: prefix, c: c}
	c.watches = append(c.watches, w)
	c.k.Emit(trace.Event{Lane: lane, Kind: trace.StoreWatchOpened, Causes: known(causes), Payload: w.told("")})
	return w
}

// told is the watch as the trace has it.
func (w *Watch) told(reason string) *trace.StoreWatch {
	return &trace.StoreWatch{Watch: w.number, Client: trace.CompAPIServer, Prefix: w.prefix, Revision: w.c.revision + 1, Reason: reason}
}

// known are the causes that have an event.
func known(causes []trace.ID) []trace.ID {
	return slices.DeleteFunc(slices.Clone(causes), trace.ID.IsZero)
}

// Stop closes the watch. The causes are what ended its client, or why that has
// done with it.
func (w *Watch) Stop(causes ...trace.ID) {
	w.Mailbox.Close()
	for i, o := range w.c.watches {
		if o == w {
			w.c.watches = append(w.c.watches[:i:i], w.c.watches[i+1:]...)
			w.c.k.Emit(trace.Event{Lane: lane, Kind: trace.StoreWatchClosed, Causes: known(causes), Payload: w.told("the client closed it")})
			return
		}
	}
}

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
		w.Mailbox.Send(b)
		return
	}
	some := make([]*mvccpb.Event, 0, n)
	for _, e := range b.Events {
		if w.covers(e.Kv.Key) {
			some = append(some, e)
		}
	}
	b.Events = some
	w.Mailbox.Send(b)
}

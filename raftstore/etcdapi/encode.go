package etcdapi

import (
	"sync"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"kviz/raftstore"
)

// The messages that make up most of what a store sends are written by hand,
// byte for byte as protobuf does (TestEncodedAsProtobufDoes): an event once for
// all who watch it, and lists of keys without reflection.

func appendInt(b []byte, field protowire.Number, v int64) []byte {
	if v == 0 {
		return b
	}
	b = protowire.AppendTag(b, field, protowire.VarintType)
	return protowire.AppendVarint(b, uint64(v))
}

func sizeInt(field protowire.Number, v int64) int {
	if v == 0 {
		return 0
	}
	return protowire.SizeTag(field) + protowire.SizeVarint(uint64(v))
}

func appendBytes(b []byte, field protowire.Number, v []byte) []byte {
	if len(v) == 0 {
		return b
	}
	b = protowire.AppendTag(b, field, protowire.BytesType)
	return protowire.AppendBytes(b, v)
}

func sizeBytes(field protowire.Number, n int) int {
	if n == 0 {
		return 0
	}
	return protowire.SizeTag(field) + protowire.SizeBytes(n)
}

func sizeKV(kv *mvccpb.KeyValue) int {
	return sizeBytes(1, len(kv.Key)) + sizeInt(2, kv.CreateRevision) + sizeInt(3, kv.ModRevision) +
		sizeInt(4, kv.Version) + sizeBytes(5, len(kv.Value)) + sizeInt(6, kv.Lease)
}

func appendKV(b []byte, field protowire.Number, kv *mvccpb.KeyValue) []byte {
	b = protowire.AppendTag(b, field, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(sizeKV(kv)))
	b = appendBytes(b, 1, kv.Key)
	b = appendInt(b, 2, kv.CreateRevision)
	b = appendInt(b, 3, kv.ModRevision)
	b = appendInt(b, 4, kv.Version)
	b = appendBytes(b, 5, kv.Value)
	return appendInt(b, 6, kv.Lease)
}

// sizeEvent is the size of an event, without its tag and length.
func sizeEvent(e *mvccpb.Event, prev bool) int {
	n := sizeInt(1, int64(e.Type)) + 1 + protowire.SizeBytes(sizeKV(e.Kv))
	if prev && e.PrevKv != nil {
		n += 1 + protowire.SizeBytes(sizeKV(e.PrevKv))
	}
	return n
}

// appendEvent appends an event as the field of a WatchResponse.
func appendEvent(b []byte, e *mvccpb.Event, prev bool) []byte {
	b = protowire.AppendTag(b, 11, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(sizeEvent(e, prev)))
	b = appendInt(b, 1, int64(e.Type))
	b = appendKV(b, 2, e.Kv)
	if prev && e.PrevKv != nil {
		b = appendKV(b, 3, e.PrevKv)
	}
	return b
}

func appendHeader(b []byte, h *pb.ResponseHeader) []byte {
	n := sizeInt(1, int64(h.ClusterId)) + sizeInt(2, int64(h.MemberId)) + sizeInt(3, h.Revision) + sizeInt(4, int64(h.RaftTerm))
	b = protowire.AppendTag(b, 1, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(n))
	b = appendInt(b, 1, int64(h.ClusterId))
	b = appendInt(b, 2, int64(h.MemberId))
	b = appendInt(b, 3, h.Revision)
	return appendInt(b, 4, int64(h.RaftTerm))
}

// encodeRange writes a range's answer into a buffer of gRPC's pool.
func encodeRange(r *pb.RangeResponse) mem.BufferSlice {
	n := 64
	for _, kv := range r.Kvs {
		n += 1 + protowire.SizeBytes(sizeKV(kv))
	}
	pool := mem.DefaultBufferPool()
	buf := pool.Get(n)
	b := (*buf)[:0]
	if r.Header != nil {
		b = appendHeader(b, r.Header)
	}
	for _, kv := range r.Kvs {
		b = appendKV(b, 2, kv)
	}
	if r.More {
		b = appendInt(b, 3, 1)
	}
	b = appendInt(b, 4, r.Count)
	*buf = b
	return mem.BufferSlice{mem.NewBuffer(buf, pool)}
}

// encodedEvents are the events of one change as bytes, made at most once for
// all streams: without the former values, and with them.
type encodedEvents struct {
	revision    int64
	events      []*mvccpb.Event
	plain, prev oneForm
}

type oneForm struct {
	once sync.Once
	list [][]byte // of every event: tag, length, event
}

func (e *encodedEvents) form(prev bool) [][]byte {
	f := &e.plain
	if prev {
		f = &e.prev
	}
	f.once.Do(func() {
		f.list = make([][]byte, len(e.events))
		for i, ev := range e.events {
			f.list[i] = appendEvent(make([]byte, 0, sizeEvent(ev, prev)+8), ev, prev)
		}
	})
	return f.list
}

// eventCache keeps the bytes of the changes that were sent last: of a thousand
// small ones, and of one that is large.
type eventCache struct {
	ring  [1024]atomic.Pointer[encodedEvents]
	large atomic.Pointer[encodedEvents]
}

// largeChange is from how many bytes on a change is large.
const largeChange = 64 << 10

// of are the bytes of a change. A change is known again by its list of events,
// which the store shares between all who follow it closely; one from the past
// does not push a newer one out.
func (c *eventCache) of(ch raftstore.Change) *encodedEvents {
	slot := &c.ring[ch.Revision%int64(len(c.ring))]
	if isLarge(ch.Events) {
		slot = &c.large
	}
	e := slot.Load()
	if e != nil && &e.events[0] == &ch.Events[0] {
		return e
	}
	fresh := &encodedEvents{revision: ch.Revision, events: ch.Events}
	if e == nil || e.revision <= ch.Revision {
		slot.Store(fresh)
	}
	return fresh
}

func isLarge(events []*mvccpb.Event) bool {
	n := 0
	for _, e := range events {
		n += len(e.Kv.Value) + len(e.GetPrevKv().GetValue()) + 128
	}
	return n > largeChange
}

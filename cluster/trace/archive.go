package trace

import (
	"bufio"
	"io"
	"sort"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Archive reads events back from a recording while it is written: those that a
// bounded [Stream] has let go ([Stream.SetArchive]). Positions are those of the
// stream. Blocks are read and unpacked on demand, and the last few are kept. It may
// be used from any goroutine; writers of the trace never wait for it.
type Archive struct {
	// Restore, if set, makes of an event that was read the one that the stream had: the
	// recording may hold less. Set it before the archive is used.
	Restore func(*Event) *Event

	rec  *Recorder
	file io.ReaderAt
	from uint64 // position of the first event that was recorded

	mu     sync.Mutex
	zip    *zstd.Decoder
	lately []unpacked // the newest last
}

// placed is where a block lies in the file, and what it holds.
type placed struct {
	offset int64
	size   int64
	events uint64 // how many
	after  uint64 // how many events are in the blocks before it
	first  ID
}

type unpacked struct {
	block  int
	events []*Event
}

const (
	unpackedKept = 8
	flushWait    = 500 * time.Millisecond
)

// NewArchive reads back from what r writes; file is where r writes to, and
// the first event given to r has position from in its stream.
func NewArchive(r *Recorder, file io.ReaderAt, from uint64) (*Archive, error) {
	zip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock*2))
	if err != nil {
		return nil, err
	}
	return &Archive{rec: r, file: file, from: from, zip: zip}, nil
}

// Close lets go of what was unpacked; nothing is read after it.
func (a *Archive) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.zip.Close()
	a.file, a.lately = nil, nil
}

// read gives up to max events from a position on, as many as one block has;
// none where the recording has none.
func (a *Archive) read(pos uint64, max int) []*Event {
	if pos < a.from {
		return nil
	}
	n := pos - a.from
	blocks := a.rec.reached(n)
	i := sort.Search(len(blocks), func(i int) bool { return blocks[i].after+blocks[i].events > n })
	if i == len(blocks) {
		return nil
	}
	events := a.unpack(i, blocks[i])
	in := n - blocks[i].after
	if in >= uint64(len(events)) {
		return nil
	}
	events = events[in:]
	return events[:min(len(events), max):min(len(events), max)]
}

// search is the position of the first recorded event whose number is id or
// greater, if there is one.
func (a *Archive) search(id ID) (uint64, bool) {
	blocks := a.rec.written()
	i := sort.Search(len(blocks), func(i int) bool { return blocks[i].first.Compare(id) > 0 })
	if i == 0 {
		return a.from, len(blocks) > 0
	}
	i--
	events := a.unpack(i, blocks[i])
	in := sort.Search(len(events), func(n int) bool { return events[n].ID.Compare(id) >= 0 })
	if len(events) == 0 || in == len(events) && i+1 == len(blocks) {
		return 0, false
	}
	return a.from + blocks[i].after + uint64(in), true
}

func (a *Archive) unpack(i int, b placed) []*Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	for n, u := range a.lately {
		if u.block == i {
			a.lately = append(append(a.lately[:n:n], a.lately[n+1:]...), u)
			return u.events
		}
	}
	if a.file == nil {
		return nil
	}
	r := &Reader{in: bufio.NewReader(io.NewSectionReader(a.file, b.offset, b.size)), zip: a.zip}
	events := make([]*Event, 0, b.events)
	for range b.events {
		e, err := r.Next()
		if err != nil {
			return nil // somebody has changed the file under us: these events are gone
		}
		if a.Restore != nil {
			e = a.Restore(e)
		}
		events = append(events, e)
	}
	if len(a.lately) == unpackedKept {
		a.lately = append(a.lately[:0:0], a.lately[1:]...)
	}
	a.lately = append(a.lately, unpacked{i, events})
	return events
}

// SetArchive says where events are to be found that the stream lets go; nil
// for nowhere. From then on [Stream.Get], [Stream.At], [Stream.Search] and
// [Stream.Read] reach back to [Stream.Oldest].
func (s *Stream) SetArchive(a *Archive) { s.archive.Store(a) }

// Oldest is the position of the oldest event that can be had, from memory or
// from the archive.
func (s *Stream) Oldest() uint64 {
	first := s.First()
	if a := s.archive.Load(); a != nil && a.from < first && a.rec.whole() {
		return a.from
	}
	return first
}

// archived reads events that are not in memory any more.
func (s *Stream) archived(pos uint64, max int) []*Event {
	a := s.archive.Load()
	if a == nil {
		return nil
	}
	return a.read(pos, max)
}

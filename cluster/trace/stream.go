package trace

import (
	"sort"
	"sync"
	"sync/atomic"
)

// DefaultLimit is how many events a [Stream] keeps in memory unless told
// otherwise.
const DefaultLimit = 200_000

// Stream is the trace in memory: bounded, written by one goroutine and read by
// any number of others, none of which can hold the writer up.
//
// Events have absolute positions: the first event ever appended is at 0. When the
// limit is exceeded the oldest events are dropped; their positions are not reused, so
// a slow reader sees that it missed some, and how many.
//
// Events lie in chunks that are never moved or reused. The writer fills a slot
// and then publishes the new length; a reader looks at slots below a length it
// has read, so neither takes a lock.
type Stream struct {
	limit atomic.Uint64
	size  uint64 // events in a chunk

	length atomic.Uint64             // events ever appended
	dir    atomic.Pointer[directory] // the chunks that are kept

	mu    sync.Mutex // guards changes of the two lists below, not their reading
	wakes atomic.Pointer[[]*wake]
	tees  atomic.Pointer[[]*tee]

	archive atomic.Pointer[Archive] // has what was let go; nil if nothing does
}

// directory is an immutable list of chunks; chunks[0] starts at first.
type directory struct {
	first  uint64
	chunks [][]*Event
}

type wake struct{ ch chan struct{} }

type tee struct{ f func(*Event) }

// NewStream returns an empty stream that keeps about limit events (rounded up
// to whole chunks); 0 means [DefaultLimit].
func NewStream(limit int) *Stream {
	if limit <= 0 {
		limit = DefaultLimit
	}
	size := uint64(1024)
	for size > 16 && size*8 > uint64(limit) {
		size /= 2
	}
	s := &Stream{size: size}
	s.limit.Store(uint64(limit))
	s.dir.Store(&directory{})
	s.wakes.Store(&[]*wake{})
	s.tees.Store(&[]*tee{})
	return s
}

// Append adds an event at the end. It must always be called from the same
// goroutine, with rising IDs, and never blocks.
func (s *Stream) Append(e *Event) {
	n := s.length.Load()
	d := s.dir.Load()
	at := n - d.first
	if at == uint64(len(d.chunks))*s.size {
		d = s.grow(d)
		at = n - d.first
	}
	d.chunks[at/s.size][at%s.size] = e
	s.length.Store(n + 1)

	for _, t := range *s.tees.Load() {
		t.f(e)
	}
	for _, w := range *s.wakes.Load() {
		select {
		case w.ch <- struct{}{}:
		default: // a wake-up is already waiting there
		}
	}
}

// grow adds a chunk and lets go of the chunks that lie wholly before the
// limit.
func (s *Stream) grow(d *directory) *directory {
	old, first, limit := d.chunks, d.first, s.limit.Load()
	for uint64(len(old))*s.size >= limit+s.size {
		old, first = old[1:], first+s.size
	}
	grown := &directory{first: first, chunks: make([][]*Event, len(old), len(old)+1)}
	copy(grown.chunks, old)
	grown.chunks = append(grown.chunks, make([]*Event, s.size))
	s.dir.Store(grown)
	return grown
}

// Len is how many events were ever appended: the position after the newest.
func (s *Stream) Len() uint64 { return s.length.Load() }

// First is the position of the oldest event still kept in memory.
func (s *Stream) First() uint64 { return s.dir.Load().first }

// Limit is about how many events are kept.
func (s *Stream) Limit() int { return int(s.limit.Load()) }

// SetLimit changes about how many events are kept, which must be positive. Events beyond it are let go as
// others are appended.
func (s *Stream) SetLimit(limit int) { s.limit.Store(uint64(limit)) }

// Get is the event at a position, or nil if it is not there any more or not
// yet.
func (s *Stream) Get(pos uint64) *Event {
	n := s.length.Load()
	d := s.dir.Load()
	if pos < d.first {
		if old := s.archived(pos, 1); len(old) > 0 {
			return old[0]
		}
		return nil
	}
	if pos >= n {
		return nil
	}
	at := pos - d.first
	return d.chunks[at/s.size][at%s.size]
}

// Last is the newest event, or nil.
func (s *Stream) Last() *Event {
	n := s.length.Load()
	if n == 0 {
		return nil
	}
	return s.Get(n - 1)
}

// Read gives up to max events from position from on (0 or less: a chunk's
// worth), the position to go on from, and how many events between from and the
// first one given are not kept any more. The slice is shared: do not write to
// it.
func (s *Stream) Read(from uint64, max int) (events []*Event, next uint64, lost uint64) {
	n := s.length.Load()
	d := s.dir.Load()
	if max <= 0 {
		max = int(s.size)
	}
	if from < d.first {
		if old := s.archived(from, int(min(uint64(max), d.first-from))); len(old) > 0 {
			return old, from + uint64(len(old)), 0
		}
		lost = d.first - from
		from = d.first
	}
	if from >= n {
		return nil, from, lost
	}
	want := min(uint64(max), n-from)
	at := from - d.first
	if in := at % s.size; in+want <= s.size { // the common case: no copy
		c := d.chunks[at/s.size]
		return c[in : in+want : in+want], from + want, lost
	}
	events = make([]*Event, 0, want)
	for uint64(len(events)) < want {
		c, in := d.chunks[at/s.size], at%s.size
		part := min(s.size-in, want-uint64(len(events)))
		events = append(events, c[in:in+part]...)
		at += part
	}
	return events, from + want, lost
}

// At finds an event by its number, and its position.
func (s *Stream) At(id ID) (*Event, uint64, bool) {
	pos := s.Search(id)
	if e := s.Get(pos); e != nil && e.ID == id {
		return e, pos, true
	}
	return nil, 0, false
}

// Search is the position of the first event to be had whose number is id or
// greater; Len if there is none.
func (s *Stream) Search(id ID) uint64 {
	n := s.length.Load()
	d := s.dir.Load()
	if n <= d.first {
		return n
	}
	if a := s.archive.Load(); a != nil && d.first > 0 && id.Compare(d.chunks[0][0].ID) < 0 {
		if pos, ok := a.search(id); ok && pos < d.first {
			return pos
		}
	}
	return d.first + uint64(sort.Search(int(n-d.first), func(i int) bool {
		return d.chunks[uint64(i)/s.size][uint64(i)%s.size].ID.Compare(id) >= 0
	}))
}

// Notify returns a channel that receives something some time after events
// were appended; many appends may give one wake-up. Every reader has its own
// channel; stop ends it. Typical use: read until there is nothing more, then
// wait for the channel, and so on.
func (s *Stream) Notify() (changed <-chan struct{}, stop func()) {
	w := &wake{ch: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	add(&s.wakes, w)
	return w.ch, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		drop(&s.wakes, w)
	}
}

// Tee calls f with every event from now on, in order, on the goroutine that
// appends; f must not block. stop ends it: f may be called once more while
// stop returns.
func (s *Stream) Tee(f func(*Event)) (stop func()) {
	t := &tee{f: f}
	s.mu.Lock()
	defer s.mu.Unlock()
	add(&s.tees, t)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		drop(&s.tees, t)
	}
}

func add[T any](list *atomic.Pointer[[]*T], x *T) {
	old := *list.Load()
	grown := append(old[:len(old):len(old)], x)
	list.Store(&grown)
}

func drop[T any](list *atomic.Pointer[[]*T], x *T) {
	var rest []*T
	for _, o := range *list.Load() {
		if o != x {
			rest = append(rest, o)
		}
	}
	list.Store(&rest)
}

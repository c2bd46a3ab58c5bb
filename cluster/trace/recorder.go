package trace

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"k8s.io/apimachinery/pkg/runtime"
)

// Recorder writes events to a recording on a goroutine of its own: whoever
// hands it events never waits for the disk. It is one of the places where
// kviz meets the real world (a file), so real time passes in it.
type Recorder struct {
	w   io.Writer
	zip *zstd.Encoder

	mu      sync.Mutex
	pending []*Event
	closing bool
	flush   bool // write a block of what there is, however little
	err     error
	wake    chan struct{}
	done    chan struct{}

	// What is in the file, for the [Archive]. The list is replaced, not changed,
	// except for its end.
	blocks  []placed
	offset  int64
	given   uint64        // events handed over
	laid    uint64        // events in blocks
	gap     bool          // events are missing, so that positions are unknown
	another chan struct{} // closed and replaced with every block
}

const (
	blockEvents = 4096                   // events in a full block
	blockEvery  = 250 * time.Millisecond // an event lies at most this long in memory
	firstBlock  = 256                    // events in the first blocks: a short run that is cut off is worth reading
	smallBlocks = 8                      // how many blocks are small; from then on each may be twice as large as the one before
)

// room is how many events the next block may have.
func (r *Recorder) room() int {
	if n := len(r.blocks) - smallBlocks; n >= 0 {
		return min(firstBlock<<min(n+1, 16), blockEvents)
	}
	return firstBlock
}

// NewRecorder begins a recording by writing its header. Give its Append to
// [Stream.Tee]; Close writes what is left and the end.
func NewRecorder(w io.Writer, h Header) (*Recorder, error) {
	raw, err := encMode.Marshal(&h)
	if err != nil {
		return nil, err
	}
	head := append([]byte(nil), magic[:]...)
	head = binary.LittleEndian.AppendUint16(head, Format)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(raw)))
	if _, err := w.Write(append(head, raw...)); err != nil {
		return nil, err
	}
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	r := &Recorder{
		w: w, zip: zip, wake: make(chan struct{}, 1), done: make(chan struct{}), another: make(chan struct{}),
		offset: int64(len(head) + len(raw)),
	}
	go r.run()
	return r, nil
}

// Append hands over an event. It never blocks on the writer; what the writer
// has not got to is kept in memory. After an error events are let go.
func (r *Recorder) Append(e *Event) {
	r.mu.Lock()
	if !r.closing && r.err == nil {
		r.pending = append(r.pending, e)
		r.given++
	}
	r.mu.Unlock()
	r.stir()
}

// Gap says that events are missing before the next one: whoever gives them was
// too slow. Nothing can be read back by position from then on.
func (r *Recorder) Gap() {
	r.mu.Lock()
	r.gap = true
	r.mu.Unlock()
}

// Flush has a block written of what was handed over, and waits for it, but not
// for long: a disk that hangs holds nobody up.
func (r *Recorder) Flush() {
	deadline := time.After(flushWait)
	for {
		r.mu.Lock()
		if r.laid == r.given || r.err != nil || r.closing {
			r.mu.Unlock()
			return
		}
		r.flush = true
		another := r.another
		r.mu.Unlock()
		r.stir()
		select {
		case <-another:
		case <-r.done:
			return
		case <-deadline:
			return
		}
	}
}

func (r *Recorder) stir() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// written lists the blocks in the file; none when positions are unknown.
func (r *Recorder) written() []placed {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gap {
		return nil
	}
	return r.blocks[:len(r.blocks):len(r.blocks)]
}

// reached lists the blocks in the file, with that of the n-th event if it was
// handed over.
func (r *Recorder) reached(n uint64) []placed {
	r.mu.Lock()
	waits := n >= r.laid && n < r.given
	r.mu.Unlock()
	if waits {
		r.Flush()
	}
	return r.written()
}

// whole reports whether everything that was handed over can be read back.
func (r *Recorder) whole() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.gap && r.err == nil
}

// Err is the error that ended the recording, if one did.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close writes what is left and the end of the recording, and waits for it. It
// does not close the writer.
func (r *Recorder) Close() error {
	r.mu.Lock()
	again := r.closing
	r.closing = true
	r.mu.Unlock()
	if !again {
		r.stir()
	}
	<-r.done
	return r.Err()
}

func (r *Recorder) run() {
	defer close(r.done)
	// An event that cannot be written ends the recording, not the program and
	// the person's terminal with it.
	defer func() {
		if v := recover(); v != nil {
			r.fail(fmt.Errorf("write a recording: panic: %v\n%s", v, debug.Stack()))
		}
	}()
	tick := time.NewTicker(blockEvery)
	defer tick.Stop()
	var events []*Event
	for {
		due := false
		select {
		case <-r.wake:
		case <-tick.C:
			due = true
		}
		r.mu.Lock()
		events = append(events, r.pending...)
		clear(r.pending)
		r.pending = r.pending[:0]
		if cap(r.pending) > 16*blockEvents {
			r.pending = nil
		}
		closing := r.closing
		due, r.flush = due || closing || r.flush, false
		r.mu.Unlock()
		for n := r.room(); len(events) >= n || due && len(events) > 0; n = r.room() {
			n = min(n, len(events))
			r.fail(r.block(events[:n]))
			events = events[n:]
		}
		if len(events) == 0 {
			events = nil
		}
		if closing {
			r.fail(r.write(make([]byte, 12)))
			r.zip.Close()
			return
		}
	}
}

func (r *Recorder) fail(err error) {
	if err == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
		r.pending = nil
	}
}

func (r *Recorder) write(b []byte) error {
	if err := r.Err(); err != nil {
		return err
	}
	_, err := r.w.Write(b)
	return err
}

func (r *Recorder) block(events []*Event) error {
	if err := r.Err(); err != nil {
		return nil // the first error is kept
	}
	data, err := encodeBlock(events)
	if err != nil {
		return err
	}
	packed := r.zip.EncodeAll(data, nil)
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(packed)))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(events)))
	head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(packed, castagnoli))
	if err := r.write(append(head, packed...)); err != nil {
		return err
	}
	b := placed{offset: r.offset, size: int64(len(head) + len(packed)), events: uint64(len(events)), after: r.laid, first: events[0].ID}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blocks = append(r.blocks, b)
	r.offset += b.size
	r.laid += b.events
	close(r.another)
	r.another = make(chan struct{})
	return nil
}

// encodeBlock writes the objects of the events, then the events.
func encodeBlock(events []*Event) ([]byte, error) {
	places := map[runtime.Object]uint32{}
	var objects []*wireObject
	place := func(o runtime.Object) (uint32, error) {
		if n, ok := places[o]; ok {
			return n, nil
		}
		w, err := encodeObject(o)
		if err != nil {
			return 0, err
		}
		n := uint32(len(objects))
		objects, places[o] = append(objects, w), n
		return n, nil
	}
	var body []byte
	for _, e := range events {
		b, err := encodeEvent(e, place)
		if err != nil {
			return nil, err
		}
		body = append(body, b...)
	}
	if objects == nil {
		objects = []*wireObject{}
	}
	table, err := encMode.Marshal(objects)
	if err != nil {
		return nil, err
	}
	return append(table, body...), nil
}

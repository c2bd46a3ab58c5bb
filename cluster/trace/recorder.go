package trace

import (
	"encoding/binary"
	"hash/crc32"
	"io"
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
	err     error
	wake    chan struct{}
	done    chan struct{}
}

const (
	blockEvents = 4096        // events in a full block
	blockEvery  = time.Second // an event lies at most this long in memory
)

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
	r := &Recorder{w: w, zip: zip, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go r.run()
	return r, nil
}

// Append hands over an event. It never blocks on the writer; what the writer
// has not got to is kept in memory. After an error events are let go.
func (r *Recorder) Append(e *Event) {
	r.mu.Lock()
	if !r.closing && r.err == nil {
		r.pending = append(r.pending, e)
	}
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
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
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
	<-r.done
	return r.Err()
}

func (r *Recorder) run() {
	defer close(r.done)
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
		r.mu.Unlock()
		for len(events) >= blockEvents {
			r.fail(r.block(events[:blockEvents]))
			events = events[blockEvents:]
		}
		if len(events) > 0 && (due || closing) {
			r.fail(r.block(events))
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
	return r.write(append(head, packed...))
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

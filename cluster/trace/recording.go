package trace

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/klauspost/compress/zstd"
)

// A recording is a file:
//
//	"kviztrc\n"  format uint16  length uint32  header (CBOR)
//	blocks:      length uint32  events uint32  checksum uint32  zstd(CBOR)
//	end:         a block of no events
//
// All numbers are little-endian; the checksum is CRC-32C of the compressed
// bytes. A block stands alone: a file that was cut off is readable to its last
// whole block, and the writer cuts a block at least four times a second, the
// first ones small.

// Format is the version of the format that this package writes, and the newest
// that it reads.
const Format = 1

var magic = [8]byte{'k', 'v', 'i', 'z', 't', 'r', 'c', '\n'}

// Limits that keep a damaged file from taking all memory.
const (
	maxHeader = 1 << 20
	maxBlock  = 1 << 28
	maxEvents = 1 << 20
)

// Header says what a recording is of.
type Header struct {
	Version string // of kviz
	Seed    uint64
	Epoch   time.Time
	Store   string // raft, mvcc
	Members int
	Nodes   int
	Inputs  []string `json:",omitempty"` // how it was started: arguments, script
}

// Errors of reading a recording.
var (
	// ErrNotRecording says that a file is something else.
	ErrNotRecording = errors.New("not a kviz recording")
	// ErrTruncated says that a recording has no proper end: whoever wrote it was
	// killed, or still writes. What came before it is good.
	ErrTruncated = errors.New("the recording breaks off")
	// ErrDamaged says that a recording was changed. What came before the damage
	// is good.
	ErrDamaged = errors.New("the recording is damaged")
)

// NewerError says that a recording was written by a newer kviz.
type NewerError struct {
	Format uint16
	Header Header // as far as it could be read
}

func (e *NewerError) Error() string {
	by := "a newer kviz"
	if e.Header.Version != "" {
		by = "kviz " + e.Header.Version
	}
	return fmt.Sprintf("the recording has format %d and was written by %s; this kviz reads formats up to %d (only its header could be read: seed %d, %d nodes)",
		e.Format, by, Format, e.Header.Seed, e.Header.Nodes)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Reader reads a recording event by event.
type Reader struct {
	header Header
	in     *bufio.Reader
	close  func() error
	zip    *zstd.Decoder

	data    []byte // the rest of the block
	objects []*Object
	left    uint32
	read    int
	last    ID
	err     error
}

// Open opens a recording file. Close the reader when done.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := NewReader(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.close = f.Close
	return r, nil
}

// NewReader reads a recording from in. A *[NewerError] has what could be read
// of the header.
func NewReader(in io.Reader) (*Reader, error) {
	r := &Reader{in: bufio.NewReaderSize(in, 1<<16), close: func() error { return nil }}
	var head [14]byte
	if n, err := io.ReadFull(r.in, head[:]); err != nil || [8]byte(head[:8]) != magic {
		if n >= 8 && [8]byte(head[:8]) == magic {
			return nil, fmt.Errorf("%w in its header", ErrTruncated)
		}
		return nil, ErrNotRecording
	}
	format := binary.LittleEndian.Uint16(head[8:])
	size := binary.LittleEndian.Uint32(head[10:])
	if size > maxHeader {
		return nil, fmt.Errorf("%w: a header of %d bytes", ErrDamaged, size)
	}
	raw := make([]byte, size)
	if _, err := io.ReadFull(r.in, raw); err != nil {
		return nil, fmt.Errorf("%w in its header", ErrTruncated)
	}
	err := decMode.Unmarshal(raw, &r.header)
	if format > Format {
		return nil, &NewerError{Format: format, Header: r.header}
	}
	if err != nil || format == 0 {
		return nil, fmt.Errorf("%w: its header: %v", ErrDamaged, err)
	}
	r.zip, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock*2))
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Header says what the recording is of.
func (r *Reader) Header() Header { return r.header }

// Close closes the file.
func (r *Reader) Close() error {
	if r.zip != nil {
		r.zip.Close()
	}
	return r.close()
}

// Next is the next event; io.EOF after the last. ErrTruncated and ErrDamaged
// (wrapped) end the reading as well: the events before were good.
func (r *Reader) Next() (*Event, error) {
	if r.err != nil {
		return nil, r.err
	}
	e, err := r.next()
	if err != nil {
		r.err = err
		return nil, err
	}
	r.read++
	r.last = e.ID
	return e, nil
}

func (r *Reader) next() (*Event, error) {
	if r.left == 0 {
		if err := r.block(); err != nil {
			return nil, err
		}
	}
	e, rest, err := decodeEvent(r.data, r.objects)
	if err != nil {
		return nil, fmt.Errorf("%w after event %s: %v", ErrDamaged, r.last, err)
	}
	if r.read > 0 && e.ID.Compare(r.last) <= 0 {
		return nil, fmt.Errorf("%w: event %s comes after event %s", ErrDamaged, e.ID, r.last)
	}
	r.data = rest
	r.left--
	return e, nil
}

// block reads the next block.
func (r *Reader) block() error {
	var head [12]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		return fmt.Errorf("%w after %d events, the last is %s", ErrTruncated, r.read, r.last)
	}
	size := binary.LittleEndian.Uint32(head[0:])
	events := binary.LittleEndian.Uint32(head[4:])
	sum := binary.LittleEndian.Uint32(head[8:])
	if events == 0 && size == 0 {
		switch _, err := r.in.ReadByte(); err {
		case io.EOF:
			return io.EOF
		case nil:
			return fmt.Errorf("%w: something follows its end, after event %s", ErrDamaged, r.last)
		default:
			return fmt.Errorf("read on after the end, event %s: %w", r.last, err)
		}
	}
	if size > maxBlock || events > maxEvents || events == 0 {
		return fmt.Errorf("%w after event %s: a block of %d bytes with %d events", ErrDamaged, r.last, size, events)
	}
	packed, err := io.ReadAll(io.LimitReader(r.in, int64(size)))
	if err != nil || len(packed) < int(size) {
		return fmt.Errorf("%w after %d events, the last is %s", ErrTruncated, r.read, r.last)
	}
	if crc32.Checksum(packed, castagnoli) != sum {
		return fmt.Errorf("%w after event %s: a block's checksum is wrong", ErrDamaged, r.last)
	}
	data, err := r.zip.DecodeAll(packed, nil)
	if err != nil {
		return fmt.Errorf("%w after event %s: %v", ErrDamaged, r.last, err)
	}
	return r.unpack(data, events)
}

// unpack reads the objects at the start of a block.
func (r *Reader) unpack(data []byte, events uint32) error {
	var raw []cbor.RawMessage
	rest, err := decMode.UnmarshalFirst(data, &raw)
	if err != nil {
		return fmt.Errorf("%w after event %s: %v", ErrDamaged, r.last, err)
	}
	r.objects = make([]*Object, len(raw))
	for i, x := range raw {
		var w wireObject
		if err := decMode.Unmarshal(x, &w); err != nil {
			return fmt.Errorf("%w after event %s: %v", ErrDamaged, r.last, err)
		}
		o, err := decodeObject(&w)
		if err != nil {
			return fmt.Errorf("%w after event %s: %v", ErrDamaged, r.last, err)
		}
		r.objects[i] = &Object{Value: o}
	}
	r.data, r.left = rest, events
	return nil
}

// ReadAll reads a whole recording. When it breaks off or is damaged, the
// events before are returned together with the error.
func ReadAll(path string) (Header, []*Event, error) {
	r, err := Open(path)
	if err != nil {
		var newer *NewerError
		if errors.As(err, &newer) {
			return newer.Header, nil, err
		}
		return Header{}, nil, err
	}
	defer r.Close()
	var events []*Event
	for {
		e, err := r.Next()
		if err == io.EOF {
			return r.header, events, nil
		}
		if err != nil {
			return r.header, events, fmt.Errorf("%s: %w", path, err)
		}
		events = append(events, e)
	}
}

package remote

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// A frame is four bytes of length, most significant first, and as many bytes
// of contents.

const (
	// maxFrame is the largest frame: an append of 512 entries of etcd's largest
	// request has 768 MiB.
	maxFrame = 1 << 30
	// maxHello is the largest first frame of a connection.
	maxHello = 1 << 16
	// keepFrame is how large a buffer may be to stay with its connection.
	keepFrame = 1 << 20
)

// frameHeader is room for the length; [sealFrame] fills it in.
var frameHeader = make([]byte, 4)

// sealFrame fills in the length of a frame that began at start.
func sealFrame(b []byte, start int) []byte {
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

// frame is a value as one frame.
func frame(b []byte, v any) []byte {
	start := len(b)
	return sealFrame(appendValue(append(b, frameHeader...), v), start)
}

// readFrame reads a frame's contents into buf, which it may replace by a larger
// one. A length is only believed as far as bytes arrive.
func readFrame(r io.Reader, buf *bytes.Buffer, limit int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int64(binary.BigEndian.Uint32(head[:]))
	if n > int64(limit) {
		return nil, fmt.Errorf("a frame of %d bytes; at most %d are taken", n, limit)
	}
	if buf.Cap() > keepFrame {
		*buf = bytes.Buffer{}
	}
	buf.Reset()
	if _, err := io.CopyN(buf, r, n); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return buf.Bytes(), nil
}

package member

import (
	"encoding/binary"
	"time"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
)

// read reads an entry. One that is not as [appendEntry] writes it, of a log that
// another program began, is raft-boltdb's to read.
func (b *boltLog) read(index uint64, l *raft.Log) error {
	ours := false
	err := boltOf(b.BoltStore).View(func(tx *bbolt.Tx) error {
		value := tx.Bucket(logsBucket).Get(binary.BigEndian.AppendUint64(nil, index))
		if value == nil {
			return raft.ErrLogNotFound
		}
		if ours = decodeEntry(value, l); ours {
			l.Data, l.Extensions = cloned(l.Data), cloned(l.Extensions)
		}
		return nil
	})
	if err != nil || ours {
		return err
	}
	*l = raft.Log{}
	return b.BoltStore.GetLog(index, l)
}

// cloned is a copy that outlives the transaction; nil stays nil.
func cloned(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

// decodeEntry reads what [appendEntry] has written, with or without a checksum behind it,
// and reports whether it is that. Data and Extensions lie in b.
func decodeEntry(b []byte, l *raft.Log) bool {
	d := decoder{b: b, ok: true}
	if d.byte() != mpMap|6 {
		return false
	}
	d.name("AppendedAt")
	l.AppendedAt = d.time()
	d.name("Data")
	l.Data = d.bytes()
	d.name("Extensions")
	l.Extensions = d.bytes()
	d.name("Index")
	l.Index = d.uint()
	d.name("Term")
	l.Term = d.uint()
	d.name("Type")
	l.Type = raft.LogType(d.uint())
	return d.ok && (len(d.b) == 0 || len(d.b) == sumSize)
}

// decoder reads msgpack from the front of b, and does nothing more once it is not ok.
type decoder struct {
	b  []byte
	ok bool
}

// take is the next n bytes; zeros, if they are not there.
func (d *decoder) take(n int) []byte {
	if d.ok = d.ok && n <= len(d.b); !d.ok {
		return make([]byte, min(n, 16))
	}
	taken := d.b[:n:n]
	d.b = d.b[n:]
	return taken
}

func (d *decoder) byte() byte { return d.take(1)[0] }

func (d *decoder) name(want string) {
	got := d.bytes()
	d.ok = d.ok && string(got) == want
}

// bytes is a string or nil.
func (d *decoder) bytes() []byte {
	switch c := d.byte(); {
	case c == mpNil:
		return nil
	case c&^31 == mpString:
		return d.take(int(c & 31))
	case c == mpRaw16:
		return d.take(int(binary.BigEndian.Uint16(d.take(2))))
	case c == mpRaw32:
		return d.take(int(binary.BigEndian.Uint32(d.take(4))))
	}
	d.ok = false
	return nil
}

func (d *decoder) uint() uint64 {
	switch c := d.byte(); {
	case c < 1<<7:
		return uint64(c)
	case c == mpUint8:
		return uint64(d.byte())
	case c == mpUint16:
		return uint64(binary.BigEndian.Uint16(d.take(2)))
	case c == mpUint32:
		return uint64(binary.BigEndian.Uint32(d.take(4)))
	case c == mpUint64:
		return binary.BigEndian.Uint64(d.take(8))
	}
	d.ok = false
	return 0
}

func (d *decoder) time() time.Time {
	switch b := d.bytes(); len(b) {
	case 0:
		return time.Time{}
	case 4:
		return time.Unix(int64(binary.BigEndian.Uint32(b)), 0).UTC()
	case 8:
		x := binary.BigEndian.Uint64(b)
		return time.Unix(int64(x&(1<<34-1)), int64(x>>34)).UTC()
	case 12:
		return time.Unix(int64(binary.BigEndian.Uint64(b[4:])), int64(binary.BigEndian.Uint32(b))).UTC()
	}
	d.ok = false
	return time.Time{}
}

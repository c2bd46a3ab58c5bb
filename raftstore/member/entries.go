package member

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// boltLog is raft-boltdb's store with its own way of writing: an entry's bytes in the
// file are the same, followed by their checksum, and can be read by raft-boltdb
// (FuzzEntriesAreRaftBoltdbs), but they are made without reflection in a buffer that stays. In a large
// cluster the three members' StoreLogs made a third of the whole process's
// garbage.
//
// Entries come in the order of their keys, so pages are filled (bbolt would leave
// half of each free for keys that come in between).
type boltLog struct {
	*raftboltdb.BoltStore
	buffer []byte // used under bbolt's write lock
	trim   trim
}

var _ raft.LogStore = (*boltLog)(nil)

// logsBucket is where raft-boltdb keeps entries (its dbLogs).
var logsBucket = []byte("logs")

// keepBuffer is how large a buffer may be to stay.
const keepBuffer = 1 << 20

// StoreLog writes one entry.
func (b *boltLog) StoreLog(l *raft.Log) error { return b.StoreLogs([]*raft.Log{l}) }

// StoreLogs writes entries in one transaction; they are durable when it returns.
func (b *boltLog) StoreLogs(logs []*raft.Log) error {
	return boltOf(b.BoltStore).Update(func(tx *bbolt.Tx) error {
		size := 0
		for _, l := range logs {
			size += entryOverhead + len(l.Data) + len(l.Extensions)
		}
		// The values must stay what they are until the transaction ends.
		buf := slices.Grow(b.buffer[:0], size)
		bucket := tx.Bucket(logsBucket)
		bucket.FillPercent = 1
		for _, l := range logs {
			start := len(buf)
			buf = appendSum(appendEntry(buf, l), start, l.Index)
			if err := bucket.Put(binary.BigEndian.AppendUint64(nil, l.Index), buf[start:len(buf):len(buf)]); err != nil {
				return err
			}
		}
		if b.buffer = buf[:0]; cap(buf) > keepBuffer {
			b.buffer = nil
		}
		if err := b.trim.more(bucket, len(logs)); err != nil {
			return err
		}
		return setAnchor(tx, logs[len(logs)-1].Index)
	})
}

// DeleteRange removes entries. What is last afterwards is found before: bbolt's
// Cursor.Last does not end in a transaction that has emptied more than one page
// (v1.5.0).
func (b *boltLog) DeleteRange(min, max uint64) error {
	return boltOf(b.BoltStore).Update(func(tx *bbolt.Tx) error {
		bucket, last := tx.Bucket(logsBucket), lastIn(tx)
		if first, _ := bucket.Cursor().First(); len(first) == 8 {
			min = b.trim.from(min, binary.BigEndian.Uint64(first))
		}
		if max < last && max-min >= trimAtOnce && max > min {
			b.trim.begin(max)
			return nil
		}
		left := last
		if max >= last && min <= last {
			max = last
			left = before(bucket, min)
			b.trim.end(min)
		}
		for i := min; i <= max && max > 0; i++ {
			if err := bucket.Delete(binary.BigEndian.AppendUint64(nil, i)); err != nil {
				return err
			}
		}
		return setAnchor(tx, left)
	})
}

// before is the last index before another, 0 if there is none.
func before(bucket *bbolt.Bucket, index uint64) uint64 {
	c := bucket.Cursor()
	if key, _ := c.Seek(binary.BigEndian.AppendUint64(nil, index)); key == nil {
		return 0
	}
	if key, _ := c.Prev(); len(key) == 8 {
		return binary.BigEndian.Uint64(key)
	}
	return 0
}

// Set writes a key of raft's.
func (b *boltLog) Set(key, value []byte) error {
	return boltOf(b.BoltStore).Update(func(tx *bbolt.Tx) error {
		if err := tx.Bucket(confBucket).Put(key, value); err != nil {
			return err
		}
		return setAnchor(tx, lastIn(tx))
	})
}

// SetUint64 writes a number of raft's.
func (b *boltLog) SetUint64(key []byte, value uint64) error {
	return b.Set(key, binary.BigEndian.AppendUint64(nil, value))
}

// entryOverhead is more than an entry takes beside its data and extensions.
const entryOverhead = 128

// msgpack's first bytes.
const (
	mpNil    = 0xc0
	mpMap    = 0x80
	mpString = 0xa0
	mpRaw16  = 0xda
	mpRaw32  = 0xdb
	mpUint8  = 0xcc
	mpUint16 = 0xcd
	mpUint32 = 0xce
	mpUint64 = 0xcf
)

// appendEntry is the entry as raft-boltdb writes it: a msgpack map of
// raft.Log's fields by name.
//
// Mirrors hashicorp/go-msgpack codec/msgpack.go msgpackEncDriver.
func appendEntry(b []byte, l *raft.Log) []byte {
	b = append(b, mpMap|6)
	b = appendTime(appendRaw(b, "AppendedAt"), l.AppendedAt)
	b = appendBytes(appendRaw(b, "Data"), l.Data)
	b = appendBytes(appendRaw(b, "Extensions"), l.Extensions)
	b = appendUint(appendRaw(b, "Index"), l.Index)
	b = appendUint(appendRaw(b, "Term"), l.Term)
	return appendUint(appendRaw(b, "Type"), uint64(l.Type))
}

func appendBytes(b, data []byte) []byte {
	if data == nil {
		return append(b, mpNil)
	}
	return appendRaw(b, data)
}

func appendRaw[T string | []byte](b []byte, data T) []byte {
	switch n := len(data); {
	case n < 32:
		b = append(b, mpString|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, mpRaw16), uint16(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, mpRaw32), uint32(n))
	}
	return append(b, data...)
}

func appendUint(b []byte, x uint64) []byte {
	switch {
	case x < 1<<7:
		return append(b, byte(x))
	case x < 1<<8:
		return append(b, mpUint8, byte(x))
	case x < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, mpUint16), uint16(x))
	case x < 1<<32:
		return binary.BigEndian.AppendUint32(append(b, mpUint32), uint32(x))
	}
	return binary.BigEndian.AppendUint64(append(b, mpUint64), x)
}

// appendTime writes msgpack's timestamp, in 4, 8 or 12 bytes.
func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, mpNil)
	}
	sec, nsec := t.Unix(), uint64(t.Nanosecond())
	switch {
	case sec < 0 || sec>>34 != 0:
		b = binary.BigEndian.AppendUint32(append(b, mpString|12), uint32(nsec))
		return binary.BigEndian.AppendUint64(b, uint64(sec))
	case nsec != 0 || sec>>32 != 0:
		return binary.BigEndian.AppendUint64(append(b, mpString|8), nsec<<34|uint64(sec))
	}
	return binary.BigEndian.AppendUint32(append(b, mpString|4), uint32(sec))
}

package member

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
)

// trim removes the entries that a snapshot covers from the log gradually, as new ones
// come. Removed at once they would leave thousands of free pages, and bbolt writes the
// list of all free pages again with every transaction: in a large cluster that was a sixth
// of the whole process's garbage, and a third of what was written. For raft they are gone
// at once; a member that is opened again before they are may still have some, as if it
// kept more behind its snapshot.
type trim struct {
	upTo   atomic.Uint64 // what is in the log up to here is gone for raft; 0: nothing is
	stored int           // entries since the last step; used under bbolt's write lock
}

const (
	trimAtOnce = 1024           // fewer than so many are taken out at once
	trimEvery  = 256            // entries are stored between two steps
	trimStep   = trimEvery + 16 // hardly more than come: what gets free is used at once
)

// begin has entries be gone for raft; under bbolt's write lock, as all that follows.
func (t *trim) begin(upTo uint64) { t.upTo.Store(upTo) }

// end forgets what was to be taken out from an index on: it is taken out by others.
func (t *trim) end(from uint64) {
	if upTo := t.upTo.Load(); 0 < from && from <= upTo {
		t.upTo.Store(from - 1)
	}
}

// from is where a removal begins that raft has begin at min, in a file that begins at
// first: raft takes for gone what may still be there.
func (t *trim) from(min, first uint64) uint64 {
	if min < first || min <= t.upTo.Load()+1 {
		return first
	}
	return min
}

// more takes out the next entries when enough new ones have come.
func (t *trim) more(bucket *bbolt.Bucket, stored int) error {
	upTo := t.upTo.Load()
	if upTo == 0 {
		return nil
	}
	if t.stored += stored; t.stored < trimEvery {
		return nil
	}
	t.stored = 0
	key, _ := bucket.Cursor().First()
	if len(key) != 8 {
		return nil
	}
	i := binary.BigEndian.Uint64(key)
	for end := min(upTo, i+trimStep-1); i <= end; i++ {
		if err := bucket.Delete(binary.BigEndian.AppendUint64(nil, i)); err != nil {
			return err
		}
	}
	return nil
}

// gone reports whether an entry is gone for raft.
func (t *trim) gone(index uint64) bool { return 0 < index && index <= t.upTo.Load() }

// FirstIndex is the first index in the log, 0 if it is empty.
func (b *boltLog) FirstIndex() (uint64, error) {
	first, err := b.BoltStore.FirstIndex()
	if first > 0 {
		first = max(first, b.trim.upTo.Load()+1)
	}
	return first, err
}

// GetLog reads an entry.
func (b *boltLog) GetLog(index uint64, l *raft.Log) error {
	if b.trim.gone(index) {
		return raft.ErrLogNotFound
	}
	return b.read(index, l)
}

package member

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"go.etcd.io/bbolt"
)

// What stands in the log file is checked when it is opened, so that a changed bit is
// noticed before the member may vote:
//
//   - Behind each entry stands its CRC-32C. raft-boltdb reads over it.
//   - Beside raft's term and vote stands the anchor: the last index in the log, and a
//     CRC-32C of it with the term and the vote. It is written with every change, in
//     the same transaction, and takes no page of its own.
//
// A log of an earlier version, which has neither, gets both when it is opened.

// confBucket is where raft-boltdb keeps the term and the vote (its dbConf).
var confBucket = []byte("conf")

// anchorKey comes before raft's keys: a list of keys that is cut short still has it.
var anchorKey = []byte("Anchor")

var raftKeys = []string{keyCurrentTerm, keyLastVoteCand, keyLastVoteTerm}

const (
	sumSize    = 4
	anchorSize = 8 + sumSize
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumOf is an entry's checksum: of its place in the log and of its bytes.
func sumOf(index uint64, entry []byte) uint32 {
	var place [8]byte
	binary.BigEndian.PutUint64(place[:], index)
	return crc32.Update(crc32.Checksum(place[:], castagnoli), castagnoli, entry)
}

// appendSum puts a checksum behind the entry that begins at start.
func appendSum(b []byte, start int, index uint64) []byte {
	return binary.BigEndian.AppendUint32(b, sumOf(index, b[start:]))
}

func sumFits(index uint64, value []byte) bool {
	n := len(value) - sumSize
	return n > 0 && binary.BigEndian.Uint32(value[n:]) == sumOf(index, value[:n])
}

// anchor is what stands beside the term and the vote that conf holds.
func anchor(conf *bbolt.Bucket, last uint64) []byte {
	a := binary.BigEndian.AppendUint64(make([]byte, 0, anchorSize), last)
	sum := crc32.Checksum(a, castagnoli)
	var size [4]byte
	for _, key := range raftKeys {
		value := conf.Get([]byte(key))
		binary.BigEndian.PutUint32(size[:], uint32(len(value)))
		sum = crc32.Update(crc32.Update(sum, castagnoli, size[:]), castagnoli, value)
	}
	return binary.BigEndian.AppendUint32(a, sum)
}

// setAnchor writes it; the transaction holds the rest of the change already.
func setAnchor(tx *bbolt.Tx, last uint64) error {
	conf := tx.Bucket(confBucket)
	return conf.Put(anchorKey, anchor(conf, last))
}

// lastIn is the last index in the log.
func lastIn(tx *bbolt.Tx) uint64 {
	if key, _ := tx.Bucket(logsBucket).Cursor().Last(); len(key) == 8 {
		return binary.BigEndian.Uint64(key)
	}
	return 0
}

// create marks a new file as one that has forgotten nothing.
func (b *boltLog) create() error {
	return boltOf(b.BoltStore).Update(func(tx *bbolt.Tx) error { return setAnchor(tx, 0) })
}

// verify looks whether a log is what was written. snapshot is the index up to which
// entries may be missing.
func (b *boltLog) verify(snapshot uint64) error {
	early := false
	err := boltOf(b.BoltStore).View(func(tx *bbolt.Tx) (err error) {
		if err := onlyOurs(tx); err != nil {
			return err
		}
		conf := tx.Bucket(confBucket)
		stands := conf.Get(anchorKey)
		summed, plain, err := verifyEntries(tx, snapshot)
		if err != nil {
			return err
		}
		last := lastIn(tx)
		switch {
		case stands == nil && summed+plain == 0:
			return errors.New("it holds nothing; " + forgotten)
		case stands == nil && summed == 0:
			early = true
			return nil
		case stands == nil:
			return errors.New("what stood beside its term and vote is gone")
		case plain > 0:
			return fmt.Errorf("%d of %d entries are not what was written", plain, summed+plain)
		case len(stands) != anchorSize:
			return errors.New("what stands beside its term and vote is not what was written")
		case binary.BigEndian.Uint64(stands) != last:
			return fmt.Errorf("its last entry is %d; %d was written", last, binary.BigEndian.Uint64(stands))
		case !slices.Equal(stands, anchor(conf, last)):
			return errors.New("its term or vote is not what was written")
		}
		return nil
	})
	if err == nil && early {
		return b.bringUpToDate()
	}
	return err
}

// onlyOurs refuses names that nobody wrote: under them stands what is missing
// elsewhere.
func onlyOurs(tx *bbolt.Tx) error {
	err := tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
		if s := string(name); b == nil || s != string(confBucket) && s != string(logsBucket) {
			return fmt.Errorf("it has a %q, which nobody wrote", name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return tx.Bucket(confBucket).ForEach(func(key, _ []byte) error {
		if s := string(key); s != string(anchorKey) && !slices.Contains(raftKeys, s) {
			return fmt.Errorf("beside its term and vote stands %q, which nobody wrote", key)
		}
		return nil
	})
}

// verifyEntries counts the entries with a checksum that fits, and those without.
func verifyEntries(tx *bbolt.Tx, snapshot uint64) (summed, plain int, err error) {
	before := uint64(0)
	err = tx.Bucket(logsBucket).ForEach(func(key, value []byte) error {
		if len(key) != 8 {
			return fmt.Errorf("an entry has the key %x", key)
		}
		index := binary.BigEndian.Uint64(key)
		if index != before+1 && index > snapshot+1 {
			return fmt.Errorf("entries %d to %d are missing", max(before, snapshot)+1, index-1)
		}
		if before = index; sumFits(index, value) {
			summed++
		} else {
			plain++
		}
		return nil
	})
	return summed, plain, err
}

// bringUpToDate gives a log of an earlier version its checksums.
func (b *boltLog) bringUpToDate() error {
	return boltOf(b.BoltStore).Update(func(tx *bbolt.Tx) error {
		logs := tx.Bucket(logsBucket)
		var keys, values [][]byte
		err := logs.ForEach(func(key, value []byte) error {
			keys, values = append(keys, slices.Clone(key)), append(values, appendSum(slices.Clone(value), 0, binary.BigEndian.Uint64(key)))
			return nil
		})
		for i := 0; err == nil && i < len(keys); i++ {
			err = logs.Put(keys[i], values[i])
		}
		if err != nil {
			return err
		}
		return setAnchor(tx, lastIn(tx))
	})
}

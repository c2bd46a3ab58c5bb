package member

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
)

// oldest is the first entry that is in the file.
func oldest(t *testing.T, b *boltLog) (index uint64) {
	t.Helper()
	must(t, boltOf(b.BoltStore).View(func(tx *bbolt.Tx) error {
		if key, _ := tx.Bucket(logsBucket).Cursor().First(); len(key) == 8 {
			index = binary.BigEndian.Uint64(key)
		}
		return nil
	}))
	return index
}

func firstOf(t *testing.T, d *disk) uint64 {
	t.Helper()
	first, err := d.FirstIndex()
	must(t, err)
	return first
}

// What a snapshot covers is gone for raft at once, and from the file as entries come; the
// list of free pages, which every transaction writes, stays short.
func TestALogIsTrimmedByAndBy(t *testing.T) {
	m := down(t)
	d, err := openLog(m, true)
	must(t, err)
	must(t, d.bolt.StoreLogs(entries(1, 5000)))
	must(t, d.DeleteRange(1, 4000))
	var l raft.Log
	if err := d.GetLog(4000, &l); firstOf(t, d) != 4001 || !errors.Is(err, raft.ErrLogNotFound) || oldest(t, d.bolt) != 1 {
		t.Fatalf("the log begins at %d, entry 4000 gives %v; the file begins at %d", firstOf(t, d), err, oldest(t, d.bolt))
	}
	must(t, d.GetLog(4001, &l))
	most := 0
	for i := uint64(5001); i <= 5000+2*trimEvery; i += 8 {
		must(t, d.bolt.StoreLogs(entries(i, i+7)))
		most = max(most, boltOf(d.bolt.BoltStore).Stats().FreePageN)
	}
	if oldest(t, d.bolt) != 1+2*trimStep || most > trimStep {
		t.Errorf("the file begins at %d; %d pages were free", oldest(t, d.bolt), most)
	}

	// Opened again it has what was not taken out yet, and raft asks for that once more.
	d.bolt.Close()
	d, err = openDisk(&incarnation{m: m}, false, 4000)
	must(t, err)
	if first := firstOf(t, d); first != 1+2*trimStep {
		t.Fatalf("opened again the log begins at %d", first)
	}
	must(t, d.DeleteRange(1+2*trimStep, 4000))
	for i := uint64(5001 + 2*trimEvery); oldest(t, d.bolt) != 4001; i += 64 {
		if i > 10_000 {
			t.Fatalf("the file still begins at %d", oldest(t, d.bolt))
		}
		must(t, d.bolt.StoreLogs(entries(i, i+63)))
	}

	// A snapshot of somebody else's takes the place of all, of what was gone as well.
	last, err := d.LastIndex()
	must(t, err)
	must(t, d.DeleteRange(4001, last-500))
	must(t, d.DeleteRange(last-499, last))
	if oldest(t, d.bolt) != 0 || firstOf(t, d) != 0 {
		t.Errorf("the file begins at %d, the log at %d, where nothing should be", oldest(t, d.bolt), firstOf(t, d))
	}
	must(t, d.DeleteRange(0, 0)) // as raft does with an empty log
	must(t, d.bolt.StoreLogs(entries(20_001, 20_010)))
	if must(t, d.GetLog(20_001, &l)); firstOf(t, d) != 20_001 {
		t.Errorf("the next log begins at %d", firstOf(t, d))
	}
	d.bolt.Close()
	d, err = openDisk(&incarnation{m: m}, false, 20_000)
	must(t, err)
	d.bolt.Close()
}

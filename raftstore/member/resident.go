package member

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// residentLog is how many bytes of entries a member writes until it gives the
// log's pages back.
const residentLog = 4 << 20

// wrote counts what was written and gives the log's pages back now and then.
//
// bbolt maps its file into memory, and what it touches stays mapped, with the
// pages around it, for as long as the process runs: in a large cluster the
// members' logs, which nobody reads, would be a third of the process. The
// kernel keeps the pages as it keeps any file's, as long as there is room.
func (d *disk) wrote(logs []*raft.Log) {
	n := 0
	for _, l := range logs {
		n += len(l.Data)
	}
	if d.unreturned.Add(int64(n)) < residentLog {
		return
	}
	d.unreturned.Store(0)
	d.returnPages()
}

// returnPages unmaps the log's pages from the process; one that is used again
// comes back by itself. The transaction keeps bbolt from mapping the file again
// meanwhile.
func (d *disk) returnPages() {
	// It saves memory and nothing else: where it fails, pages stay.
	_ = boltOf(d.bolt.BoltStore).View(func(tx *bbolt.Tx) error {
		data := tx.DB().Info().Data // an address outside Go's heap
		return forget(*(*unsafe.Pointer)(unsafe.Pointer(&data)), tx.Size())
	})
}

// boltOf is the database inside a raft-boltdb store, which offers no way to it.
func boltOf(s *raftboltdb.BoltStore) *bbolt.DB {
	return *(**bbolt.DB)(unsafe.Add(unsafe.Pointer(s), connOffset))
}

var connOffset = func() uintptr {
	f, ok := reflect.TypeFor[raftboltdb.BoltStore]().FieldByName("conn")
	if !ok || f.Type != reflect.TypeFor[*bbolt.DB]() {
		panic(fmt.Sprintf("member: raftboltdb.BoltStore has no field conn of type *bbolt.DB but %v: see boltOf", f.Type))
	}
	return f.Offset
}()

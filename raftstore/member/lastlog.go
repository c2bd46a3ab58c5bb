package member

import (
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/hashicorp/raft"
)

// forgetLog has a running raft know that its log has no entries any more, after all of them
// were removed up to an index.
//
// When raft installs a snapshot it removes its whole log, which may reach beyond the
// snapshot: a follower that was brought up by a snapshot and got entries of which the leader
// never heard is sent that snapshot again. But raft goes on to believe in the log's old end.
// So it refuses what continues the snapshot and is sent the same one again and again; it votes
// as if it had those entries; and when a leader counts on them it panics, for it cannot read
// them. So this reaches for what raft remembers as its last entry, under raft's own lock.
//
// What a snapshot covers is removed too, by another goroutine and beside new entries; there
// nothing is to be forgotten.
func forgetLog(r *raft.Raft, upTo uint64) {
	s := lastsOf(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if upTo > *s.snapshotIndex {
		*s.logIndex, *s.logTerm = 0, 0
	}
}

// lasts is what raft remembers of its log's end and of its last snapshot.
type lasts struct {
	mu                               *sync.Mutex
	snapshotIndex, logIndex, logTerm *uint64
}

func lastsOf(r *raft.Raft) lasts {
	at := unsafe.Pointer(r)
	return lasts{
		mu:            (*sync.Mutex)(unsafe.Add(at, lastLockOffset)),
		snapshotIndex: (*uint64)(unsafe.Add(at, lastSnapshotOffset)),
		logIndex:      (*uint64)(unsafe.Add(at, lastIndexOffset)),
		logTerm:       (*uint64)(unsafe.Add(at, lastTermOffset)),
	}
}

var (
	lastLockOffset     = offsetInRaft[sync.Mutex]("lastLock")
	lastSnapshotOffset = offsetInRaft[uint64]("lastSnapshotIndex")
	lastIndexOffset    = offsetInRaft[uint64]("lastLogIndex")
	lastTermOffset     = offsetInRaft[uint64]("lastLogTerm")
)

// offsetInRaft is where raft.Raft, or what is embedded in it, has a field.
func offsetInRaft[T any](name string) (offset uintptr) {
	f, ok := reflect.TypeFor[raft.Raft]().FieldByName(name)
	if !ok || f.Type != reflect.TypeFor[T]() {
		panic(fmt.Sprintf("member: raft.Raft has no field %s of type %v but %v", name, reflect.TypeFor[T](), f.Type))
	}
	at := reflect.TypeFor[raft.Raft]()
	for _, i := range f.Index {
		offset += at.Field(i).Offset
		at = at.Field(i).Type
	}
	return offset
}

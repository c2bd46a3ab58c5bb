package raftstore

import (
	"os"
	"runtime"
	"sync"
)

// moreProcessors lets the rest of the program go on while members wait for
// their disks.
//
// A goroutine that waits in fdatasync keeps one of Go's processors until the
// runtime's monitor takes it away, which is after 20 µs at best and 10 ms when
// the program was idle before. On two processors two members that write are
// enough to stop everything, the leader's answer too: 256-byte puts from one
// client through gRPC become 1.3 times as many with a processor more for each
// member. GOMAXPROCS in the environment says otherwise.
func moreProcessors(members int) {
	if os.Getenv("GOMAXPROCS") != "" {
		return
	}
	processors.Lock()
	defer processors.Unlock()
	if members > processors.added {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + members - processors.added)
		processors.added = members
	}
}

var processors struct {
	sync.Mutex
	added int
}

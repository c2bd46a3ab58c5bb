package member

import (
	"reflect"

	"github.com/hashicorp/raft"
)

// outcomeOf waits for what raft says of a change, but no longer than raft lives.
//
// Raft hands what is committed to its FSM goroutine, future and all, over a channel
// with room for 128 batches, and that goroutine, told to shut down, leaves what is still
// in there where it is (raft v1.8.0 fsm.go runFSM): nobody answers those futures any
// more. They can wait for raft's end too (future.go deferError, ShutdownCh); raft sets
// that for other futures than these.
func (inc *incarnation) outcomeOf(f raft.IndexFuture) error {
	if p := reflect.ValueOf(f); p.Kind() == reflect.Pointer { // else it is answered already
		p.Elem().FieldByName("ShutdownCh").Set(reflect.ValueOf(inc.stopped))
	}
	return outcome(f.Error())
}

package member

import (
	"sync"
	"testing"
)

// Whoever sees the commit index move: it is reported in order.
func TestCommitsAreToldInOrder(t *testing.T) {
	last := uint64(0)
	m := New(Config{ID: "m", Emit: func(e Event) {
		if e.Kind == KindCommit {
			if e.Progress.Index <= last {
				t.Errorf("commit %d was told after %d", e.Progress.Index, last)
			}
			last = e.Progress.Index
		}
	}})
	inc := &incarnation{m: m}
	var wg sync.WaitGroup
	const most = 20_000
	for range 4 {
		wg.Go(func() {
			for i := range uint64(most) {
				inc.committed(i+1, 1)
			}
		})
	}
	wg.Wait()
	if last != most {
		t.Errorf("commit %d was told last", last)
	}
}

// A group may be noted by raft while the member that starts looks at what its log holds
// (with -race).
func TestGroupsAreNotedWhileAMemberStarts(t *testing.T) {
	var f foundGroups
	var wg sync.WaitGroup
	wg.Go(func() { f.note(nil, 1) })
	wg.Go(func() { f.get() })
	wg.Wait()
	if _, index := f.get(); index != 1 {
		t.Errorf("the latest is at %d", index)
	}
}

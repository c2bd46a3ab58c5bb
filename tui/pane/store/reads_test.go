package store

import (
	"strings"
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/tui/tuitest"
)

// The answer to a read that one member was asked alone, as etcdctl does, is not written over by
// what stands below it.
func TestAReadAtOneMember(t *testing.T) {
	tape := tuitest.Calm(3, 3)
	tape.Emit(trace.CompMember, "a", trace.RaftRead, trace.Ref{}, &trace.ReadRound{Member: "a", Term: 2, Index: 9, Reads: 1, Took: time.Millisecond})
	tape.Emit(trace.CompMember, "a", trace.MemberRead, trace.Ref{}, &trace.MemberAnswer{Round: 1, Member: "a", Key: "/registry/pods/demo/web", Revision: 9, ModRevision: 7})
	h := tape.History()
	p := New()
	p.ShowView("reads")
	screen := tuitest.Pane(p, h, h.Latest(), 78, 22).Plane()
	for _, want := range []string{"revision 9, written at 7", "last ReadIndex: a had a quorum's word in term 2"} {
		if !strings.Contains(screen, want) {
			t.Errorf("%q is not to be read:\n%s", want, screen)
		}
	}
}

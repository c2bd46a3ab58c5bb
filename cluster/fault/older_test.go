package fault

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// A recording from before events of faults said what they undo shows what was mended as
// mended, as a newer one does.
func TestFaultsOfAnOlderRecording(t *testing.T) {
	var told []*trace.Event
	say := func(k trace.Kind, name, target string, args ...string) {
		r, ok := Find(TargetKind(target), name)
		if !ok {
			t.Fatalf("there is no %s %s", name, target)
		}
		told = append(told, &trace.Event{ID: trace.ID{Seq: uint64(len(told) + 1)}, Kind: k, Payload: r.Told(control.Fault{Name: name, Target: target, Args: args})})
	}
	say(trace.FaultInjected, "stop", "member/b")
	say(trace.FaultHealed, "start", "member/b")
	say(trace.FaultInjected, "slow", "member/a", "20ms")
	say(trace.FaultInjected, "slow", "member/a", "40ms") // the knob is turned on
	say(trace.FaultInjected, "quota", "store", "1GiB")   // over at once
	say(trace.FaultInjected, "crash", "node/node-1")

	older := make([]*trace.Event, len(told))
	for i, e := range told {
		f := e.Payload.(*trace.Fault)
		bare := *e
		bare.Payload = &trace.Fault{Fault: f.Fault, Target: f.Target, Detail: f.Detail}
		older[i] = &bare
	}
	broken := func(events []*trace.Event) (list []string) {
		stream := trace.NewStream(len(events) + 1)
		for _, e := range events {
			stream.Append(e)
		}
		h := view.NewHistory(stream)
		h.CatchUp(len(events))
		for _, f := range h.Latest().Faults() {
			list = append(list, f.Fault.Fault+" "+f.Target)
		}
		return list
	}
	want := []string{"slow member/a", "crash node/node-1"}
	if got := broken(told); !cmp.Equal(got, want) {
		t.Errorf("broken is %q, want %q", got, want)
	}
	Complete(older)
	if got := broken(older); !cmp.Equal(got, want) {
		t.Errorf("of an older recording broken is %q, want %q", got, want)
	}
	if diff := cmp.Diff(told, older); diff != "" {
		t.Errorf("completed it is not what is told today:\n%s", diff)
	}
}

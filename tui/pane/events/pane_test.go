package events

import (
	"slices"
	"strings"
	"testing"

	"kviz/cluster/trace"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// The pane at moments of the story that its package tells.
func TestPane(t *testing.T) {
	tuitest.Frames(t, pane.Make(New),
		tuitest.Case{Name: "narrow", W: 50, H: 20},
		tuitest.Case{Name: "lanes", W: 110, H: 24, Kind: trace.StoreCommit, N: 12, Moves: []string{keymap.Up, keymap.Up, keymap.Up}},
	)
}

// What kviz says of its own clock, at every step and while the machine is busy, takes no row
// from what happens in the cluster, with chatter and without, whatever is filtered; who asks
// for it by its kind has it.
func TestTheClockIsNoRow(t *testing.T) {
	rows := func(noisy bool, filter string, do ...string) []string {
		tape := tuitest.Story()
		for i := range 60 {
			if noisy {
				tape.Emit(trace.CompSimulation, "", trace.ClockChanged, trace.Ref{}, &trace.Clock{Paused: i%2 == 0, Speed: 10, Why: "step raft"})
				tape.Emit(trace.CompSimulation, "", trace.ClockChanged, trace.Ref{}, &trace.Clock{Speed: 1, Why: "the store answers again"})
				tape.Emit(trace.CompSimulation, "", trace.ClockPace, trace.Ref{}, &trace.Pace{Speed: 1, Actual: 0.4, Why: "the machine is busy"})
			}
			if i%4 == 0 {
				tape.Emit(trace.CompMember, "b", trace.MemberRole, trace.Ref{Kind: "Member", Name: "b"}, &trace.MemberState{Member: "b", Role: "candidate", Term: uint64(3 + i)})
			}
		}
		h := tape.History()
		p, g := New(), grid.New(110, 24)
		for _, name := range do {
			p.Do(name, pane.Subject{}, &pane.Frame{})
		}
		pane.NewHost(p, "").Draw(g, g.Area().R, pane.Frame{S: h.Latest(), H: h, Focused: true, Live: true, Filter: filter})
		var all []string
		for _, line := range strings.Split(g.Plane(), "\n")[2:22] {
			if text := []rune(strings.TrimRight(line[strings.LastIndex(strings.TrimRight(line, "│┃ "), "  ")+2:], "│┃ ")); len(text) > 0 {
				all = append(all, string(text[:min(len(text), 30)])) // without its number, which differs
			}
		}
		return all
	}
	for _, c := range [][]string{{""}, {"", "events.raft"}, {"!kubelet"}, {"raft"}, {"member"}} {
		quiet, noisy := rows(false, c[0], c[1:]...), rows(true, c[0], c[1:]...)
		if len(quiet) < 3 || !slices.Equal(quiet, noisy) {
			t.Errorf("filter %q, %v: the rows are\n%s\nwant\n%s", c[0], c[1:], strings.Join(noisy, "\n"), strings.Join(quiet, "\n"))
		}
	}
	if got := strings.Join(rows(true, "clock.pace"), "\n"); !strings.Contains(got, "virtual time runs at 0.40x") {
		t.Errorf("asked for by its kind the pace is not told:\n%s", got)
	}
}

package tui

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/tuitest"
)

// plainly is what plain mode writes of a tape.
func plainly(t *testing.T, tape *tuitest.Tape) string {
	t.Helper()
	var out bytes.Buffer
	if err := Run(context.Background(), Config{History: view.NewHistory(tape.Stream), Plain: true, PlainAll: true, Recording: "story", Output: &out}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// inOrder fails unless lines with these words follow one another.
func inOrder(t *testing.T, text string, want ...string) {
	t.Helper()
	rest := text
	for i, w := range want {
		at := strings.Index(rest, w)
		if at < 0 {
			t.Fatalf("%q is not told after %q:\n%s", w, strings.Join(want[:i], " … "), text)
		}
		rest = rest[at+len(w):]
	}
}

// stories are the lines that tell what the picture shows.
func stories(text string) string {
	var all []string
	for _, l := range strings.Split(text, "\n") {
		if strings.HasPrefix(l, "* ") {
			all = append(all, l)
		}
	}
	return strings.Join(all, "\n")
}

// Whoever reads plain mode learns who is elected by whom, that the leader dies, that the
// quorum is lost, which floors go one after another, and that all come back.
func TestPlainTellsAnOutage(t *testing.T) {
	tape := tuitest.NewTape()
	tape.Members("a", "b", "c")
	tape.Elect("a")
	tape.After(time.Second).Down("a", "crashed")
	tape.After(time.Second).Elect("c")
	inOrder(t, stories(plainly(t, tape)),
		"member a asks for pre-votes for term 1; it needs 2 of 3",
		"member a votes for itself in term 1: 1 of 3, 2 make a quorum",
		"member b votes for a in term 1: 2 of 3, 2 make a quorum",
		"member a leads, in term 1",
		"member a is down (crashed); 2 of 3 are up, 2 make a quorum; nobody leads",
		"member c asks for pre-votes for term 2",
		"member b votes for c in term 2",
		"member c leads, in term 2")

	text := plainly(t, tuitest.QuorumLost(time.Minute))
	inOrder(t, stories(text),
		"the store has no quorum: 1 of 3 members are up, 2 are needed; pods run on, and rules still route",
		"writes fail now",
		"could not renew its Lease and has stopped working",
		"the nodes' Leases are too old")
	if strings.Contains(stories(text), " again") {
		t.Errorf("something stands again without a quorum:\n%s", stories(text))
	}

	// Each floor stands again when that is seen: writes with the first commit, the nodes' Leases
	// when one is renewed.
	back := tuitest.QuorumLost(time.Minute)
	back.Members("a", "b")
	text = stories(plainly(t, back))
	inOrder(t, text, "the store has no quorum", "is up", "the store has a quorum again")
	if strings.Contains(text, "writes succeed again") || strings.Contains(text, "renew their Leases again") {
		t.Errorf("a floor stands again before anything was written:\n%s", text)
	}
	back.After(time.Second).Commit(tuitest.Ref("Pod", "demo", "web-1"), "pods", tuitest.Pod("demo", "web-1", "web", "node-1", "Running", "10.244.1.9"))
	text = stories(plainly(t, back))
	inOrder(t, text, "the store has a quorum again", "writes succeed again")
	if strings.Contains(text, "renew their Leases again") {
		t.Errorf("the nodes' Leases stand again, and none was renewed:\n%s", text)
	}
	back.After(time.Second).Renew("kube-node-lease", "node-1")
	inOrder(t, stories(plainly(t, back)), "writes succeed again", "the nodes renew their Leases again")
}

// The way of a command is told: each way that something goes along, the stations, and at
// the end all of it.
func TestPlainTellsTheWayOfACommand(t *testing.T) {
	tape := tuitest.Story()
	var answered trace.ID // what came of the newest command
	for pos := uint64(0); pos < tape.Stream.Len(); pos++ {
		if e := tape.Stream.Get(pos); e.Kind == trace.PacketEnd {
			answered = e.ID
		}
	}
	tape.Emit(trace.CompSimulation, "", trace.Converged, tuitest.Ref("Service", "demo", "web"), nil, answered)
	inOrder(t, plainly(t, tape),
		"you -> API server: console asks the API server to create deployments demo/web",
		"store -> API server: revision 6: Deployment demo/web created Because of #92 (station 1 of your command #82)",
		"API server -> you: the API server answers create with 201",
		"API server -> controllers: deployment-controller learns of Deployment demo/web",
		"(station 2 of your command #82)",
		"(station 1 of your command #394)",
		"the way of your command \"kubectl exec",
		": you -> node-1")
}

package trail_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/scene"
	"kviz/tui/trail"
	"kviz/tui/tuitest"
)

// told follows a tape to a position and says what the trail shows there.
func told(t *trail.Trail, h *view.History, to uint64) string {
	w := t.Update(h.Stream(), to, h.Latest())
	if w == nil {
		return ""
	}
	var stops []string
	for _, s := range w.Stops[:w.Reached] {
		stops = append(stops, s.Place+" "+s.Word)
	}
	return fmt.Sprint(w.Line, ": ", strings.Join(stops, ", "), " ", w.Ways)
}

// The story's apply goes from you to the API server and the store, to the controllers
// that work on it, in this order, and marks the ways between them.
func TestACommandLeavesItsTrail(t *testing.T) {
	h := tuitest.Story().History()
	stream := h.Stream()
	var all trail.Trail
	begin := uint64(0)
	for stream.Get(begin).Kind != trace.CommandStart {
		begin++
	}
	if got := told(&all, h, begin); got != "" {
		t.Errorf("before there was a command: %s", got)
	}
	var w *trail.Walk // as it is when the next command comes
	for to := begin; to <= stream.Len(); to++ {
		if now := all.Update(stream, to, h.Latest()); now != nil && strings.HasPrefix(now.Line, "kubectl apply") {
			w = now
		}
	}
	if w == nil {
		t.Fatal("the story's command left no trail")
	}
	at := -1
	for _, place := range []string{"you", "API", "store", "deployment", "replicaset"} {
		i := slices.IndexFunc(w.Stops, func(s trail.Stop) bool { return s.Place == place })
		if i < 0 || i <= at {
			t.Errorf("%s is station %d, after %d: %v", place, i, at, w.Stops)
		}
		at = i
	}
	for _, way := range [][2]string{{scene.You, scene.APIServer}, {scene.APIServer, scene.Controllers}} {
		if !slices.Contains(w.Ways, way) {
			t.Errorf("the way %v is not marked: %v", way, w.Ways)
		}
	}
}

// Going back over the same events shows the same as having stood there.
func TestATrailInThePast(t *testing.T) {
	h := tuitest.Story().History()
	var once trail.Trail
	end := h.Stream().Len()
	var first []string
	for to := uint64(1); to <= end; to++ {
		first = append(first, told(&once, h, to))
	}
	for to := end; to > 0; to-- {
		if got := told(&once, h, to); got != first[to-1] {
			t.Fatalf("back at %d: %s, was %s", to, got, first[to-1])
		}
	}
}

// kubectl of another terminal has a trail as well; several requests at once are one.
func TestATrailFromOutside(t *testing.T) {
	tape := tuitest.NewTape().Members("a", "b", "c").Elect("a")
	for _, name := range []string{"one", "two"} {
		tape.Request(tuitest.Call{Verb: "create", Resource: "configmaps", Ref: tuitest.Ref("ConfigMap", "demo", name), Client: "kubectl", User: "jane"})
	}
	h := tape.History()
	var all trail.Trail
	got := told(&all, h, h.Stream().Len())
	if !strings.HasPrefix(got, "create configmaps one: you outside, API create") || strings.Contains(got, "two") {
		t.Errorf("the trail from outside is %q", got)
	}
}

// One turns from the newest command to those before, to none, and back; a new command is
// shown again.
func TestTurn(t *testing.T) {
	tape := tuitest.NewTape().Members("a", "b", "c").Elect("a")
	command := func(name string) {
		c := tape.After(3*time.Second).Emit(trace.CompConsole, "", trace.CommandStart, trace.Ref{}, &trace.Command{Line: "kubectl create configmap " + name, Source: "console"})
		tape.Request(tuitest.Call{Verb: "create", Resource: "configmaps", Ref: tuitest.Ref("ConfigMap", "demo", name), Client: "console"}, c)
	}
	command("one")
	command("two")
	h := tape.History()
	var all trail.Trail
	var got []string
	for range 4 {
		line, _, _ := strings.Cut(told(&all, h, h.Stream().Len()), ":")
		got = append(got, strings.TrimPrefix(line, "kubectl create configmap "))
		all.Turn()
	}
	if want := []string{"two", "one", "", "two"}; !slices.Equal(got, want) {
		t.Errorf("turned through %q, want %q", got, want)
	}
	command("three")
	h = tape.History()
	if got := told(&all, h, h.Stream().Len()); !strings.Contains(got, "three") {
		t.Errorf("a new command is not shown: %q", got)
	}
}

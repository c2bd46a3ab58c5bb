package proof

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kviz/cluster/beside"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

var (
	stories = flag.Int("stories", 6, "how many stories to tell")
	first   = flag.Uint64("seed", 1, "the seed of the first story; the others follow")
	built   = flag.String("binary", "", "a kube-scheduler that is built already")
	length  = flag.Int("steps", 25, "how many steps a story has")
)

// kube-scheduler's binary and kviz' scheduler go through the same stories. After each step every pod is where it
// is on the other side, or waits with the same message, or is to be made room for on the same node with the same
// victims; in the end the Events about each pod are the same. Where kviz found several nodes equally good and drew
// one, the binary may have drawn another of them: that pod goes then, on both sides.
func TestTheSameStories(t *testing.T) {
	steady.RealTime(t, "kube-scheduler is a process")
	program := binary(t)
	all := &tally{}
	for i := range *stories {
		seed := *first + uint64(i)
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { tell(t, program, seed, all) })
	}
	t.Logf("%d stories: %d steps, %d decisions that were compared, %d ties of which the other node was drawn, %d rooms made", *stories, all.steps, all.decided, all.ties, all.rooms)
	if all.decided == 0 {
		t.Error("nothing was compared")
	}
}

// binary is kube-scheduler's, built now unless it is given.
func binary(t *testing.T) string {
	t.Helper()
	if *built != "" {
		return *built
	}
	path, err := beside.Build(t.Context(), t.TempDir(), "kube-scheduler")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

type tally struct{ steps, decided, ties, rooms int }

// stage is both sides and what was said of the pods while they were at rest.
type stage struct {
	ours, real *side
	all        *tally
	tied       map[string]bool
	heard      map[string][]string // the messages of pods without a node, at rest
	told       []string
}

func (g *stage) both(t *testing.T, f func(s *side)) {
	t.Helper()
	f(g.ours)
	f(g.real)
}

func tell(t *testing.T, program string, seed uint64, all *tally) {
	g := &stage{ours: boot(t, "kviz", false), real: boot(t, "kube-scheduler", true), all: all, tied: map[string]bool{}, heard: map[string][]string{}}
	g.both(t, func(s *side) { s.do(t, func(ctx context.Context) error { return begin(ctx, s) }) })
	g.real.Run(t, trace.CompScheduler, program, "--leader-elect=false")
	defer func() {
		if t.Failed() {
			t.Logf("the story:\n%s", strings.Join(g.told, "\n"))
		}
	}()
	st := &story{draw: rand.New(rand.NewPCG(seed, 32))}
	var rest map[string]fate
	bound := map[string]bool{}
	for number := range *length {
		waiting := slices.Sorted(maps.Keys(rest))
		waiting = slices.DeleteFunc(waiting, func(p string) bool { return rest[p].Node != "" })
		next := st.tell()
		// Which of several that wait comes first depends on when the back-off of each ends.
		for _, name := range waiting[min(1, len(waiting)):] {
			if next.frees {
				g.gone(t, st, name)
			}
		}
		g.told = append(g.told, next.says)
		g.both(t, func(s *side) { s.do(t, func(ctx context.Context) error { return next.do(ctx, s) }) })
		rest = g.rest(t, st)
		for going(rest) != nil { // their kubelets end them
			g.all.rooms++
			for _, name := range going(rest) {
				g.gone(t, st, name)
			}
			rest = g.rest(t, st)
		}
		for name, f := range rest {
			if f.Node != "" && !bound[name] {
				bound[name] = true
				g.both(t, func(s *side) { s.starts(t, name, startOf(t, number)) })
			}
		}
		g.all.steps++
	}
	g.compareEvents(t)
}

// gone takes a pod off both sides.
func (g *stage) gone(t *testing.T, st *story, name string) {
	t.Helper()
	g.told = append(g.told, "  "+name+" goes")
	g.both(t, func(s *side) { s.remove(t, name) })
	st.pods = slices.DeleteFunc(st.pods, func(p string) bool { return p == name })
}

func going(all map[string]fate) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name].Going {
			names = append(names, name)
		}
	}
	return names
}

// rest waits until both sides have come to rest with the same result, and gives it.
func (g *stage) rest(t *testing.T, st *story) map[string]fate {
	t.Helper()
	g.both(t, func(s *side) { s.settle(t) })
	var same map[string]fate
	steady.Await(t, "both sides come to the same", func() error {
		a, err := g.ours.fates(t.Context())
		if err != nil {
			return err
		}
		b, err := g.real.fates(t.Context())
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(a)) {
			if x, y := a[name], b[name]; x.Node != "" && y.Node != "" && x.Node != y.Node {
				if d := g.ours.decision(t, name); d != nil && d.Node == x.Node && slices.Contains(d.TiedWith, y.Node) {
					g.all.ties++
					g.tied[name] = true
					g.gone(t, st, name)
					return fmt.Errorf("%s was drawn from a tie", name)
				}
			}
		}
		if !maps.Equal(a, b) {
			return fmt.Errorf("%s", differences(a, b))
		}
		same = a
		return nil
	})
	for name, f := range same {
		if f.Message != "" && !slices.Contains(g.heard[name], f.Message) {
			g.heard[name] = append(g.heard[name], f.Message)
		}
		if f.Node != "" || f.Message != "" {
			g.all.decided++
		}
	}
	return same
}

// differences lists what is not the same.
func differences(a, b map[string]fate) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if a[name] != b[name] {
			lines = append(lines, fmt.Sprintf("%s: kviz %+v\n       kube-scheduler %+v", name, a[name], b[name]))
		}
	}
	return strings.Join(lines, "\n")
}

// passing reports whether an Event tells of a try between two rests: what a scheduler sees there depends on how fast
// it is.
func (g *stage) passing(pod, event string) bool {
	_, note, _ := strings.Cut(event, ": ")
	return strings.HasPrefix(event, "Warning FailedScheduling ") && !slices.Contains(g.heard[pod], note)
}

// compareEvents waits until both sides have written the same Events.
func (g *stage) compareEvents(t *testing.T) {
	t.Helper()
	steady.Await(t, "both sides tell the same", func() error {
		a, err := g.ours.said(t.Context())
		if err != nil {
			return err
		}
		b, err := g.real.said(t.Context())
		if err != nil {
			return err
		}
		names := map[string]bool{}
		for _, m := range []map[string][]string{a, b} {
			for name := range m {
				names[name] = true
				m[name] = slices.DeleteFunc(m[name], func(e string) bool { return g.passing(name, e) })
			}
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if !g.tied[name] && !slices.Equal(a[name], b[name]) {
				return fmt.Errorf("about %s\nkviz:\n  %s\nkube-scheduler:\n  %s", name, strings.Join(a[name], "\n  "), strings.Join(b[name], "\n  "))
			}
		}
		return nil
	})
}

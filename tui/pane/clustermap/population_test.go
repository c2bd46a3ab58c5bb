package clustermap

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// told is all that a population says, in words.
func told(c *population, s *view.State) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	cells := func(all []cell) (words []string) {
		for _, x := range all {
			words = append(words, fmt.Sprintf("%s %c%c %s", x.obj.Ref.Key(), x.letter, x.mark.Glyph, x.obj.Changed))
		}
		return words
	}
	line("nodes %v", c.names)
	for _, n := range c.names {
		r := c.records[n]
		line("%s: %v, asked %+v, of %d, %+v, %s, object %v", n, cells(c.byNode[n]), c.of(n), r.cpu, c.stands(s, n), r.on.Words, c.nodes[n] != nil)
	}
	line("pending %v, marks %v, total %v, legend %v, tallies %v", cells(c.pending), c.marks, c.total, c.legend(), c.tallies())
	line("claims %v", c.claims()) // in the order of their keys, as fmt prints maps
	for _, v := range c.volumes(&pane.Frame{S: s, Filter: c.filter}) {
		line("%s: %s", v.State, volumeSubject(v).Words)
	}
	for _, key := range slices.Sorted(maps.Keys(c.svcs)) {
		v := c.svcs[key]
		line("%s %d/%d %v", key, v.ready, v.all, v.nodes)
	}
	return b.String()
}

// nominated is a pod for which room is being made on one node, then on another, and which gets it, beside one that is deleted.
func nominated() *tuitest.Tape {
	t := tuitest.Calm(3, 3)
	for _, on := range []string{"", "node-2", "node-3", "node-3!"} {
		for _, name := range []string{"urgent", "given-up"} {
			at, bound := strings.CutSuffix(on, "!")
			p := tuitest.Pod("demo", name, "", "", "Pending", "")
			p.Status.NominatedNodeName = at
			switch {
			case bound && name == "urgent":
				p.Spec.NodeName = at
			case bound:
				now := metav1.Now()
				p.DeletionTimestamp = &now
			}
			t.Commit(tuitest.Ref("Pod", "demo", name), "pods", p)
		}
	}
	return t
}

// Whatever happens, and wherever one goes in time, what was folded on is what would be made anew.
func TestAPopulationIsWhatItsStateSays(t *testing.T) {
	for name, tape := range map[string]*tuitest.Tape{
		"story": tuitest.Story(), "deletion": tuitest.Deletion(), "node lost": tuitest.NodeLost(), "node dead": tuitest.NodeDead(),
		"no quorum": tuitest.QuorumLost(time.Minute), "population": tuitest.ManyNodes(12), "room": nominated(), "claims": tuitest.Disks(), "volumes": tuitest.VolumesInUse(7),
	} {
		for _, filter := range []string{"", "web", "!node-1"} {
			h := tape.History()
			n := h.Stream().Len()
			rnd := rand.New(rand.NewSource(1))
			m := New()
			for at := uint64(0); at < n; {
				s := h.At(at)
				f := &pane.Frame{S: s, H: h, Filter: filter}
				got, want := told(m.population(f), s), told(newPopulation(f, ""), s)
				if got != want {
					t.Fatalf("%s, filter %q, at %d:\n%s\nwant\n%s", name, filter, at, got, want)
				}
				if at += uint64(rnd.Intn(20)); rnd.Intn(30) == 0 {
					at -= min(at, uint64(rnd.Intn(60)))
				}
			}
		}
	}
}

// A frame of 5,000 nodes while pods and Leases change: folded on from the one before, and, for
// comparison, made anew.
func BenchmarkPopulation(b *testing.B) {
	tape := tuitest.ManyNodes(5000)
	h := tape.History()
	m := New()
	host, g := pane.NewHost(m, "1"), grid.New(120, 33)
	i := 0
	for _, anew := range []bool{false, true} {
		b.Run(map[bool]string{false: "folded", true: "anew"}[anew], func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				for range 30 {
					i++
					tape.Commit(tuitest.Ref("Lease", "kube-node-lease", fmt.Sprintf("node-%d", i%5000+1)), "leases", nil)
				}
				name, node := fmt.Sprintf("load-%d-0", i%5000+1), fmt.Sprintf("node-%d", i%5000+1)
				tape.Commit(tuitest.Ref("Pod", "demo", name), "pods", tuitest.Pod("demo", name, "web-7f9c", node, "Running", "10.244.9.9"))
				h.CatchUp(0)
				if anew {
					m.populations = nil
				}
				b.StartTimer()
				host.Dirty()
				host.Draw(g, grid.Rect{W: 120, H: 33}, pane.Frame{S: h.Latest(), H: h, Focused: true, Live: true})
			}
		})
	}
}

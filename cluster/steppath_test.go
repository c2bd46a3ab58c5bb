package cluster_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/raftstore/steady"
)

// commanded types a line while the cluster stands, and gives the event it begins with.
func commanded(t *testing.T, c *cluster.Cluster, line string) trace.ID {
	t.Helper()
	from := c.Trace().Len()
	go func() {
		var out bytes.Buffer
		c.Exec(t.Context(), line, control.Streams{Out: &out, Err: &out, Source: "console"})
	}()
	var begun trace.ID
	steady.Until(t, "the command begins: "+line, func() bool {
		events, _, _ := c.Trace().Read(from, 0)
		i := slices.IndexFunc(events, func(e *trace.Event) bool { return e.Kind == trace.CommandStart })
		if i >= 0 {
			begun = events[i].ID
		}
		return i >= 0
	})
	return begun
}

// A step along the path of kubectl apply goes from one thing that came of it to the next:
// every stop is an effect of the command, nothing else is stopped at, and it takes about
// as many presses as "why?" of what came of it has links.
func TestStepAlongAnApply(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := bootFree(t, cluster.Config{Seed: 1, NoSync: true, Speed: 0.5})
		if err := c.Pause(); err != nil {
			t.Fatal(err)
		}
		stand(t, c, nil)
		of := commanded(t, c, "kubectl apply -f manifests/hello.yaml")
		path := view.NewPath(of)
		next := c.Trace().Search(of)
		begun := time.Now()
		presses, running := 0, trace.ID{}
		for running.IsZero() {
			if presses++; presses > 40 {
				dump(t, c, 40)
				t.Fatalf("no container runs after %d presses", presses)
			}
			if err := c.StepOf(of, trace.GrainRaft); err != nil {
				t.Fatal(err)
			}
			stand(t, c, nil)
			var last *trace.Event
			for ; next < c.Trace().Len(); next++ {
				e := c.Trace().Get(next)
				if path.Take(e) {
					if last != nil {
						t.Errorf("press %d went past #%s: %s, to #%s %s", presses, last.ID, view.Explain(last), e.ID, view.Explain(e))
					}
					last = e
				}
			}
			if last == nil {
				t.Fatalf("press %d ended at no station, why %q", presses, c.Clock().Why)
			}
			if x, ok := last.Payload.(*trace.RuntimeCall); ok && x.Call == "StartContainer" {
				running = last.ID
			}
		}
		h := view.NewHistory(c.Trace())
		h.CatchUp(0)
		links := h.Chain(running)
		if first := links[len(links)-1].ID; first != of {
			t.Errorf("why? of the container leads to #%s, not to the command #%s", first, of)
		}
		if presses < len(links)-1 || presses > 2*len(links) {
			t.Errorf("%d presses for the %d links of why?", presses, len(links))
		}
		// An image is pulled for two virtual seconds, which last four here; a step does not wait for them.
		if took := time.Since(begun); took > 3*time.Second {
			t.Errorf("the presses took %s", took)
		}
	})
}

// A command that only reads has no path; one whose effects are over says so.
func TestStepAlongNothing(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := bootFree(t, cluster.Config{Seed: 1, Bare: true, Nodes: 1, Speed: 1})
		if err := c.Pause(); err != nil {
			t.Fatal(err)
		}
		stand(t, c, nil)
		why := func(of trace.ID) string {
			if err := c.StepOf(of, trace.GrainRaft); err != nil {
				t.Fatal(err)
			}
			stand(t, c, nil)
			c.Clock()
			_ = c.Kernel().Do(func() {})
			return c.Clock().Why
		}
		get := commanded(t, c, "kubectl get nodes")
		why(get)
		if got, want := why(get), "#"+get.String()+" only read"; got != want {
			t.Errorf("the cluster stands because of %q, want %q", got, want)
		}
		made := commanded(t, c, "kubectl create namespace demo")
		for presses := 0; ; presses++ {
			at := c.Kernel().Moment()
			got := why(made)
			if strings.HasPrefix(got, "nothing new came of #"+made.String()+" in ") {
				if passed := c.Kernel().Moment() - at; passed > time.Minute {
					t.Errorf("and %s passed", passed)
				}
				break
			}
			if presses > 12 {
				t.Fatalf("still something after %d presses: %s", presses, got)
			}
		}
	})
}

// A step over goes along the path too: to its first decision, past the writes before it.
func TestStepOverAlongAnApply(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := bootFree(t, cluster.Config{Seed: 1, NoSync: true, Speed: 0.5})
		if err := c.Pause(); err != nil {
			t.Fatal(err)
		}
		stand(t, c, nil)
		of := commanded(t, c, "kubectl apply -f manifests/hello.yaml")
		if err := c.StepOf(of, trace.GrainDecision); err != nil {
			t.Fatal(err)
		}
		stand(t, c, nil)
		path := view.NewPath(of)
		var first *trace.Event
		for pos := c.Trace().Search(of); pos < c.Trace().Len(); pos++ {
			if e := c.Trace().Get(pos); path.Take(e) && e.Grain() >= trace.GrainDecision && first == nil {
				first = e
			}
		}
		last := c.Trace().Last()
		if first == nil || len(path.Stations()) < 2 || path.Stations()[len(path.Stations())-1] != first.ID {
			t.Errorf("the step ended at #%s %s after the stations %v, want the first decision", last.ID, last.Kind, path.Stations())
		}
	})
}

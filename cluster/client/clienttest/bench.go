package clienttest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Bench is a kernel, a server and the events of a test.
type Bench struct {
	*Server
	Kernel *sim.Kernel
	Events []*trace.Event
	seed   uint64
}

// Append takes an event from the kernel.
func (b *Bench) Append(e *trace.Event) { b.Events = append(b.Events, e) }

// T is what a simulation needs of a test: a [testing.T], or a rapid.T, which then draws
// simpler and simpler stories that fail.
type T interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Run runs main as a task of a process "test" and ends the simulation when it
// returns. A panic in the simulation fails the test with the seed.
func Run(tb T, seed uint64, main func(b *Bench, t *sim.Task)) *Bench {
	tb.Helper()
	b := &Bench{seed: seed}
	b.Kernel = sim.New(sim.Config{Seed: seed, Sink: b})
	b.Server = New(b.Kernel)
	p := b.Kernel.NewProcess(trace.Lane{Component: "test"})
	p.Go("main", func(t *sim.Task) {
		defer b.Kernel.Stop()
		main(b, t)
	})
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := b.Kernel.Run(ctx); err != nil {
		if pe, ok := err.(*sim.PanicError); ok {
			tb.Fatalf("%v\n%s", err, pe.Stack)
		}
		tb.Fatal(err)
	}
	if ctx.Err() != nil {
		tb.Fatalf("seed %d: the simulation did not end within three minutes", seed)
	}
	return b
}

// Note writes a line into the test's trace: what happens next, for whoever reads its
// transcript.
func Note(t *sim.Task, line string) {
	t.Emit(trace.Event{Kind: trace.CommandStart, Object: trace.Ref{Kind: "#", Name: line}})
}

// Must is v. An error ends the simulation, and with it the test.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Transcript prints the events of the given kinds, one a line: time, lane, what
// happened.
func (b *Bench) Transcript(kinds ...trace.Kind) string {
	var out strings.Builder
	for _, e := range b.Events {
		if slices.Contains(kinds, e.Kind) {
			fmt.Fprintf(&out, "%9.3fs  %-25s %s\n", e.At.Seconds(), e.Lane, describe(e))
		}
	}
	return out.String()
}

// describe says what an event says, without its number.
func describe(e *trace.Event) string {
	switch p := e.Payload.(type) {
	case *trace.QueueItem:
		s := fmt.Sprintf("%-11s %s", e.Kind, p.Key)
		if p.Merged {
			s += " (merged)"
		}
		if p.Requeued {
			s += " (goes round again)"
		}
		if p.After > 0 {
			s += fmt.Sprintf(" for %s", p.After)
		}
		return s + fmt.Sprintf("  ready %d processing %d delayed %d", p.Ready, p.Processing, p.Delayed)
	case *trace.Action:
		return fmt.Sprintf("%s: %s", e.Object, p.Why)
	case *trace.KubeEvent:
		return fmt.Sprintf("Event %s x%d on %s: %s: %s", p.Type, p.Count, p.Regarding, p.Reason, p.Message)
	case *trace.Reconcile:
		s := fmt.Sprintf("%s %s %s", e.Kind, p.Key, p.Result)
		if p.Error != "" {
			s += ": " + p.Error
		}
		return strings.TrimRight(s, " ")
	case *trace.Informer:
		return fmt.Sprintf("%s %s: %d items at revision %d %s", e.Kind, p.Resource, p.Items, p.Revision, p.Reason)
	case *trace.Election:
		return fmt.Sprintf("%s %s: holder %q won %v previous %q", e.Kind, p.Lease, p.Holder, p.Won, p.Previous)
	case *trace.WatchEvent:
		return fmt.Sprintf("%s %s %s", e.Kind, p.Type, e.Object)
	case *trace.CloudCall:
		return strings.TrimRight(fmt.Sprintf("%s %s %s: %s", e.Kind, p.Call, p.Service+p.Node, p.Result+p.Error), " ")
	case *trace.StorageCall:
		s := fmt.Sprintf("%s %s %s%s", e.Kind, p.Call, p.Volume, p.Name)
		for _, part := range []string{p.Node, p.Pod, p.Result, p.Error} {
			if part != "" {
				s += ", " + part
			}
		}
		return fmt.Sprintf("%s (%s)", s, p.Took.Round(time.Millisecond))
	case *trace.NodeReport:
		return fmt.Sprintf("%s %s: Ready %s taints %v %s", e.Kind, p.Node, p.Ready, p.Taints, p.Note)
	}
	return fmt.Sprintf("%s %s", e.Kind, e.Object)
}

// Golden compares text with testdata/name, or writes it when KVIZ_REWRITE is
// set.
func Golden(tb testing.TB, name, text string) {
	tb.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("KVIZ_REWRITE") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		tb.Fatalf("%v (write it with KVIZ_REWRITE=1)", err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		tb.Errorf("%s differs (rewrite it with KVIZ_REWRITE=1 if that is meant):\n%s", path, diff)
	}
}

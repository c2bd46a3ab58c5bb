package cluster_test

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// runs is how often the same script is run; KVIZ_RUNS=20 is the long form.
func runs() int {
	if n, err := strconv.Atoi(os.Getenv("KVIZ_RUNS")); err == nil && n > 1 {
		return n
	}
	return 3
}

// hashOf boots a cluster, runs the documents' manifests and gives the hash of
// the control-plane lanes.
func hashOf(t *testing.T, cfg cluster.Config) (string, []*trace.Event) {
	t.Helper()
	c := boot(t, cfg)
	run(t, c, hello)
	var events []*trace.Event
	if err := c.Kernel().Do(func() { events, _, _ = c.Trace().Read(c.Trace().First(), 1<<20) }); err != nil {
		t.Fatal(err)
	}
	return sum(t, events), events
}

func sum(t *testing.T, events []*trace.Event) string {
	t.Helper()
	h, err := trace.Hash(events)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// The same script and the same seed give the same control-plane trace, byte for
// byte, with raft and without, on one processor and on two; another seed gives
// another.
func TestSameSeedSameTrace(t *testing.T) {
	for name, cfg := range map[string]cluster.Config{"mvcc": {Seed: 7, Bare: true}, "raft": {Seed: 7, NoSync: true}} {
		t.Run(name, func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				first, events := hashOf(t, cfg)
				for i := 1; i < runs(); i++ {
					before := runtime.GOMAXPROCS(1 + i%2)
					again, others := hashOf(t, cfg)
					runtime.GOMAXPROCS(before)
					if again != first {
						t.Fatalf("run %d differs from run 0 %s", i, difference(t, events, others))
					}
				}
				cfg.Seed = 8
				if other, _ := hashOf(t, cfg); other == first {
					t.Error("another seed gave the same trace")
				}
			})
		})
	}
}

// difference tells where two traces part.
func difference(t *testing.T, a, b []*trace.Event) string {
	a, b = inside(a), inside(b)
	for i := 0; i < min(len(a), len(b)); i++ {
		if sum(t, a[i:i+1]) != sum(t, b[i:i+1]) {
			return "at #" + a[i].ID.String() + ":\n" + text(a[max(0, i-3):min(i+3, len(a))]) + "against\n" + text(b[max(0, i-3):min(i+3, len(b))])
		}
	}
	return "in length: " + strconv.Itoa(len(a)) + " against " + strconv.Itoa(len(b)) + " events"
}

func inside(events []*trace.Event) []*trace.Event {
	var in []*trace.Event
	for _, e := range events {
		if !e.Outside() {
			in = append(in, e)
		}
	}
	return in
}

func text(events []*trace.Event) string {
	var b strings.Builder
	if err := trace.Text(&b, events); err != nil {
		return err.Error()
	}
	return b.String()
}

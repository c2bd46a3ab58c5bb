package cluster_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// boot starts a cluster for a test and closes it at the end.
func boot(t testing.TB, cfg cluster.Config) *cluster.Cluster {
	t.Helper()
	cfg.Demand = true
	ctx, cancel := context.WithTimeout(t.Context(), steady.Patience(t))
	t.Cleanup(cancel)
	c, err := cluster.Boot(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("the run ended badly: %v", err)
		}
	})
	if err := c.WaitReady(ctx); err != nil {
		dump(t, c, 40)
		t.Fatal(err)
	}
	return c
}

// dump logs the newest events.
func dump(t testing.TB, c *cluster.Cluster, n uint64) {
	s := c.Trace()
	from := s.First()
	if s.Len() > from+n {
		from = s.Len() - n
	}
	events, _, _ := s.Read(from, int(n))
	var b strings.Builder
	trace.Text(&b, events)
	t.Logf("seed %d, the newest events:\n%s", c.Kernel().Seed(), b.String())
}

// run runs a console script and fails the test where it fails.
func run(t testing.TB, c *cluster.Cluster, script string) string {
	t.Helper()
	var out bytes.Buffer
	err := c.Console().RunScript(t.Context(), t.Name(), script, control.Streams{Out: &out, Err: &out})
	if err != nil {
		dump(t, c, 60)
		t.Fatalf("%v\noutput:\n%s", err, out.String())
	}
	return out.String()
}

// The smallest story through every layer: a ConfigMap is written, becomes a
// revision, is seen by a watch cache, and is read back.
func TestConfigMapIsWrittenWatchedAndShown(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Bare: true, Nodes: -1})
		out := run(t, c, `
kubectl create configmap hello --from-literal=greeting=hi
kubectl get configmap hello -o jsonpath='{.data.greeting}'
`)
		if !strings.HasSuffix(out, "hi") {
			t.Errorf("got %q", out)
		}
		events, _, _ := c.Trace().Read(c.Trace().First(), 1<<20)
		var committed, cached bool
		for _, e := range events {
			switch p := e.Payload.(type) {
			case *trace.Commit:
				committed = committed || e.Object.Kind == "ConfigMap" && e.Object.Name == "hello" && p.Revision > 0
			case *trace.CacheUpdate:
				cached = cached || p.Resource == "configmaps" && e.Object.Name == "hello"
			}
		}
		if !committed || !cached {
			t.Errorf("committed %v, seen by the watch cache %v", committed, cached)
		}
	})
}

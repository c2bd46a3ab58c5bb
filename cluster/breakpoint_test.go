package cluster_test

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// A breakpoint makes the cluster stand at every event it names, until it is
// removed; one about the state does when it begins to hold, not as long as it
// does.
func TestBreakpointsStandEveryTime(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		ctx := t.Context()
		c, err := cluster.Boot(ctx, cluster.Config{Seed: 3, Bare: true, NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.WaitReady(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Break(`event.kind == "sched.desicion"`); err == nil || !strings.Contains(err.Error(), "sched.decision") {
			t.Fatalf("a kind that there is not is refused with %v", err)
		}
		var set []control.Breakpoint
		for _, src := range []string{`event.kind == "sched.decision"`, `objects("deployments", "default").size() == 1`} {
			b, err := c.Break(src)
			if err != nil {
				t.Fatal(err)
			}
			set = append(set, b)
		}
		var out bytes.Buffer
		exit := make(chan int, 1)
		go func() {
			code := c.Exec(ctx, "kubectl create deployment web --image=nginx:1.27 --replicas=2", control.Streams{Out: &out, Err: &out})
			if code == 0 {
				code = c.Exec(ctx, "kubectl rollout status deployment/web", control.Streams{Out: &out, Err: &out})
			}
			exit <- code
		}()
		next := func(want trace.Kind, why string) {
			t.Helper()
			stand(t, c, exit)
			var got, at string
			steady.Await(t, "the cluster stands because of "+why, func() error {
				if got, at, _ = strings.Cut(c.Clock().Why, " at #"); got != why {
					return fmt.Errorf("because of %q", got)
				}
				return nil
			})
			seq, err := strconv.ParseUint(at, 10, 64)
			if err != nil {
				t.Fatalf("the cluster stands because of %s", c.Clock().Why)
			}
			// The newest event may be the next command's, which came while it stood.
			if e, _, _ := c.Trace().At(trace.ID{Seq: seq}); e.Kind != want {
				t.Fatalf("the cluster stands after #%s %s, want %s", e.ID, e.Kind, want)
			}
			if err := c.Resume(); err != nil {
				t.Fatal(err)
			}
		}
		next(trace.StoreCommit, "breakpoint 2")
		next(trace.SchedDecision, "breakpoint 1")
		next(trace.SchedDecision, "breakpoint 1")
		if code := <-exit; code != 0 {
			t.Fatalf("exit status %d\n%s", code, out.String())
		}
		for i, b := range c.Breakpoints() {
			if want := 2 - i; b.Hits != want {
				t.Errorf("breakpoint %d was hit %d times, want %d", b.Number, b.Hits, want)
			}
			if b.Expr != set[i].Expr {
				t.Errorf("breakpoint %d is %s, want %s", b.Number, b.Expr, set[i].Expr)
			}
		}
		if err := c.Unbreak(1); err != nil {
			t.Fatal(err)
		}
		if err := c.Unbreak(1); err == nil || err.Error() != "no breakpoint 1: there are 2" {
			t.Errorf("removing what is gone says %v", err)
		}
		if code := c.Exec(ctx, "kubectl scale deployment/web --replicas=4 && kubectl rollout status deployment/web", control.Streams{Out: &out, Err: &out}); code != 0 {
			t.Fatalf("exit status %d\n%s", code, out.String())
		}
	})
}

package lessons_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

func TestDebug(t *testing.T) {
	script := os.Getenv("SCRIPT")
	if script == "" {
		t.Skip()
	}
	b, _ := os.ReadFile(script)
	ctx := context.Background()
	c, err := cluster.Boot(ctx, cluster.Config{Seed: 1, Demand: true, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.WaitReady(ctx)
	exit := c.Exec(ctx, string(b), control.Streams{Out: os.Stdout, Err: os.Stdout, Source: "dbg"})
	fmt.Println("exit", exit)
	ev, _, _ := c.Trace().Read(0, 1<<30)
	h := view.NewHistory(c.Trace())
	h.CatchUp(0)
	f, _ := os.Create("/tmp/lc/trace.txt")
	trace.Text(f, ev, func(e *trace.Event) string { return strings.TrimSpace(view.Explain(e)) })
	f.Close()
	if w := os.Getenv("WHY"); w != "" {
		for i := len(ev) - 1; i >= 0; i-- {
			if strings.Contains(trace.Line(ev[i], view.Explain(ev[i])), w) {
				for _, l := range h.Chain(ev[i].ID) {
					if l.Event != nil {
						fmt.Println(trace.Line(l.Event, view.Explain(l.Event)))
					}
				}
				fmt.Println(len(h.Why(ev[i].ID)))
				break
			}
		}
	}
}

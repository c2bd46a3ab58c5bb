package cluster_test

import (
	"bytes"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// Admission webhooks as an administrator meets them: testdata/webhooks.txt is what
// is typed and what is seen. Then a breakpoint on a stage stands at a webhook's
// verdict: the object has its patch and is not stored yet.
func TestAdmissionWebhooks(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 5, Bare: true, Nodes: 1})
		golden(t, "webhooks", typed(t, c, "testdata/webhooks.txt"))

		b, err := c.Break(`event.kind == "api.stage" && event.payload.stage == "mutating-admission" && event.payload.by.startsWith("MutatingWebhookConfiguration")`)
		if err != nil {
			t.Fatal(err)
		}
		exit := make(chan int, 1)
		var out bytes.Buffer
		go func() {
			exit <- c.Exec(t.Context(), "kubectl -n demo run held --image=nginx:1.27", control.Streams{Out: &out, Err: &out})
		}()
		stand(t, c, exit)
		var verdict *trace.Stage
		for _, e := range after(t, c, trace.ID{}) {
			if p, ok := e.Payload.(*trace.Stage); ok && strings.HasPrefix(p.By, "MutatingWebhookConfiguration") {
				verdict = p
			}
			if p, ok := e.Payload.(*trace.Commit); ok && strings.HasSuffix(p.Changes[0].Key, "/demo/held") {
				t.Error("the pod is stored already")
			}
		}
		if verdict == nil || verdict.Verdict != "pass" || verdict.Took == 0 || len(verdict.Diff) == 0 {
			t.Errorf("the cluster stands at %+v", verdict)
		}
		if err := c.Unbreak(b.Number); err != nil {
			t.Fatal(err)
		}
		if err := c.Resume(); err != nil {
			t.Fatal(err)
		}
		if code := <-exit; code != 0 {
			t.Errorf("exit status %d: %s", code, out.String())
		}
	})
}

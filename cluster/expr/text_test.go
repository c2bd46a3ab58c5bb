package expr_test

import (
	"testing"

	"kviz/cluster/expr"
)

// What an expression comes to, as kviz print writes it.
func TestText(t *testing.T) {
	s, e := small()
	for src, want := range map[string]string{
		`store.leader`: "b",
		`store.term`:   "4",
		`1 + 1 == 2`:   "true",
		`null`:         "null",
		`objects("pods", "demo").map(p, p.metadata.name)`:        "- web-1\n- web-2",
		`{"pod": event.payload.pod, "node": event.payload.node}`: "node: node-1\npod: demo/web-1",
		`queues["replicaset"].waiting.map(k, k.key)`:             "- demo/web",
		`duration("90s")`: "1m30s",
	} {
		p, err := expr.CompileAny(src)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := p.Text(s, e); err != nil || got != want {
			t.Errorf("%s is %q (%v), want %q", src, got, err, want)
		}
	}
	p, err := expr.CompileAny(`object("pods", "demo", "none").status`)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.Text(s, e); err == nil {
		t.Errorf("what is missing is %q", got)
	}
}

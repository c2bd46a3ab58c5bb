package expr_test

import (
	"testing"

	"kviz/cluster/expr"
)

// FuzzCompile: whatever is typed is refused or answers, with an event and
// without, and the same twice.
func FuzzCompile(f *testing.F) {
	for _, src := range []string{
		`store.leader == "b"`, `object("pods", "demo", "web-1").status.phase == "Running"`,
		`objects("pods", "demo").all(p, p.status.phase == "Running")`, `event.kind == "store.commit" && event.payload.revision > 10`,
		`store.members["c"].role != "leader"`, `queues["replicaset"].depth > 0`, `1/0 == 1`, `[1,2,3].exists(x, x == store.term)`,
		`"a".matches("(")`, `object("pods")`, `event.payload.changes[0].key.startsWith("/")`, `{`, "\x00", `duration("1h") > duration("x")`,
	} {
		f.Add(src)
	}
	s, e := small()
	f.Fuzz(func(t *testing.T, src string) {
		p, err := expr.Compile(src)
		if err != nil {
			if err.Error() == "" {
				t.Error("refused without a word")
			}
			return
		}
		for range 2 {
			_, _ = p.Eval(s, nil)
		}
		if _, err := p.Text(s, e); err != nil && err.Error() == "" {
			t.Error("no value, without a word")
		}
		first, err := p.Eval(s, e)
		again, err2 := p.Eval(s, e)
		if first != again || (err == nil) != (err2 == nil) {
			t.Errorf("%q is %v (%v), then %v (%v)", src, first, err, again, err2)
		}
	})
}

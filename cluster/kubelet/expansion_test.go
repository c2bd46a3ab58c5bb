package kubelet

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/kubernetes/third_party/forked/golang/expansion"
	"pgregory.net/rapid"

	"kviz/raftstore/steady"
)

// Expansion gives what upstream's does.
func TestExpansionIsUpstreams(t *testing.T) {
	env := map[string]string{"A": "1", "B": "$(A)", "": "empty", "$(A": "odd"}
	upstream := expansion.MappingFuncFor(env)
	steady.Check(t, func(r *rapid.T) {
		s := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"$", "(", ")", "A", "B", "C", " ", "é"})).Draw(r, "text"), "")
		if got, want := expandVars(s, env), expansion.Expand(s, upstream); got != want {
			r.Errorf("%q: %q, upstream %q", s, got, want)
		}
	})
}

// Variables that double one another end where Linux refuses them, and not with the memory.
func TestExpansionIsBounded(t *testing.T) {
	env := map[string]string{"A0": "x"}
	for i := range 60 {
		env[fmt.Sprint("A", i+1)] = expandVars(strings.Repeat(fmt.Sprintf("$(A%d)", i), 2), env)
	}
	if n := len(env["A60"]); n <= longest || n > 2*(longest+1) {
		t.Errorf("%d bytes", n)
	}
	if got := expandVars(strings.Repeat("$(", 1<<20), env); !strings.HasPrefix(got, "$($(") || len(got) > longest+2 {
		t.Errorf("%.10q of %d bytes", got, len(got))
	}
}

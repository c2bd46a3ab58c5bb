package view

import (
	"strings"
	"testing"

	"kviz/cluster/trace"
)

// A pod that was placed from what the cycle before it had found is said to be: no word of a node
// being the only one that fits.
func TestAlikeIsTold(t *testing.T) {
	d := &trace.Decision{Pod: "demo/b", Node: "n2", Evaluated: 1, Feasible: 1, Skipped: true, Like: "demo/a"}
	for _, says := range []string{explainDecision(nil, d), (&Cycle{Decision: d}).chosenBy()} {
		if !strings.Contains(says, "demo/a before it, which is alike: next best of that cycle") || strings.Contains(says, "only") {
			t.Error(says)
		}
	}
}

package console

import (
	"context"
	"fmt"
	"testing"

	"kviz/cluster/control"
	"kviz/tui/grid"
	"kviz/tui/safe"
	"kviz/tui/theme"
)

// shell writes to both streams and ends with a status.
type shell int

func (code shell) Exec(_ context.Context, _ string, io control.Streams) int {
	fmt.Fprintln(io.Out, "output")
	fmt.Fprintln(io.Err, "Warning: v1 Endpoints is deprecated in v1.33+")
	fmt.Fprintln(io.Err, "No resources found in default namespace.")
	return int(code)
}

// What kubectl says on its standard error is an error only when the command fails: that
// there are no resources is none.
func TestStandardErrorIsRedWhenTheCommandFails(t *testing.T) {
	for code, want := range map[shell]map[string]grid.Style{
		0: {"output": theme.Text, "Warning: v1 Endpoints is deprecated in v1.33+": theme.Warn, "No resources found in default namespace.": theme.Text},
		1: {"output": theme.Text, "Warning: v1 Endpoints is deprecated in v1.33+": theme.Bad, "No resources found in default namespace.": theme.Bad},
	} {
		c, g := New(), safe.NewGroup(nil)
		c.Run(context.Background(), g, code, "", "kubectl get pods", 80, nil)
		g.Wait()
		seen := 0
		for _, r := range c.rows {
			if st, ok := want[r.text]; ok {
				seen++
				if r.style != st {
					t.Errorf("status %d: %q has style %v, want %v", code, r.text, r.style, st)
				}
			}
		}
		if seen != len(want) {
			t.Errorf("status %d: %d of %d lines are shown", code, seen, len(want))
		}
	}
}

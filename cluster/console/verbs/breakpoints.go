package verbs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"kviz/cluster/control"
)

// Breakpoints are a cluster's breakpoints.
type Breakpoints interface {
	Break(expr string) (control.Breakpoint, error)
	Breakpoints() []control.Breakpoint
	Unbreak(number int) error
}

// breakVerb sets, lists and removes breakpoints.
func breakVerb(_ context.Context, inv *use, args []string) int {
	m := inv.cfg.Cluster.Breakpoints
	if m == nil {
		return inv.did(errors.New("this console has no breakpoints"))
	}
	switch {
	case len(args) == 0 || len(args) == 1 && args[0] == "list":
		list := m.Breakpoints()
		if len(list) == 0 {
			fmt.Fprintln(inv.Out, "no breakpoints; kviz break 'event.kind == \"sched.decision\"' sets one")
		}
		for _, b := range list {
			fmt.Fprintf(inv.Out, "%d  %s  (hit %d times)\n", b.Number, b.Expr, b.Hits)
		}
		return 0
	case args[0] == "remove" && len(args) == 2:
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return inv.badUse()
		}
		return inv.did(m.Unbreak(n))
	}
	if inv.Script {
		return inv.did(errors.New("in a script nobody is there to let the cluster move on: use kviz until"))
	}
	b, err := m.Break(strings.Join(args, " "))
	if err != nil {
		fmt.Fprintf(inv.Err, "kviz break: %v\n", err)
		return 2
	}
	fmt.Fprintf(inv.Out, "breakpoint %d\n", b.Number)
	return 0
}

package console

import (
	"context"
	"fmt"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// maxLinks bounds what why prints.
const maxLinks = 40

// why prints the chain of causes from an event back to what started it,
// following the newest cause of each.
func why(_ context.Context, inv *Invocation, args []string) int {
	if len(args) != 1 {
		return inv.badUse()
	}
	id, err := trace.ParseID(args[0])
	if err != nil {
		fmt.Fprintf(inv.Err, "kviz why: %v\n", err)
		return 2
	}
	stream := inv.Console.cfg.Machine.Trace()
	e, _, ok := stream.At(id)
	if !ok {
		last := trace.ID{}
		if l := stream.Last(); l != nil {
			last = l.ID
		}
		fmt.Fprintf(inv.Err, "kviz why: there is no event #%s in memory (the newest is #%s)\n", id, last)
		return 1
	}
	for range maxLinks {
		fmt.Fprintf(inv.Out, "#%-7s %-22s %-22s %s\n", e.ID, e.Lane, e.Kind, subject(e))
		if len(e.Causes) == 0 {
			return 0
		}
		next, _, ok := stream.At(e.Causes[len(e.Causes)-1])
		if !ok {
			fmt.Fprintf(inv.Out, "#%s is not in memory any more\n", e.Causes[len(e.Causes)-1])
			return 0
		}
		if more := len(e.Causes) - 1; more > 0 {
			fmt.Fprintf(inv.Out, "         (and %d more)\n", more)
		}
		e = next
	}
	fmt.Fprintf(inv.Out, "         … (kviz why %s)\n", e.ID)
	return 0
}

// subject is what an event says, in a sentence.
func subject(e *trace.Event) string {
	return view.Explain(e)
}

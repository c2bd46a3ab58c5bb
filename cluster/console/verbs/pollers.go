package verbs

import (
	"context"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/view"
)

// pollersVerb is kviz apiserver pollers: clients that ask again and again instead
// of watching.
func pollersVerb(ctx context.Context, inv *use, args []string) int {
	resource, every := "pods", time.Second
	if len(args) < 1 || len(args) > 3 {
		return inv.badUse()
	}
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return inv.badUse()
	}
	if len(args) > 1 {
		resource = args[1]
	}
	if len(args) > 2 {
		if every, err = time.ParseDuration(args[2]); err != nil || every < 10*time.Millisecond {
			return inv.did(fmt.Errorf("%q: want how long a poller waits between two lists, from 10ms on", args[2]))
		}
	}
	if err := inv.administer(ctx, "pollers", func(t *sim.Task, plane *ControlPlane) error {
		return plane.Pollers.Set(t, n, resource, every)
	}); err != nil {
		return inv.did(err)
	}
	if n == 0 {
		fmt.Fprintln(inv.Out, "nobody polls")
	} else {
		fmt.Fprintf(inv.Out, "%d clients list %s every %v\n", n, resource, every)
	}
	return 0
}

// clientsVerb is kviz clients: who lists what how often, and who watches.
func clientsVerb(_ context.Context, inv *use, args []string) int {
	if len(args) > 1 {
		return inv.badUse()
	}
	h := view.NewHistory(inv.cfg.Cluster.Trace)
	h.CatchUp(0)
	s := h.Latest()
	w := tabwriter.NewWriter(inv.Out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(w, "CLIENT\tRESOURCE\tREADS A MINUTE\tTOLD A MINUTE\tHOW")
	for _, a := range s.Askers() {
		if len(args) == 1 && a.Resource != args[0] {
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\n", a.Client, a.Resource, a.AskedWithin(s.At), a.ToldWithin(s.At), s.How(a))
	}
	return inv.did(w.Flush())
}

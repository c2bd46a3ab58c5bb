package verbs

import (
	"context"
	"fmt"
	"text/tabwriter"

	"kviz/cluster/sim"
)

// serversVerb is kviz apiserver servers, which lists the API servers, kviz apiserver
// add, which starts another, and kviz apiserver remove, which takes one out for good.
func serversVerb(ctx context.Context, inv *use, args []string) int {
	names := args[1:]
	if remove := args[0] == "remove"; len(names) != 0 && !remove || len(names) != 1 && remove {
		return inv.badUse()
	}
	var list []Server
	if err := inv.administer(ctx, args[0], func(t *sim.Task, plane *ControlPlane) (err error) {
		switch args[0] {
		case "add":
			err = plane.Servers.Add(t)
		case "remove":
			var which []Server
			if which, err = named(plane.Servers.List(), names[0]); err == nil {
				err = plane.Servers.Remove(t, which[0].Name)
			}
		}
		list = plane.Servers.List()
		return err
	}); err != nil {
		return inv.did(err)
	}
	w := tabwriter.NewWriter(inv.Out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(w, "API SERVER\tADDRESS\tREADY\tBALANCER\tCONNECTIONS")
	for _, s := range list {
		balancer := "down"
		switch {
		case !s.Balanced:
			balancer = "none"
		case s.Up:
			balancer = "up"
		}
		fmt.Fprintf(w, "%s\t%s\t%v\t%s\t%d\n", s.Name, s.Address, s.Ready, balancer, s.Connections)
	}
	return inv.did(w.Flush())
}

package console

import (
	"context"
	"fmt"
	"text/tabwriter"

	"kviz/cluster/sim"
)

// Server is an API server as the control plane's administrator sees it.
type Server struct {
	Name, Address string
	Machine       string // that it runs on: "control-plane", "control-plane-b"
	Ready         bool   // what its /readyz says
	Balanced      bool   // a load balancer stands before it
	Up            bool   // the load balancer gives it connections
	Connections   int    // of clients, by way of the balancer
}

// serversVerb is kviz apiserver servers, which lists the API servers, kviz apiserver
// add, which starts another, and kviz apiserver remove, which takes one out for good.
func serversVerb(ctx context.Context, inv *Invocation, args []string) int {
	names := args[1:]
	if remove := args[0] == "remove"; len(names) != 0 && !remove || len(names) != 1 && remove {
		return inv.badUse()
	}
	plane := inv.Console.cfg.ControlPlane
	if plane == nil {
		return inv.did(errNoPlane)
	}
	if !inv.mayWait() {
		return 1
	}
	var list []Server
	var err error
	cerr := inv.Console.call(ctx, inv.Cause, args[0], func(t *sim.Task) {
		switch args[0] {
		case "add":
			err = plane.AddServer(t)
		case "remove":
			var which []Server
			if which, err = named(plane.Servers(), names[0]); err == nil {
				err = plane.RemoveServer(t, which[0].Name)
			}
		}
		list = plane.Servers()
	})
	if cerr != nil {
		err = cerr
	}
	if err != nil {
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

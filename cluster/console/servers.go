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
	Ready         bool // what its /readyz says
	Up            bool // the load balancer gives it connections
	Connections   int  // of clients, by way of the balancer
}

// serversVerb is kviz apiserver servers, which lists the API servers, and kviz
// apiserver add, which starts another.
func serversVerb(ctx context.Context, inv *Invocation, args []string) int {
	if len(args) > 1 {
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
		if args[0] == "add" {
			err = plane.AddServer(t)
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
		case len(list) == 1:
			balancer = "none"
		case s.Up:
			balancer = "up"
		}
		fmt.Fprintf(w, "%s\t%s\t%v\t%s\t%d\n", s.Name, s.Address, s.Ready, balancer, s.Connections)
	}
	return inv.did(w.Flush())
}

package console

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"kviz/cluster/sim"
)

// nodeVerb is kviz node join, which stands for kubeadm join on a new machine.
func nodeVerb(ctx context.Context, inv *Invocation, args []string) int {
	flags := pflag.NewFlagSet("node", pflag.ContinueOnError)
	flags.SetOutput(inv.Err)
	flags.Usage = func() {}
	token := flags.String("token", "", "")
	if err := flags.Parse(args); err != nil || flags.NArg() != 1 || flags.Arg(0) != "join" {
		return inv.badUse()
	}
	plane := inv.Console.cfg.ControlPlane
	if plane == nil {
		return inv.did(errNoPlane)
	}
	if !inv.mayWait() {
		return 1
	}
	var name string
	var err error
	if cerr := inv.Console.call(ctx, inv.Cause, "node join", func(t *sim.Task) { name, err = plane.JoinNode(t, *token) }); cerr != nil {
		err = cerr
	}
	if err == nil {
		fmt.Fprintf(inv.Out, "%s has joined: its kubelet is system:node:%s\n", name, name)
	}
	return inv.did(err)
}

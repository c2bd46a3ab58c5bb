package verbs

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"kviz/cluster/sim"
)

// nodeVerb is kviz node join, which stands for kubeadm join on a new machine.
func nodeVerb(ctx context.Context, inv *use, args []string) int {
	flags := pflag.NewFlagSet("node", pflag.ContinueOnError)
	flags.SetOutput(inv.Err)
	flags.Usage = func() {}
	token := flags.String("token", "", "")
	if err := flags.Parse(args); err != nil || flags.NArg() != 1 || flags.Arg(0) != "join" {
		return inv.badUse()
	}
	var name string
	err := inv.administer(ctx, "node join", func(t *sim.Task, plane *ControlPlane) (err error) {
		name, err = plane.Nodes.Join(t, *token)
		return err
	})
	if err == nil {
		fmt.Fprintf(inv.Out, "%s has joined: its kubelet is system:node:%s\n", name, name)
	}
	return inv.did(err)
}

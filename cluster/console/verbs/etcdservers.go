package verbs

import (
	"context"
	"fmt"
	"strings"

	"kviz/cluster/sim"
)

// etcdServersVerb is kviz apiserver etcd-servers: through which members of the
// store the API server goes.
func etcdServersVerb(ctx context.Context, inv *use, args []string) int {
	if len(args) > 1 || len(args) == 1 && strings.HasPrefix(args[0], "-") && args[0] != "--all" {
		return inv.badUse()
	}
	var all []string
	var used string
	if err := inv.onServer(ctx, "etcd-servers", func(t *sim.Task, s APIServer) (err error) {
		switch {
		case len(args) == 1 && args[0] == "--all":
			err = s.Etcd.Set(t, nil)
		case len(args) == 1:
			err = s.Etcd.Set(t, strings.Split(args[0], ","))
		}
		all, used = s.Etcd.State()
		return err
	}); err != nil {
		return inv.did(err)
	}
	if len(all) == 0 {
		fmt.Fprintln(inv.Out, "etcd-servers: every member; the leader is always found")
		return 0
	}
	for i, member := range all {
		all[i] = "http://" + member + ":2379"
	}
	fmt.Fprintf(inv.Out, "etcd-servers: %s\nin use: member %s\n", strings.Join(all, ","), used)
	return 0
}

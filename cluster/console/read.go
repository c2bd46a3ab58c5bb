package console

import (
	"context"
	"errors"
	"fmt"

	"kviz/cluster/trace"
)

// memberReader is a cluster whose store has members that can be asked one by
// one.
type memberReader interface {
	ReadMembers(ctx context.Context, key string, cause trace.ID) ([]*trace.MemberAnswer, error)
}

// readMembers asks every member for a key both ways: what a serializable read
// gives beside what a linearizable one does.
func readMembers(ctx context.Context, inv *Invocation, args []string) int {
	if len(args) != 1 {
		return inv.badUse()
	}
	m, ok := inv.Console.cfg.Machine.(memberReader)
	if !ok {
		return inv.did(errors.New("this cluster has no members to ask"))
	}
	if !inv.mayWait() {
		return 1
	}
	answers, err := m.ReadMembers(ctx, args[0], inv.Cause)
	if err != nil {
		return inv.did(err)
	}
	fmt.Fprintf(inv.Out, "%-8s %-14s %-9s %-13s %s\n", "MEMBER", "READ", "REVISION", "MOD REVISION", "")
	for _, a := range answers {
		how := "linearizable"
		if a.Serializable {
			how = "serializable"
		}
		switch {
		case a.Error != "":
			fmt.Fprintf(inv.Out, "%-8s %-14s %-9s %-13s %s\n", a.Member, how, "-", "-", a.Error)
		case a.ModRevision == 0:
			fmt.Fprintf(inv.Out, "%-8s %-14s %-9d %-13s %s\n", a.Member, how, a.Revision, "-", "no such key")
		default:
			fmt.Fprintf(inv.Out, "%-8s %-14s %-9d %-13d %d bytes\n", a.Member, how, a.Revision, a.ModRevision, a.Size)
		}
	}
	return 0
}

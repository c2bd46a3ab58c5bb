package verbs

import (
	"context"
	"fmt"

	"kviz/cluster/trace"
)

// MemberReader asks the store's members for a key, one by one.
type MemberReader interface {
	ReadMembers(ctx context.Context, key string, cause trace.ID) ([]*trace.MemberAnswer, error)
}

// readMembers asks every member for a key both ways: what a serializable read
// gives beside what a linearizable one does.
func readMembers(ctx context.Context, inv *use, args []string) int {
	if len(args) != 1 {
		return inv.badUse()
	}
	if !inv.MayWait() {
		return 1
	}
	answers, err := inv.cfg.Cluster.Members.ReadMembers(ctx, args[0], inv.Cause)
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

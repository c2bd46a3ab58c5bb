package verbs

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/dbfile"
)

// Restorer lets the store go on from a backup.
type Restorer interface {
	// Restore gives every member a new disk with what a backup holds, and starts
	// what depends on the store again, as part of a task.
	Restore(t *sim.Task, c *dbfile.Content, opt RestoreOptions) (*trace.Restore, error)
}

// RestoreOptions are those of etcdutl snapshot restore.
type RestoreOptions struct {
	BumpRevision  int64
	MarkCompacted bool
}

// restore lets the running store go on from a backup: etcdutl snapshot restore
// for every member, and the start of what depends on the store.
func restore(ctx context.Context, inv *use, args []string) int {
	var (
		opt  RestoreOptions
		read dbfile.ReadOptions
	)
	flags := pflag.NewFlagSet("restore", pflag.ContinueOnError)
	flags.SetOutput(inv.Err)
	flags.Usage = func() {}
	flags.Int64Var(&opt.BumpRevision, "bump-revision", 0, "")
	flags.BoolVar(&opt.MarkCompacted, "mark-compacted", false, "")
	flags.BoolVar(&read.SkipHash, "skip-hash-check", false, "")
	if err := flags.Parse(args); err != nil || flags.NArg() != 1 {
		return inv.badUse()
	}
	if inv.cfg.Store == nil {
		return inv.did(errNoEtcd)
	}
	if opt.BumpRevision < 0 || (opt.BumpRevision > 0) != opt.MarkCompacted {
		return inv.did(fmt.Errorf("--bump-revision N and --mark-compacted go together: clients must not find a revision twice, so what they know is compacted"))
	}
	path, err := inv.Path(flags.Arg(0))
	if err != nil {
		return inv.did(err)
	}
	content, err := dbfile.Read(path, read)
	if err != nil {
		return inv.did(fmt.Errorf("%s", strings.ReplaceAll(err.Error(), path, flags.Arg(0))))
	}
	if !inv.MayWait() {
		return 1
	}
	var done *trace.Restore
	cerr := inv.Task(ctx, "restore", func(t *sim.Task) {
		done, err = inv.cfg.Store.Restore(t, content, opt)
	})
	if cerr != nil {
		err = cerr
	}
	if err != nil {
		return inv.did(err)
	}
	fmt.Fprintf(inv.Out, "restored %s: %d keys, revision %d, cluster ID %x\n", flags.Arg(0), done.Keys, done.Revision, done.ClusterID)
	return 0
}

var errNoEtcd = fmt.Errorf("this console has no store")

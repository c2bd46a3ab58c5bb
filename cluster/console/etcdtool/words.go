package etcdtool

import (
	"sync"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/etcdctl/v3/ctlv3/command"

	"kviz/cluster/control"
)

// Words are the commands of one of the programs, and their subcommands.
func Words(tool string) []control.Word {
	if tool == Etcdctl {
		return ctlWords()
	}
	return wordsOf(utility())
}

// ctlWords are etcdctl's, whose tree its package keeps to itself.
//
// Mirrors etcdctl/ctlv3/ctl.go.
var ctlWords = sync.OnceValue(func() []control.Word {
	root := &cobra.Command{Use: Etcdctl}
	root.AddCommand(
		command.NewGetCommand(), command.NewPutCommand(), command.NewDelCommand(), command.NewTxnCommand(), command.NewCompactionCommand(),
		command.NewAlarmCommand(), command.NewDefragCommand(), command.NewEndpointCommand(), command.NewMoveLeaderCommand(), command.NewWatchCommand(),
		command.NewVersionCommand(), command.NewLeaseCommand(), command.NewMemberCommand(), command.NewSnapshotCommand(), command.NewMakeMirrorCommand(),
		command.NewLockCommand(), command.NewElectCommand(), command.NewAuthCommand(), command.NewUserCommand(), command.NewRoleCommand(),
		command.NewCheckCommand(), command.NewCompletionCommand(), command.NewDowngradeCommand(), command.NewOptionsCommand(root),
	)
	return append(wordsOf(root), control.Word{Name: "help"})
})

func wordsOf(parent *cobra.Command) (all []control.Word) {
	for _, c := range parent.Commands() {
		all = append(all, control.Word{Name: c.Name(), Next: wordsOf(c)})
	}
	return all
}

// Package etcdtool is etcd's own command line programs, etcdctl and etcdutl
// v3.7.3, inside this one.
//
// Their code keeps flags in variables of the process, writes to its standard
// output and ends it with os.Exit. So they run in a process of their own: kviz
// etcdctl is one, and the console starts this very program as one ([Command]).
// A program that imports this package, a test binary too, becomes etcdctl when
// it is started that way, before its main.
//
// Nothing in the programs is left out or changed except etcdutl hashkv (hashkv.go). Start
// reading at [Command].
package etcdtool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/etcdctl/v3/ctlv3"
	"go.etcd.io/etcd/etcdutl/v3/etcdutl"
	"go.etcd.io/etcd/pkg/v3/cobrautl"

	"kviz/raftstore/host"
)

// which says as what a process was started.
const which = "KVIZ_ETCDTOOL"

// The two programs.
const (
	Etcdctl = "etcdctl"
	Etcdutl = "etcdutl"
)

func init() {
	// Package ctlv3 sets it for the whole process; kubectl's commands have no
	// abbreviations.
	cobra.EnablePrefixMatching = false
	if tool := os.Getenv(which); tool != "" {
		os.Unsetenv(which)
		go endWithParent()
		Main(tool, os.Args[1:])
	}
}

// endWithParent ends the process when the one that started it is gone: nobody
// reads any more, and it might wait for ever. Where it was not started by
// [host.Start], nothing is waited for.
func endWithParent() {
	if host.AwaitParent() == nil {
		os.Exit(cobrautl.ExitInterrupted)
	}
}

// Main runs one of the programs and ends the process.
func Main(tool string, args []string) {
	// The programs end by a signal as any other, unless they handle it themselves.
	signal.Reset()
	cobra.EnablePrefixMatching = true
	os.Args = append([]string{tool}, args...) // etcdctl watch reads them itself
	switch tool {
	case Etcdctl:
		ctlv3.MustStart()
	case Etcdutl:
		if err := utility().Execute(); err != nil {
			cobrautl.ExitWithError(cobrautl.ExitError, err)
		}
	default:
		cobrautl.ExitWithError(cobrautl.ExitBadArgs, fmt.Errorf("%s is none of etcd's programs", tool))
	}
	os.Exit(cobrautl.ExitSuccess)
}

// Command is one of the programs in a process of its own, with nothing of this
// one's environment. It is killed when ctx ends.
func Command(ctx context.Context, tool string, args, env []string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: this program does not find itself", tool), err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append([]string{which + "=" + tool}, env...)
	for _, name := range []string{"HOME", "TMPDIR", "USERPROFILE", "TEMP"} { // where files of one's own go, there and on Windows
		if at, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+at)
		}
	}
	return cmd, nil
}

// utility is etcdutl's command tree.
//
// Mirrors etcdutl/ctl.go, which is a main package.
func utility() *cobra.Command {
	root := &cobra.Command{Use: Etcdutl, Short: "An administrative command line tool for etcd3.", SuggestFor: []string{Etcdutl}}
	root.PersistentFlags().DurationVar(&etcdutl.FlockTimeout, "timeout", 10*time.Second, "time to wait to obtain a file lock on db file, 0 to block indefinitely")
	root.PersistentFlags().StringVarP(&etcdutl.OutputFormat, "write-out", "w", "simple", "set the output format (fields, json, protobuf, simple, table)")
	root.AddCommand(
		etcdutl.NewDefragCommand(), etcdutl.NewSnapshotCommand(), hashKV(),
		etcdutl.NewVersionCommand(), etcdutl.NewCompletionCommand(), etcdutl.NewMigrateCommand(),
	)
	root.SetHelpTemplate(`{{.UsageString}}`)
	return root
}

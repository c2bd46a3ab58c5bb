package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"kviz/cluster/console/command"
	"kviz/cluster/console/etcdtool"
	"kviz/raftstore/host"
)

// Utl is the command etcdutl: it works on files, and the cluster does not notice.
// The files have raft's index and term in them, and the hash of a whole one
// depends on them; that of its keys (hashkv) does not, nor why a restore is refused.
func Utl(ctx context.Context, inv *command.Invocation) int {
	if inv.Within != nil {
		if err := within(inv, inv.Args[1:]); err != nil {
			fmt.Fprintf(inv.Err, "etcdutl: %v\n", err)
			return 1
		}
	}
	inv.Untold = !slices.ContainsFunc(inv.Args[1:], func(a string) bool { return a == "version" || a == "hashkv" || a == "restore" })
	return runTool(ctx, inv, etcdtool.Etcdutl, inv.Args[1:], func(line string) string { return line })
}

// runTool runs one of etcd's programs in the console's folder. words is asked how
// each line of its standard error is shown.
func runTool(ctx context.Context, inv *command.Invocation, name string, args []string, words func(string) string, env ...string) int {
	cmd, err := etcdtool.Command(ctx, name, args, env)
	if err != nil {
		fmt.Fprintf(inv.Err, "%s: %v\n", name, err)
		return 1
	}
	var errOut bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = inv.Dir, strings.NewReader(""), inv.Out, &errOut
	if inv.Piped {
		cmd.Stdin = inv.In
	}
	ended, err := host.Start(cmd) // Ctrl-C at the terminal is the console's
	if err != nil {
		fmt.Fprintf(inv.Err, "%s: %v\n", name, err)
		return 1
	}
	err = errors.Join(cmd.Wait(), ended())
	for line := range strings.Lines(errOut.String()) {
		// What it logs for its makers has times, addresses in memory and line
		// numbers; the errors themselves it says again in plain words.
		if !isLog(line) {
			fmt.Fprint(inv.Err, words(line))
		}
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 130
	case errors.As(err, &exit):
		return exit.ExitCode()
	case err != nil:
		fmt.Fprintf(inv.Err, "%s: %v\n", name, err)
		return 1
	}
	return 0
}

// isLog tells lines of zap's log: JSON from etcdctl, columns from etcdutl.
func isLog(line string) bool {
	if strings.HasPrefix(line, `{"level":"`) {
		return true
	}
	at, _, tabs := strings.Cut(line, "\t")
	if !tabs {
		return false
	}
	_, err := time.Parse(time.RFC3339, at)
	return err == nil
}

package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"kviz/cluster/console/command"
	"kviz/cluster/console/verbs"
	"kviz/cluster/sim"
)

// on is the command on MACHINE CMD: a tool of a node, or of the machine that an API
// server runs on.
func (c *Console) on(ctx context.Context, inv *command.Invocation) int {
	if len(inv.Args) < 3 {
		fmt.Fprintln(inv.Err, "usage: on NODE COMMAND [ARGS]   (on node-1 iptables-save, on control-plane-b tail /var/log/kubernetes/audit.log)")
		return 2
	}
	name := inv.Args[1]
	var nodes []string
	var servers []verbs.Server
	err := inv.Kernel.Do(func() {
		if n := c.cfg.Nodes; n != nil {
			nodes = n.Names()
		}
		if p := c.cfg.Verbs.ControlPlane; p != nil {
			servers = p.Servers.List()
		}
	})
	if err != nil {
		fmt.Fprintf(inv.Err, "on: %v\n", command.ErrStopped)
		return 1
	}
	if slices.Contains(nodes, name) {
		return c.onNode(ctx, inv, name)
	}
	var machines []string
	for _, s := range servers {
		if s.Machine == name {
			return c.onMachine(ctx, inv, s)
		}
		machines = append(machines, s.Machine)
	}
	fmt.Fprintf(inv.Err, "on: no node is called %q; the nodes: %s; the API servers' machines: %s\n", name, strings.Join(nodes, " "), strings.Join(machines, " "))
	return 1
}

// onNode runs a tool of a node.
func (c *Console) onNode(ctx context.Context, inv *command.Invocation, name string) int {
	var in []byte
	if inv.Piped {
		in, _ = io.ReadAll(inv.In)
	}
	var out, errOut bytes.Buffer
	exit, wait := 0, (func(*sim.Task) int)(nil)
	var used uint64
	err := inv.Kernel.Do(func() {
		used = inv.Kernel.Enter(inputTool, tool{Node: name, Words: inv.Args[2:], In: in})
		exit, wait = c.cfg.Nodes.Run(name, inv.Args[2:], in, &out, &errOut)
	})
	if err == nil && wait != nil {
		if !inv.MayWait() {
			return 1
		}
		err = inv.Kernel.Call(ctx, inv.Kernel.Process, "on "+name, func(t *sim.Task) {
			t.SetCauses(inv.Cause)
			exit = wait(t)
		}, func() { inv.Kernel.Enter(inputToolTask, tool{Node: name, Of: used, Cause: inv.Cause}) })
	}
	if err != nil {
		fmt.Fprintf(inv.Err, "on: %v\n", err)
		return 1
	}
	_, _ = inv.Out.Write(out.Bytes())
	_, _ = inv.Err.Write(errOut.Bytes())
	return exit
}

// serverTools are the text tools that are of use on an API server's machine.
var serverTools = []string{"base64", "cat", "cut", "diff", "egrep", "fgrep", "grep", "head", "hexdump", "nl", "sed", "sort", "strings", "tac", "tail", "tr", "uniq", "wc", "xxd"}

// onMachine runs a tool on the machine of an API server, whose files it reads and no
// others.
func (c *Console) onMachine(ctx context.Context, inv *command.Invocation, s verbs.Server) int {
	var at verbs.APIServer
	var err error
	if doErr := inv.Kernel.Do(func() { at, err = c.cfg.Verbs.ControlPlane.Servers.At(s.Name) }); err != nil || doErr != nil {
		fmt.Fprintf(inv.Err, "on: %v\n", errors.Join(err, doErr))
		return 1
	}
	one := *inv
	one.Args, one.Files = inv.Args[2:], machineFiles{inv.Kernel, at.Machine}
	switch tool := one.Args[0]; {
	case slices.Contains(serverTools, tool):
		return runTool(ctx, &one)
	case tool == "ls":
		return listFiles(&one, at.Machine)
	case tool == "hostname":
		fmt.Fprintln(inv.Out, s.Machine)
		return 0
	default:
		fmt.Fprintf(inv.Err, "%s: command not found on %s; its tools: hostname, ls, %s\n", tool, s.Machine, strings.Join(serverTools, ", "))
		return 127
	}
}

// listFiles is ls of a machine's files: those below a folder, or a file, by their
// whole names.
func listFiles(inv *command.Invocation, m verbs.Machine) int {
	names := inv.Args[1:]
	if len(names) == 0 {
		names = []string{"/"}
	}
	var all []string
	if err := inv.Kernel.Do(func() { all = m.Files() }); err != nil {
		fmt.Fprintf(inv.Err, "ls: %v\n", command.ErrStopped)
		return 2
	}
	exit := 0
	for _, name := range names {
		found := false
		for _, f := range all {
			if f == name || strings.HasPrefix(f, strings.TrimSuffix(name, "/")+"/") {
				fmt.Fprintln(inv.Out, f)
				found = true
			}
		}
		if !found {
			fmt.Fprintf(inv.Err, "ls: %s: no such file\n", name)
			exit = 2
		}
	}
	return exit
}

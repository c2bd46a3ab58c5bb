package console

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/console/command"
	"kviz/cluster/console/languages"
	"kviz/cluster/console/tools"
)

// ofShell are the commands that run others: they belong to a shell, and leave no mark in the trace
// themselves.
var ofShell = map[string]command.Func{}

func init() {
	// Not where it is declared: they find what they run here.
	ofShell["xargs"], ofShell["sh"], ofShell["bash"], ofShell["watch"] = xargs, sh, sh, watch
}

// find is what runs under a name; nil: nothing. told says that it stands in the trace.
func (c *Console) find(name string) (run command.Func, told bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.commands[name] != nil:
		return c.commands[name], true
	case ofShell[name] != nil:
		return ofShell[name], false
	case slices.Contains(tools.Names(), name):
		return runTool, false
	case slices.Contains(languages.Names(), name):
		return languages.Run, false
	}
	return nil, false
}

// run runs a command, with its marks in the trace if it leaves any; 127 where there is none of the
// name, which it has then said.
func (s *Session) invoke(ctx context.Context, inv *command.Invocation) int {
	switch run, told := s.c.find(inv.Args[0]); {
	case run == nil:
		fmt.Fprintf(inv.Err, "%s: command not found%s\n", inv.Args[0], s.hint(inv.Args[0]))
		return 127
	case told:
		return s.c.perform(ctx, inv, run)
	default:
		return run(ctx, inv)
	}
}

// words runs a command that another one names: of the shell's own those that are programs
// too.
func (s *Session) words(ctx context.Context, inv *command.Invocation) int {
	if slices.Contains([]string{"echo", "printf", "test", "[", "true", "false", "pwd"}, inv.Args[0]) {
		return s.subshell(ctx, inv, strings.TrimSpace(quoteAll(inv.Args)), "", nil)
	}
	return s.invoke(ctx, inv)
}

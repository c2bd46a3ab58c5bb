package verbs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"kviz/cluster/console/command"
)

// printVerb writes what an expression comes to.
func printVerb(_ context.Context, inv *use, args []string) int {
	value := inv.cfg.Value
	if len(args) == 0 || value == nil {
		return inv.badUse()
	}
	var text string
	var err error
	if do := inv.Kernel.Do(func() { text, err = value(strings.Join(args, " ")) }); do != nil {
		return inv.did(command.ErrStopped)
	}
	if err == nil {
		fmt.Fprintln(inv.Out, text)
	}
	return inv.did(err)
}

// compile makes a condition of an expression, or says what is wrong with it.
func (inv *use) compile(expr string) (Condition, bool) {
	if inv.cfg.Compile == nil {
		fmt.Fprintf(inv.Err, "kviz %s: this console evaluates no expressions\n", inv.Args[1])
		return Condition{}, false
	}
	c, err := inv.cfg.Compile(expr)
	if err != nil {
		fmt.Fprintf(inv.Err, "kviz %s: %v\n", inv.Args[1], err)
		return Condition{}, false
	}
	return c, true
}

// limitAndExpr reads [--timeout D] EXPR; words are joined, so that short
// expressions need no quotes.
func limitAndExpr(args []string) (time.Duration, string, bool) {
	limit := time.Duration(0)
	for len(args) > 0 && strings.HasPrefix(args[0], "--") {
		name, value, joined := strings.Cut(args[0], "=")
		if name != "--timeout" {
			return 0, "", false
		}
		args = args[1:]
		if !joined {
			if len(args) == 0 {
				return 0, "", false
			}
			value, args = args[0], args[1:]
		}
		d, err := command.ParseDuration(value)
		if err != nil {
			return 0, "", false
		}
		limit = d
	}
	expr := strings.TrimSpace(strings.Join(args, " "))
	return limit, expr, expr != ""
}

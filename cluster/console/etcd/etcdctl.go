package etcd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/console/command"
	"kviz/cluster/console/etcdtool"
)

// Ctl is the command etcdctl.
func (c *Clients) Ctl(ctx context.Context, inv *command.Invocation) int {
	call, err := parseEtcdctl(inv.Args[1:], c.store.Members())
	if err != nil {
		fmt.Fprintf(inv.Err, "Error: %v\n", err)
		return 128 // etcd's ExitBadArgs
	}
	if why := call.refused(inv, command.Ends(ctx) || inv.Behind); why != "" {
		fmt.Fprintf(inv.Err, "etcdctl %s\n", why)
		return 1
	}
	if err := call.confined(inv); err != nil {
		fmt.Fprintf(inv.Err, "etcdctl: %v\n", err)
		return 1
	}
	if !inv.MayWait() {
		return 1
	}
	inv.Untold = call.untold()
	g, err := c.comeIn(inv.Kernel)
	if err != nil {
		fmt.Fprintf(inv.Err, "etcdctl: %v\n", err)
		return 1
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &run{store: c.store, ctx: ctx, inv: inv, limit: call.limit}
	if inv.Script && call.rev && !command.Ends(ctx) {
		r.watch = watchHistory
	}
	var atOnce []string // members that the program asks at once
	if call.words == [2]string{"endpoint", "health"} {
		atOnce = call.endpoints
		if call.has("--cluster") {
			atOnce = c.store.Members()
		}
		r.turns = newTurns(atOnce)
	}
	if call.words[0] == "watch" {
		r.limit = command.ScriptLimit
	}
	proxy, leave, err := g.enter(r)
	if err != nil {
		fmt.Fprintf(inv.Err, "etcdctl: %v\n", err)
		return 1
	}
	defer leave()
	shown := *inv
	var out *withoutLast
	if call.words[0] == "watch" {
		last, err := shownAs(call.format)
		if err != nil {
			fmt.Fprintf(inv.Err, "etcdctl: %v\n", err)
			return 1
		}
		out = &withoutLast{to: inv.Out, last: last}
		shown.Out = out
	}
	tool := func(inv *command.Invocation) int {
		return runTool(ctx, inv, etcdtool.Etcdctl, call.args, r.words, "HTTPS_PROXY="+proxy, "NO_PROXY=")
	}
	var exit int
	if atOnce != nil {
		exit = inOrder(&shown, call.format, atOnce, tool)
	} else {
		exit = tool(&shown)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if out != nil {
		if err := out.end(r.ended); err != nil {
			fmt.Fprintf(inv.Err, "etcdctl: %v\n", err)
		}
	}
	if r.ended {
		exit = 0
	}
	if exit != 0 && ctx.Err() == nil {
		fmt.Fprint(inv.Err, whoAnswers(call.endpoints, c.store))
	}
	if n := len(r.wrote); n > 0 {
		fmt.Fprintf(inv.Err, "kviz: %s went straight into the store: no API server has checked it\n", r.wrote[0])
	}
	return exit
}

// whoAnswers is a line for somebody whose etcdctl failed because it asked only
// members that are down, as it does when it is not told whom to ask; else "".
func whoAnswers(asked []string, store Store) string {
	if slices.ContainsFunc(asked, store.Up) {
		return ""
	}
	var up []string
	for _, m := range store.Members() {
		if store.Up(m) {
			up = append(up, m)
		}
	}
	down, is := strings.Join(asked, ", "), "is"
	if len(asked) > 1 {
		is = "are"
	}
	if len(up) == 0 {
		return fmt.Sprintf("kviz: it asked %s, which %s down, as every member is\n", down, is)
	}
	return fmt.Sprintf("kviz: it asked %s, which %s down; ask who runs: --endpoints=%s\n", down, is, strings.Join(up, ","))
}

// words gives a line of etcdctl's standard error as it is shown: what etcdctl
// says of an end that the console has set is in the console's words.
func (r *run) words(line string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended && (strings.HasPrefix(line, "watch was canceled (") || strings.HasPrefix(line, "Error: watch is canceled by the server")) {
		return ""
	}
	line = strings.ReplaceAll(line, "rpc error: code = Unknown desc = "+errTooLate.Error(), context.DeadlineExceeded.Error())
	return strings.ReplaceAll(line, errTooLate.Error(), context.DeadlineExceeded.Error())
}

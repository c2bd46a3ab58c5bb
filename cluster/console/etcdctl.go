package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"kviz/cluster/console/etcdtool"
	"kviz/raftstore/host"
)

// This file has etcdctl: etcd's own program, run as a process whose every
// request passes the kernel (etcdgate.go). While it computes, virtual time
// stands, as for kubectl.

// etcdctl is the command.
func etcdctl(ctx context.Context, inv *Invocation) int {
	call, err := parseEtcdctl(inv.Args[1:], inv.Console.cfg.Etcd.Members())
	if err != nil {
		fmt.Fprintf(inv.Err, "Error: %v\n", err)
		return 128 // etcd's ExitBadArgs
	}
	if why := call.refused(inv, ends(ctx)); why != "" {
		fmt.Fprintf(inv.Err, "etcdctl %s\n", why)
		return 1
	}
	if !inv.mayWait() {
		return 1
	}
	inv.untold = call.untold()
	g, err := inv.Console.gate()
	if err != nil {
		fmt.Fprintf(inv.Err, "etcdctl: %v\n", err)
		return 1
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	run := &etcdRun{c: inv.Console, ctx: ctx, inv: inv, limit: call.limit}
	if inv.Script && call.rev && !ends(ctx) {
		run.watch = watchHistory
	}
	var atOnce []string // members that the program asks at once
	if call.words == [2]string{"endpoint", "health"} {
		atOnce = call.endpoints
		if call.has("--cluster") {
			atOnce = inv.Console.cfg.Etcd.Members()
		}
		run.turns = newTurns(atOnce)
	}
	if call.words[0] == "watch" {
		run.limit = scriptLimit
	}
	proxy, leave, err := g.enter(run)
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
	tool := func(inv *Invocation) int {
		return inv.tool(ctx, etcdtool.Etcdctl, call.args, run.words, "HTTPS_PROXY="+proxy, "NO_PROXY=")
	}
	var exit int
	if atOnce != nil {
		exit = inOrder(&shown, call.format, atOnce, tool)
	} else {
		exit = tool(&shown)
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	if out != nil {
		if err := out.end(run.ended); err != nil {
			fmt.Fprintf(inv.Err, "etcdctl: %v\n", err)
		}
	}
	if run.ended {
		exit = 0
	}
	if exit != 0 && ctx.Err() == nil {
		fmt.Fprint(inv.Err, whoAnswers(call.endpoints, inv.Console.cfg.Etcd))
	}
	if n := len(run.wrote); n > 0 {
		fmt.Fprintf(inv.Err, "kviz: %s went straight into the store: no API server has checked it\n", run.wrote[0])
	}
	return exit
}

// whoAnswers is a line for somebody whose etcdctl failed because it asked only
// members that are down, as it does when it is not told whom to ask; else "".
func whoAnswers(asked []string, store Etcd) string {
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

// etcdutl is the command: it works on files, and the cluster does not notice.
// The files have raft's index and term in them, and the hash of a whole one
// depends on them; that of its keys (hashkv) does not, nor why a restore is refused.
func etcdutl(ctx context.Context, inv *Invocation) int {
	inv.untold = !slices.ContainsFunc(inv.Args[1:], func(a string) bool { return a == "version" || a == "hashkv" || a == "restore" })
	return inv.tool(ctx, etcdtool.Etcdutl, inv.Args[1:], func(line string) string { return line })
}

// words gives a line of etcdctl's standard error as it is shown: what etcdctl
// says of an end that the console has set is in the console's words.
func (r *etcdRun) words(line string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended && (strings.HasPrefix(line, "watch was canceled (") || strings.HasPrefix(line, "Error: watch is canceled by the server")) {
		return ""
	}
	line = strings.ReplaceAll(line, "rpc error: code = Unknown desc = "+errTooLate.Error(), context.DeadlineExceeded.Error())
	return strings.ReplaceAll(line, errTooLate.Error(), context.DeadlineExceeded.Error())
}

// tool runs one of etcd's programs in the console's folder. words is asked how
// each line of its standard error is shown.
func (inv *Invocation) tool(ctx context.Context, name string, args []string, words func(string) string, env ...string) int {
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

// etcdctlCall is an etcdctl command as it is going to be run.
type etcdctlCall struct {
	args      []string // for the program
	words     [2]string
	endpoints []string
	limit     time.Duration
	rev       bool // watch has a revision to begin at
	format    string
	rest      []string
}

// valued are etcdctl's flags for every command that take a value; of them,
// those of a connection the console has itself.
var valued = map[string]bool{
	"--endpoints": true, "--command-timeout": true, "--dial-timeout": true, "--keepalive-time": true, "--keepalive-timeout": true,
	"--cacert": true, "--cert": true, "--key": true, "--discovery-srv": true, "-d": true, "--discovery-srv-name": true,
	"--user": false, "--password": false, "--auth-jwt-token": false, "--write-out": false, "-w": false,
	"--max-request-bytes": false, "--max-recv-bytes": false,
}

// connecting are the others of a connection.
var connecting = []string{"--insecure-transport", "--insecure-discovery", "--insecure-skip-tls-verify", "--debug"}

// parseEtcdctl takes out of the arguments what concerns the connection.
func parseEtcdctl(args, members []string) (*etcdctlCall, error) {
	call := &etcdctlCall{limit: 5 * time.Second, format: "simple", endpoints: members[:1]}
	words := 0
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			call.rest = append(call.rest, args[i:]...)
			break
		}
		name, value, has := strings.Cut(a, "=")
		own, takes := valued[name]
		switch {
		case takes:
			if !has {
				if i+1 == len(args) {
					return nil, fmt.Errorf("flag needs an argument: %s", a)
				}
				i++
				value = args[i]
			}
			if err := call.set(name, value, members); err != nil {
				return nil, err
			}
			if !own {
				call.rest = append(call.rest, name+"="+value)
			}
			continue
		case slices.Contains(connecting, name):
			continue
		case strings.HasPrefix(a, "-w") && !strings.HasPrefix(a, "--") && len(a) > 2:
			call.format = strings.TrimPrefix(a[2:], "=")
		case strings.HasPrefix(name, "--rev"):
			call.rev = true
		case !strings.HasPrefix(a, "-") && words < 2:
			call.words[words] = a
			words++
		}
		call.rest = append(call.rest, a)
	}
	call.words[0] = whole(call.words[0], ctlCommands)
	switch call.words[0] {
	case "endpoint", "lease":
		call.words[1] = whole(call.words[1], ctlSubcommands)
	}
	// The console measures a command's time itself, in virtual time.
	call.args = append([]string{"--endpoints=" + call.asked(), "--command-timeout=24h", "--dial-timeout=1h"}, call.fixed()...)
	return call, nil
}

// ctlCommands are etcdctl's commands; it takes any beginning of one for it.
var ctlCommands = []string{
	"alarm", "auth", "check", "compaction", "completion", "defrag", "del", "downgrade", "elect", "endpoint", "get", "help", "lease", "lock",
	"make-mirror", "member", "move-leader", "options", "put", "role", "snapshot", "txn", "user", "version", "watch",
}

// ctlSubcommands are those that make a difference here.
var ctlSubcommands = []string{"grant", "hashkv", "health", "keep-alive", "list", "revoke", "status", "timetolive"}

// whole is the one name that a word is the beginning of, else the word.
func whole(word string, names []string) string {
	var found []string
	for _, n := range names {
		if n == word {
			return n
		}
		if word != "" && strings.HasPrefix(n, word) {
			found = append(found, n)
		}
	}
	if len(found) == 1 {
		return found[0]
	}
	return word
}

// fixed are the arguments with short flags that were made "-w=json" as etcdctl
// reads them.
func (call *etcdctlCall) fixed() []string {
	out := slices.Clone(call.rest)
	for i, a := range out {
		if v, ok := strings.CutPrefix(a, "-w="); ok {
			out[i] = "--write-out=" + v
		}
	}
	return out
}

func (call *etcdctlCall) set(name, value string, members []string) error {
	switch name {
	case "--endpoints":
		call.endpoints = nil
		for _, e := range strings.Split(value, ",") {
			m, err := memberAt(strings.TrimSpace(e), members)
			if err != nil {
				return err
			}
			call.endpoints = append(call.endpoints, m)
		}
	case "--command-timeout":
		d, err := time.ParseDuration(value)
		if err != nil {
			return fmt.Errorf("invalid argument %q for %q flag: %w", value, name, err)
		}
		call.limit = d
	case "--write-out", "-w":
		call.format = value
	}
	return nil
}

// memberAt is the member behind an endpoint: a, a:2379, https://a:2379, or this
// machine, where the first member is.
func memberAt(endpoint string, members []string) (string, error) {
	host := endpoint
	if _, after, ok := strings.Cut(host, "://"); ok {
		host = after
	}
	host, port, ok := strings.Cut(strings.TrimSuffix(host, "/"), ":")
	switch {
	case ok && port != "2379":
	case slices.Contains(members, host):
		return host, nil
	case host == "127.0.0.1" || host == "localhost":
		return members[0], nil
	}
	return "", fmt.Errorf("no member is at %q; the members are at %s:2379", endpoint, strings.Join(members, ":2379, "))
}

// asked are the endpoints for the program. It would draw one where any does;
// here it is the first, so that a script gives the same trace every time.
func (call *etcdctlCall) asked() string {
	eps := call.endpoints
	switch call.words[0] {
	case "endpoint", "defrag", "move-leader", "snapshot":
	default:
		eps = eps[:1]
	}
	var b strings.Builder
	for i, m := range eps {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(m + ":2379")
	}
	return b.String()
}

// has reports whether one of the arguments begins so.
func (call *etcdctlCall) has(prefixes ...string) bool {
	return slices.ContainsFunc(call.rest, func(a string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return a == p || strings.HasPrefix(a, p+"=") })
	})
}

// refused says why a command cannot be run here, "" if it can.
func (call *etcdctlCall) refused(inv *Invocation, limited bool) string {
	if call.has("-h", "--help") {
		return ""
	}
	switch call.words[0] {
	case "lock":
		return "lock: it holds the lock until it is interrupted, and the console runs one command at a time. What it does: lease grant, txn with create(KEY) = \"0\", put --lease"
	case "elect":
		return "elect: it stays elected until it is interrupted, and the console runs one command at a time. What it does: lease grant, txn with create(KEY) = \"0\", put --lease"
	case "make-mirror":
		return "make-mirror: it copies to another cluster for ever, and there is none here; use snapshot save and kviz restore"
	case "check":
		return "check " + call.words[1] + ": it measures by the machine's clock, which a cluster in virtual time does not follow; use kviz bench store, or kviz etcdctl against kviz serve --etcd-port"
	case "watch":
		switch {
		case call.has("-i", "--interactive"):
			return "watch -i: it reads what to watch from the keyboard, for ever; give the key instead"
		case call.has("--"):
			return "watch: the console runs no other programs, so nothing can follow --; use the output in a pipe"
		case inv.Script && !call.rev && !limited:
			return "watch: it never ends by itself, and this is a script: put timeout 30s before it, or --rev N to see what there is from revision N on"
		}
	case "lease":
		if call.words[1] == "keep-alive" && !call.has("--once") {
			return "lease keep-alive: it never ends by itself; add --once, which extends the lease by its time to live"
		}
	}
	return ""
}

// untold reports whether the output has what raft and the machine's clock
// decide, and so stays out of the trace.
func (call *etcdctlCall) untold() bool {
	switch call.words[0] {
	case "endpoint", "move-leader", "snapshot", "defrag":
		return true
	case "lease": // a new leader extends all leases, and when one is elected raft decides
		return call.words[1] == "timetolive"
	}
	return call.format != "simple" && call.format != "table"
}

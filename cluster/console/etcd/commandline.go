package etcd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/console/command"
	"kviz/cluster/console/etcdtool"
	"kviz/cluster/control"
)

// commandLine is an etcdctl command as it is going to be run.
type commandLine struct {
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
func parseEtcdctl(args, members []string) (*commandLine, error) {
	call := &commandLine{limit: 5 * time.Second, format: "simple", endpoints: members[:1]}
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
	commands := etcdtool.Words(etcdtool.Etcdctl) // etcdctl takes any beginning of one for it
	call.words[0] = whole(call.words[0], commands)
	if i := slices.IndexFunc(commands, func(w control.Word) bool { return w.Name == call.words[0] }); i >= 0 {
		call.words[1] = whole(call.words[1], commands[i].Next)
	}
	// The console measures a command's time itself, in virtual time.
	call.args = append([]string{"--endpoints=" + call.asked(), "--command-timeout=24h", "--dial-timeout=1h"}, call.fixed()...)
	return call, nil
}

// whole is the one name that a word is the beginning of, else the word.
func whole(word string, known []control.Word) string {
	var found []string
	for _, k := range known {
		n := k.Name
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
func (call *commandLine) fixed() []string {
	out := slices.Clone(call.rest)
	for i, a := range out {
		if v, ok := strings.CutPrefix(a, "-w="); ok {
			out[i] = "--write-out=" + v
		}
	}
	return out
}

func (call *commandLine) set(name, value string, members []string) error {
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
func (call *commandLine) asked() string {
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
func (call *commandLine) has(prefixes ...string) bool {
	return slices.ContainsFunc(call.rest, func(a string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return a == p || strings.HasPrefix(a, p+"=") })
	})
}

// refused says why a command cannot be run here, "" if it can.
func (call *commandLine) refused(inv *command.Invocation, limited bool) string {
	if call.has("-h", "--help") {
		return ""
	}
	switch call.words[0] {
	case "lock":
		return "lock: it holds the lock until it is interrupted, which nobody does here. What it does: lease grant, txn with create(KEY) = \"0\", put --lease"
	case "elect":
		return "elect: it stays elected until it is interrupted, which nobody does here. What it does: lease grant, txn with create(KEY) = \"0\", put --lease"
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
			return "watch: it never ends by itself, and this is a script: put timeout 30s before it or & behind it, or --rev N to see what there is from revision N on"
		}
	case "lease":
		if call.words[1] == "keep-alive" && !call.has("--once") {
			return "lease keep-alive: it never ends by itself; add --once, which extends the lease by its time to live"
		}
	}
	return ""
}

// confined refuses a file elsewhere where a stranger's script runs: snapshot is the only command
// that has one.
func (call *commandLine) confined(inv *command.Invocation) error {
	if inv.Within == nil || call.words[0] != "snapshot" {
		return nil
	}
	return within(inv, call.rest)
}

// within refuses words that name a file elsewhere, by themselves or as the value of a flag.
func within(inv *command.Invocation, words []string) error {
	for _, word := range words {
		if _, value, ok := strings.Cut(word, "="); ok {
			word = value
		}
		if _, err := inv.Path(word); err != nil {
			return err
		}
	}
	return nil
}

// untold reports whether the output has what raft and the machine's clock
// decide, and so stays out of the trace.
func (call *commandLine) untold() bool {
	switch call.words[0] {
	case "endpoint", "move-leader", "snapshot", "defrag":
		return true
	case "lease": // a new leader extends all leases, and when one is elected raft decides
		return call.words[1] == "timetolive"
	}
	return call.format != "simple" && call.format != "table"
}

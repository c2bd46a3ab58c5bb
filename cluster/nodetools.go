package cluster

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"kviz/cluster/network"
	"kviz/cluster/sim"
)

// shells runs the tools of nodes.
type shells struct{ nodes *nodes }

// outside is a machine on the internet, from which curl reaches load balancers.
const outside = "outside"

// Names are the nodes, and the machine outside.
func (s shells) Names() []string {
	names := make([]string, len(s.nodes.list))
	for i, n := range s.nodes.list {
		names[i] = n.name
	}
	return append(names, outside)
}

// Tools are the programs that a node has, sorted.
func (shells) Tools() []string {
	return slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(nodeTools)), "curl")))
}

// Run runs a tool. One that waits for an answer from the network gives what is to be run
// as a task.
func (s shells) Run(name string, argv []string, _ []byte, out, errOut io.Writer) (exit int, wait func(*sim.Task) int) {
	n := s.nodes.find(name)
	if argv[0] == "curl" { // which takes time
		return 0, func(t *sim.Task) int { return s.curl(t, n, argv[1:], out, errOut) }
	}
	if n == nil {
		fmt.Fprintf(errOut, "%s: command not found %s the cluster, where there is only curl\n", argv[0], name)
		return 127, nil
	}
	tool, ok := nodeTools[argv[0]]
	if !ok {
		fmt.Fprintf(errOut, "%s: command not found on %s; its tools: %s\n", argv[0], name, strings.Join(s.Tools(), ", "))
		return 127, nil
	}
	return tool(n, argv, out, errOut), nil
}

// nodeTools are the programs on a node that the simulation knows.
var nodeTools = map[string]func(n *node, argv []string, out, errOut io.Writer) int{
	"crictl":        crictl,
	"hostname":      func(n *node, _ []string, out, _ io.Writer) int { fmt.Fprintln(out, n.name); return 0 },
	"iptables-save": iptablesSave,
	"iptables":      iptables,
}

// curl fetches a URL from the node itself: its packets meet the node's rules, and no
// pod's resolver; or from outside the cluster, where there is no node.
func (s shells) curl(t *sim.Task, n *node, args []string, out, errOut io.Writer) int {
	url, limit, silent := "", time.Duration(0), false
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-s" || a == "--silent":
			silent = true
		case a == "-sS" || a == "-S":
		case (a == "-m" || a == "--max-time") && i+1 < len(args):
			i++
			seconds, ok := sim.Seconds(args[i])
			if !ok {
				fmt.Fprintf(errOut, "curl: option %s: expected a proper numerical parameter\n", a)
				return 2
			}
			limit = seconds
		case strings.HasPrefix(a, "-"):
			fmt.Fprintf(errOut, "curl: %s is not simulated here: only -s, -S and -m SECONDS are\n", a)
			return 2
		default:
			url = a
		}
	}
	if url == "" {
		fmt.Fprintln(errOut, "curl: (2) no URL specified")
		return 2
	}
	var body, message string
	var exit int
	if n == nil {
		body, exit, message = s.nodes.network.CurlFrom(t, network.Internet, url, limit)
	} else {
		body, exit, message = s.nodes.network.Curl(t, n.name, "", url, limit)
	}
	fmt.Fprint(out, body)
	if message != "" && !silent {
		fmt.Fprintln(errOut, message)
	}
	return exit
}

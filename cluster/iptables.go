package cluster

import (
	"fmt"
	"io"

	"kviz/cluster/network"
)

// iptablesSave prints the node's rules as iptables-save [-t TABLE] does.
func iptablesSave(n *node, argv []string, out, errOut io.Writer) int {
	switch args := argv[1:]; {
	case len(args) == 0:
		fmt.Fprint(out, n.net.Save())
		return 0
	case len(args) == 2 && (args[0] == "-t" || args[0] == "--table"):
		if t := n.net.Tables.Table(args[1]); t != nil {
			fmt.Fprint(out, t.Save())
			return 0
		}
		fmt.Fprintf(errOut, "iptables-save: there is no table %q: one of %s, %s, %s\n", args[1], network.Mangle, network.Filter, network.NAT)
		return 1
	}
	fmt.Fprintf(errOut, "iptables-save: %q is not simulated: only -t TABLE is\n", argv[1:])
	return 2
}

// iptables lists the node's rules as iptables -L does.
func iptables(n *node, argv []string, out, errOut io.Writer) int {
	text, err := n.net.List(argv[1:])
	if err != nil {
		fmt.Fprintf(errOut, "iptables: %v\n", err)
		return 2
	}
	fmt.Fprint(out, text)
	return 0
}

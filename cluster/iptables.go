package cluster

import (
	"fmt"
	"io"
)

// iptablesSave prints the node's rules as iptables-save does.
func iptablesSave(n *node, argv []string, out, errOut io.Writer) int {
	if len(argv) > 1 {
		fmt.Fprintf(errOut, "iptables-save: options are not simulated: %q\n", argv[1:])
		return 2
	}
	fmt.Fprint(out, n.net.Save())
	return 0
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

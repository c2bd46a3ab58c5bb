package network

import (
	"fmt"
	"strings"
)

// Save is what iptables-save prints on the node.
func (n *Node) Save() string { return n.Tables.Save() }

// List is what iptables prints on the node for the arguments of a listing: -t
// TABLE, -L [CHAIN] or -S [CHAIN], -n. Counters are not simulated. What would
// change rules is refused: only kube-proxy writes here, but -F flushes.
func (n *Node) List(args []string) (string, error) {
	table, chain, listing := Filter, "", ""
	for i := 0; i < len(args); i++ {
		switch a := args[i]; a {
		case "-t", "--table":
			if i++; i == len(args) {
				return "", fmt.Errorf("option %q requires an argument", a)
			}
			table = args[i]
		case "-L", "--list", "-S", "--list-rules", "-F", "--flush":
			listing = a
			if i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
				chain = args[i]
			}
		case "-nL", "-Ln":
			listing = "-L"
		case "-n", "--numeric", "-w", "--wait":
		default:
			return "", fmt.Errorf("%q is not simulated: one of -t TABLE, -L [CHAIN], -S [CHAIN], -F, -n", a)
		}
	}
	t := n.Tables.Table(table)
	if t == nil {
		return "", fmt.Errorf("can't initialize iptables table `%s': Table does not exist; one of %s, %s, %s", table, Mangle, Filter, NAT)
	}
	switch listing {
	case "-L", "--list":
		return t.List(chain)
	case "-S", "--list-rules":
		return t.rulesOf(chain)
	case "-F", "--flush":
		if chain != "" {
			return "", fmt.Errorf("flushing a single chain is not simulated: -F alone flushes all tables")
		}
		n.Tables.Flush()
		return "", nil
	}
	return "", fmt.Errorf("no command specified: -L [CHAIN] or -S [CHAIN]")
}

// rulesOf is what iptables -S prints.
func (t *Table) rulesOf(chain string) (string, error) {
	var b strings.Builder
	chains := t.Chains()
	if chain != "" {
		if _, ok := t.chains[chain]; !ok {
			return "", errNoChain
		}
		chains = []string{chain}
	}
	for _, c := range chains {
		if isBuiltin(builtins[t.Name], c) {
			fmt.Fprintf(&b, "-P %s ACCEPT\n", c)
		} else {
			fmt.Fprintf(&b, "-N %s\n", c)
		}
	}
	for _, c := range chains {
		for _, r := range t.chains[c] {
			b.WriteString(r.String() + "\n")
		}
	}
	return b.String(), nil
}

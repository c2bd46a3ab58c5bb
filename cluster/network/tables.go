package network

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"sort"
	"strings"

	"kviz/cluster/trace"
)

// The tables, in the order iptables-save prints them.
const (
	Mangle = "mangle"
	Filter = "filter"
	NAT    = "nat"
)

// builtins are the chains the kernel has, in its order, all with policy ACCEPT.
var builtins = map[string][]string{
	Mangle: {"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"},
	Filter: {"INPUT", "FORWARD", "OUTPUT"},
	NAT:    {"PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"},
}

// Tables are a node's iptables. They belong to the node's kernel: they stay when
// the proxy that wrote them is gone.
type Tables struct {
	tables  map[string]*Table
	flushed func(causes []trace.ID)
}

// Table is one of them.
type Table struct {
	Name   string
	chains map[string][]Entry
	rules  int
}

// Entry is a rule in a node's chain and the event that put it there.
type Entry struct {
	*Rule
	At trace.ID
}

func newTables() *Tables {
	t := &Tables{tables: map[string]*Table{}}
	t.empty()
	return t
}

func (t *Tables) empty() {
	for name, chains := range builtins {
		tab := &Table{Name: name, chains: map[string][]Entry{}}
		for _, c := range chains {
			tab.chains[c] = nil
		}
		t.tables[name] = tab
	}
}

// Table gives one table: mangle, filter or nat.
func (t *Tables) Table(name string) *Table { return t.tables[name] }

// Chain gives a chain's rules and whether it exists. The slice is shared.
func (t *Table) Chain(name string) ([]Entry, bool) {
	rules, ok := t.chains[name]
	return rules, ok
}

// errNoChain has iptables' own words.
var errNoChain = errors.New("No chain/target/match by that name.")

// Rules is how many rules the table has.
func (t *Table) Rules() int { return t.rules }

// Chains lists the chains: the kernel's own first, then the others by name.
func (t *Table) Chains() []string {
	own := builtins[t.Name]
	names := make([]string, 0, len(t.chains))
	for c := range t.chains {
		if !isBuiltin(own, c) {
			names = append(names, c)
		}
	}
	sort.Strings(names)
	return append(append([]string(nil), own...), names...)
}

func isBuiltin(own []string, c string) bool {
	for _, o := range own {
		if o == c {
			return true
		}
	}
	return false
}

// Commit replaces chains at once, as iptables-restore --noflush does with a
// table: what is in chains gets exactly those rules, what is in gone is
// removed, the rest stays.
func (t *Table) Commit(chains map[string][]Entry, gone []string) {
	for name, rules := range chains {
		t.rules += len(rules) - len(t.chains[name])
		t.chains[name] = rules
	}
	for _, name := range gone {
		t.rules -= len(t.chains[name])
		delete(t.chains, name)
	}
}

// OnFlush sets who notices that somebody flushed the tables: kube-proxy, by its
// canary chain.
func (t *Tables) OnFlush(fn func(causes []trace.ID)) { t.flushed = fn }

// Flush empties all tables, as `iptables -F; iptables -X` in each would, because
// of causes.
func (t *Tables) Flush(causes ...trace.ID) {
	t.empty()
	if t.flushed != nil {
		t.flushed(causes)
	}
}

// Save is what iptables-save prints.
func (t *Tables) Save() string {
	var b strings.Builder
	for _, name := range []string{Mangle, Filter, NAT} {
		b.WriteString(t.tables[name].Save())
	}
	return b.String()
}

// Save is what iptables-save -t prints for the table.
func (t *Table) Save() string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%s\n", t.Name)
	chains := t.Chains()
	for _, c := range chains {
		policy := "-"
		if isBuiltin(builtins[t.Name], c) {
			policy = "ACCEPT"
		}
		fmt.Fprintf(&b, ":%s %s [0:0]\n", c, policy)
	}
	for _, c := range chains {
		for _, r := range t.chains[c] {
			b.WriteString(r.String() + "\n")
		}
	}
	b.WriteString("COMMIT\n")
	return b.String()
}

// List is what iptables -t TABLE -L -n prints, of one chain or, with "", of all.
func (t *Table) List(chain string) (string, error) {
	chains := t.Chains()
	if chain != "" {
		if _, ok := t.chains[chain]; !ok {
			return "", errNoChain
		}
		chains = []string{chain}
	}
	refs := t.references()
	var b strings.Builder
	for i, c := range chains {
		if i > 0 {
			b.WriteString("\n")
		}
		if isBuiltin(builtins[t.Name], c) {
			fmt.Fprintf(&b, "Chain %s (policy ACCEPT)\n", c)
		} else {
			fmt.Fprintf(&b, "Chain %s (%d references)\n", c, refs[c])
		}
		b.WriteString("target     prot opt source               destination         \n")
		for _, r := range t.chains[c] {
			b.WriteString(r.list() + "\n")
		}
	}
	return b.String(), nil
}

func (t *Table) references() map[string]int {
	refs := map[string]int{}
	for _, rules := range t.chains {
		for _, r := range rules {
			refs[r.target]++
		}
	}
	return refs
}

// protocols are the numbers that iptables -n prints.
var protocols = map[string]string{"": "0", "tcp": "6", "udp": "17", "sctp": "132"}

// list is the rule as iptables -L -n prints it.
func (r *Rule) list() string {
	line := fmt.Sprintf("%-9s  %-4s --%s%s ", r.target, protocols[r.proto], listAddress(r.src, r.srcNot), listAddress(r.dst, r.dstNot))
	for _, m := range r.matches {
		line += r.listMatch(m)
	}
	switch r.target {
	case "MARK":
		if r.orMark != 0 {
			line += fmt.Sprintf(" MARK or %#x", r.orMark)
		} else {
			line += fmt.Sprintf(" MARK xor %#x", r.xor)
		}
	case "MASQUERADE":
		line += " random-fully"
	case "REJECT":
		line += " reject-with icmp-port-unreachable"
	case "DNAT":
		line += " to:" + r.to
	}
	return line
}

func (r *Rule) listMatch(m string) string {
	bang := func(not bool) string {
		if not {
			return "! "
		}
		return ""
	}
	switch m {
	case "comment":
		return " /* " + r.comment + " */"
	case "addrtype":
		if r.srcLocal {
			return " ADDRTYPE match src-type LOCAL"
		}
		return " ADDRTYPE match dst-type LOCAL"
	case "mark":
		return fmt.Sprintf(" mark match %s%#x/%#x", bang(r.markNot), r.mark, r.mark)
	case "conntrack":
		return " " + bang(r.statesNot) + "ctstate " + strings.Join(r.states, ",")
	case "nfacct":
		return " nfacct-name  " + r.account
	case "statistic":
		return fmt.Sprintf(" statistic mode random probability %.11f", math.Round(r.probability*(1<<31))/(1<<31))
	case "recent":
		if r.recentSet {
			return " recent: SET name: " + r.recent + " side: source mask: 255.255.255.255"
		}
		return fmt.Sprintf(" recent: CHECK seconds: %d reap name: %s side: source mask: 255.255.255.255", r.seconds, r.recent)
	}
	if r.dport == 0 {
		return " " + m
	}
	return fmt.Sprintf(" %s dpt:%d", m, r.dport)
}

func listAddress(p netip.Prefix, not bool) string {
	text, bang := "0.0.0.0/0", " "
	if p.IsValid() {
		if text = p.String(); p.IsSingleIP() {
			text = p.Addr().String()
		}
		if not {
			bang = "!"
		}
	}
	return fmt.Sprintf(" %s%-19s", bang, text)
}

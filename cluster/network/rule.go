package network

import (
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
)

// Rule is one rule of a chain. It is immutable and shared between nodes.
type Rule struct {
	Chain string
	// Spec is the rule as kube-proxy writes it for iptables-restore.
	Spec string
	// Service is the "namespace/name:port" it serves, "" for the frame.
	Service string

	comment     string
	proto       string
	src, dst    netip.Prefix
	srcNot      bool
	dport       int
	srcLocal    bool // -m addrtype --src-type LOCAL
	dstLocal    bool
	dstNot      bool
	mark        uint32 // -m mark [!] --mark mark/mark; 0 is none
	markNot     bool
	states      []string // -m conntrack [!] --ctstate
	statesNot   bool
	account     string // -m nfacct --nfacct-name
	probability float64
	recent      string // -m recent --name
	recentSet   bool   // --set, else --rcheck
	seconds     int

	target string // a chain, or ACCEPT DROP REJECT RETURN MARK MASQUERADE DNAT; "" only counts
	to     string // DNAT --to-destination
	orMark uint32
	xor    uint32

	matches []string // the order of the matches, for printing
	text    string   // as iptables-save prints it
}

// NewRule makes a rule from the words kube-proxy writes: "-A", chain, matches,
// "-j", target. It panics on a word it does not know: only the proxy writes
// rules here.
func NewRule(service string, words ...string) *Rule {
	r := &Rule{Spec: strings.Join(words, " "), Service: service}
	p := ruleParser{r: r, words: words}
	for p.more() {
		p.word()
	}
	r.text = r.write()
	return r
}

type ruleParser struct {
	r     *Rule
	words []string
	i     int
	not   bool
}

func (p *ruleParser) more() bool { return p.i < len(p.words) }

func (p *ruleParser) next() string {
	if !p.more() {
		panic("network: rule ends too early: " + p.r.Spec)
	}
	p.i++
	return p.words[p.i-1]
}

func (p *ruleParser) word() {
	r, not := p.r, p.not
	p.not = false
	switch w := p.next(); w {
	case "!":
		p.not = true
	case "-A":
		r.Chain = p.next()
	case "-m":
		r.matches = append(r.matches, p.next())
	case "--comment":
		r.comment = strings.Trim(p.next(), `"`)
	case "-p":
		r.proto = p.next()
	case "-s":
		r.src, r.srcNot = prefix(p.next()), not
	case "-d":
		r.dst, r.dstNot = prefix(p.next()), not
	case "--dport":
		r.dport = number(p.next())
	case "--src-type":
		r.srcLocal = p.next() == "LOCAL"
	case "--dst-type":
		r.dstLocal = p.next() == "LOCAL"
	case "--mark":
		r.mark, r.markNot = mark(p.next()), not
	case "--ctstate":
		r.states, r.statesNot = strings.Split(p.next(), ","), not
	case "--nfacct-name":
		r.account = p.next()
	case "--mode":
		p.next()
	case "--probability":
		r.probability = float(p.next())
	case "--name":
		r.recent = p.next()
	case "--set":
		r.recentSet = true
	case "--rcheck", "--reap", "--random-fully":
	case "--seconds":
		r.seconds = number(p.next())
	case "-j":
		r.target = p.next()
	case "--to-destination":
		r.to = p.next()
	case "--or-mark":
		r.orMark = mark(p.next())
	case "--xor-mark":
		r.xor = mark(p.next())
	default:
		panic("network: unknown word " + w + " in rule " + r.Spec)
	}
}

func prefix(s string) netip.Prefix {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p
	}
	a := netip.MustParseAddr(s)
	return netip.PrefixFrom(a, a.BitLen())
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic("network: not a number in a rule: " + s)
	}
	return n
}

func float(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("network: not a probability in a rule: " + s)
	}
	return f
}

func mark(s string) uint32 {
	s, _, _ = strings.Cut(s, "/")
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 32)
	if err != nil {
		panic("network: not a mark in a rule: " + s)
	}
	return uint32(n)
}

// Target is what the rule does with a packet that matches: the chain it jumps
// to, or ACCEPT, DROP, REJECT, RETURN, MARK, MASQUERADE, DNAT, or "".
func (r *Rule) Target() string { return r.target }

// String is the rule as iptables-save prints it.
func (r *Rule) String() string { return r.text }

func (r *Rule) write() string {
	var b strings.Builder
	b.WriteString("-A " + r.Chain)
	address := func(flag string, p netip.Prefix, not bool) {
		if p.IsValid() {
			if not {
				b.WriteString(" !")
			}
			b.WriteString(" " + flag + " " + p.String())
		}
	}
	address("-s", r.src, r.srcNot)
	address("-d", r.dst, r.dstNot)
	if r.proto != "" {
		b.WriteString(" -p " + r.proto)
	}
	for _, m := range r.matches {
		r.saveMatch(&b, m)
	}
	r.saveTarget(&b)
	return b.String()
}

func (r *Rule) saveMatch(b *strings.Builder, m string) {
	if m == r.proto && r.dport == 0 {
		if r.target == "DNAT" || r.target == "" {
			b.WriteString(" -m " + m)
		}
		return
	}
	b.WriteString(" -m " + m)
	neg := func(not bool) string {
		if not {
			return " !"
		}
		return ""
	}
	switch m {
	case "comment":
		b.WriteString(" --comment " + quote(r.comment))
	case "addrtype":
		if r.srcLocal {
			b.WriteString(" --src-type LOCAL")
		}
		if r.dstLocal {
			b.WriteString(" --dst-type LOCAL")
		}
	case "mark":
		fmt.Fprintf(b, "%s --mark %#x/%#x", neg(r.markNot), r.mark, r.mark)
	case "conntrack":
		b.WriteString(neg(r.statesNot) + " --ctstate " + strings.Join(r.states, ","))
	case "nfacct":
		b.WriteString(" --nfacct-name " + r.account)
	case "statistic":
		// The kernel holds the probability as a fraction of 2^31.
		fmt.Fprintf(b, " --mode random --probability %.11f", math.Round(r.probability*(1<<31))/(1<<31))
	case "recent":
		if r.recentSet {
			b.WriteString(" --set")
		} else {
			fmt.Fprintf(b, " --rcheck --seconds %d --reap", r.seconds)
		}
		b.WriteString(" --name " + r.recent + " --mask 255.255.255.255 --rsource")
	default: // tcp, udp, sctp
		fmt.Fprintf(b, " --dport %d", r.dport)
	}
}

func (r *Rule) saveTarget(b *strings.Builder) {
	if r.target == "" {
		return
	}
	b.WriteString(" -j " + r.target)
	switch r.target {
	case "MARK":
		if r.orMark != 0 {
			fmt.Fprintf(b, " --set-xmark %#x/%#x", r.orMark, r.orMark)
		} else {
			fmt.Fprintf(b, " --set-xmark %#x/0x0", r.xor)
		}
	case "MASQUERADE":
		b.WriteString(" --random-fully")
	case "REJECT":
		b.WriteString(" --reject-with icmp-port-unreachable")
	case "DNAT":
		b.WriteString(" --to-destination " + r.to)
	}
}

// quote is xtables_save_string: everything but plain words is quoted.
func quote(s string) string {
	for _, c := range s {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return `"` + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), `"`, `\"`) + `"`
		}
	}
	return s
}

package network

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// match reports whether the packet matches a rule, and says why in words: the
// first thing that does not, or what decided.
func (w *walk) match(r *Rule) (bool, string) {
	p := &w.p
	if r.proto != "" && r.proto != p.proto {
		return false, fmt.Sprintf("the protocol is %s, not %s", p.proto, r.proto)
	}
	if r.dst.IsValid() && r.dst.Contains(p.dst) == r.dstNot {
		return false, fmt.Sprintf("the destination %s is %s%s", p.dst, isNot(!r.dstNot), within(r.dst))
	}
	if r.dport != 0 && r.dport != p.dport {
		return false, fmt.Sprintf("the destination port is %d, not %d", p.dport, r.dport)
	}
	if r.src.IsValid() && r.src.Contains(p.src) == r.srcNot {
		return false, fmt.Sprintf("the source %s is %s%s", p.src, isNot(!r.srcNot), within(r.src))
	}
	if r.srcLocal && !w.where.local(p.src) {
		return false, fmt.Sprintf("the source %s is no address of this node", p.src)
	}
	if r.dstLocal && !w.where.local(p.dst) {
		return false, fmt.Sprintf("the destination %s is no address of this node", p.dst)
	}
	if r.mark != 0 && (p.mark&r.mark == r.mark) == r.markNot {
		if r.markNot {
			return false, fmt.Sprintf("the packet carries the mark %#x", r.mark)
		}
		return false, fmt.Sprintf("the packet does not carry the mark %#x", r.mark)
	}
	if len(r.states) > 0 {
		is := slices.Contains(r.states, p.state) || p.dnat && slices.Contains(r.states, "DNAT")
		if is == r.statesNot {
			return false, fmt.Sprintf("the connection is %s, the rule is for %s%s", p.state, isNot(r.statesNot), strings.Join(r.states, ","))
		}
	}
	if r.recent != "" && !r.recentSet {
		return w.wasHere(r)
	}
	if r.probability > 0 {
		drew := w.n.rand.Float64()
		if drew >= r.probability {
			return false, fmt.Sprintf("drew %.4f, not below %.4f", drew, r.probability)
		}
		return true, fmt.Sprintf("drew %.4f, below %.4f", drew, r.probability)
	}
	return true, w.because(r)
}

func isNot(not bool) string {
	if not {
		return "not "
	}
	return ""
}

func within(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return "in " + p.String()
}

// because says what made a rule match.
func (w *walk) because(r *Rule) string {
	var parts []string
	if r.dst.IsValid() || r.dport != 0 {
		parts = append(parts, "the destination is "+w.p.to())
	}
	if r.src.IsValid() {
		parts = append(parts, fmt.Sprintf("the source %s is %s%s", w.p.src, isNot(r.srcNot), within(r.src)))
	}
	if r.dstLocal {
		parts = append(parts, fmt.Sprintf("%s is this node's", w.p.dst))
	}
	if r.srcLocal {
		parts = append(parts, fmt.Sprintf("%s is this node's", w.p.src))
	}
	if r.mark != 0 {
		parts = append(parts, fmt.Sprintf("the packet %s the mark %#x", map[bool]string{true: "does not carry", false: "carries"}[r.markNot], r.mark))
	}
	if len(r.states) > 0 {
		parts = append(parts, "the connection is "+w.p.state)
	}
	if len(parts) == 0 {
		return "the rule takes every packet"
	}
	return strings.Join(parts, "; ")
}

// wasHere is -m recent --rcheck: has this source been sent here before?
func (w *walk) wasHere(r *Rule) (bool, string) {
	at, ok := w.where.recent[r.recent][w.p.src]
	age := w.t.Elapsed() - at
	switch {
	case !ok:
		return false, fmt.Sprintf("%s has not been sent there before", w.p.src)
	case age > time.Duration(r.seconds)*time.Second:
		delete(w.where.recent[r.recent], w.p.src)
		return false, fmt.Sprintf("%s was sent there %s ago, longer than %d s", w.p.src, age.Round(time.Second), r.seconds)
	}
	return true, fmt.Sprintf("%s was sent there %s ago", w.p.src, age.Round(time.Second))
}

func (w *walk) remember(list string) {
	if w.where.recent[list] == nil {
		w.where.recent[list] = map[netip.Addr]time.Duration{}
	}
	w.where.recent[list][w.p.src] = w.t.Elapsed()
}

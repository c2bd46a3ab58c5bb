package wire

import "time"

// Cut stops every message from one member to another, one way. Whoever sends
// waits for the link to heal, as with a peer that does not answer; heartbeats
// and votes fail at once.
func (n *Network) Cut(from, to string, cut bool) {
	n.setLink(from, to, func(l *linkState) { l.cut = cut })
}

// Delay adds d to the way of every message from one member to another. An
// election needs twice the delay to be less than the election timeout.
func (n *Network) Delay(from, to string, d time.Duration) {
	n.setLink(from, to, func(l *linkState) { l.delay = d })
}

// Drop loses messages from one member to another with the probability.
func (n *Network) Drop(from, to string, probability float64) {
	n.setLink(from, to, func(l *linkState) { l.drop = probability })
}

// Duplicate delivers requests from one member to another twice with the
// probability; the second answer counts. Snapshots are not duplicated.
func (n *Network) Duplicate(from, to string, probability float64) {
	n.setLink(from, to, func(l *linkState) { l.duplicate = probability })
}

// Reorder lets requests from one member to another be overtaken with the
// probability; see reorder.go.
func (n *Network) Reorder(from, to string, probability float64) {
	n.setLink(from, to, func(l *linkState) { l.reorder = probability })
}

// Heal takes every fault of links away.
func (n *Network) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.links {
		l.cut, l.delay, l.drop, l.duplicate, l.reorder = false, 0, 0, 0, 0
	}
	n.faulty.Store(0)
	n.wake()
}

// Whole reports whether no link has a fault. It costs an atomic load.
func (n *Network) Whole() bool { return n.faulty.Load() == 0 }

// HealLink takes every fault of the way from a member to another away.
func (n *Network) HealLink(from, to string) {
	n.setLink(from, to, func(l *linkState) { l.cut, l.delay, l.drop, l.duplicate, l.reorder = false, 0, 0, 0, 0 })
}

func (n *Network) setLink(from, to string, set func(*linkState)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.link(from, to)
	was := l.faulty()
	set(l)
	switch is := l.faulty(); {
	case is && !was:
		n.faulty.Add(1)
	case was && !is:
		n.faulty.Add(-1)
	}
	n.wake()
}

// Faults is what is wrong with the way from a member to another.
func (n *Network) Faults(from, to string) LinkFault {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.link(from, to)
	return LinkFault{To: to, Cut: l.cut, Delay: l.delay, Drop: l.drop, Duplicate: l.duplicate, Reorder: l.reorder}
}

package remote

import (
	"context"
	"slices"
	"sync"
	"time"

	"kviz/raftstore/wire"
)

// Network is the way between members in other processes, as the driver has it: it
// has the methods of wire.Network. Each process has the faults of the links that
// start or end there, and holds what its member sends.
type Network struct{ g *Group }

// Network is the way between the members.
func (g *Group) Network() *Network { return &Network{g} }

// linksOf are the faults to set at a member, given those it has.
func (g *Group) linksOf(id string, has []linkFault) (list []linkFault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range has {
		if _, ok := g.links[[2]string{f.From, f.Fault.To}]; !ok {
			list = append(list, linkFault{f.From, wire.LinkFault{To: f.Fault.To}})
		}
	}
	for l, f := range g.links {
		if l[0] == id || l[1] == id {
			list = append(list, linkFault{l[0], f})
		}
	}
	return list
}

// set changes the faults of a link, in the processes at both its ends. One that is
// away is told when it is back.
func (n *Network) set(from, to string, change func(*wire.LinkFault)) {
	g := n.g
	g.mu.Lock()
	f := g.links[[2]string{from, to}]
	f.To = to
	change(&f)
	if f == (wire.LinkFault{To: to}) {
		delete(g.links, [2]string{from, to})
	} else {
		g.links[[2]string{from, to}] = f
	}
	ends := []*Member{g.members[from], g.members[to]}
	g.mu.Unlock()
	n.each(ends, func(m *Member) { _ = do1(m, verbLink, linkFault{from, f}) })
}

// each does something with members at the same time.
func (n *Network) each(list []*Member, fn func(*Member)) {
	var wg sync.WaitGroup
	for _, m := range list {
		if m == nil || !m.Reachable() {
			continue
		}
		wg.Add(1)
		n.g.cfg.Go("order to "+m.id, func() {
			defer wg.Done()
			fn(m)
		})
	}
	wg.Wait()
}

// Cut stops every message from one member to another, one way.
func (n *Network) Cut(from, to string, cut bool) {
	n.set(from, to, func(f *wire.LinkFault) { f.Cut = cut })
}

// Delay adds d to the way of every message from one member to another.
func (n *Network) Delay(from, to string, d time.Duration) {
	n.set(from, to, func(f *wire.LinkFault) { f.Delay = d })
}

// Drop loses messages from one member to another with the probability.
func (n *Network) Drop(from, to string, probability float64) {
	n.set(from, to, func(f *wire.LinkFault) { f.Drop = probability })
}

// Duplicate delivers requests from one member to another twice with the probability.
func (n *Network) Duplicate(from, to string, probability float64) {
	n.set(from, to, func(f *wire.LinkFault) { f.Duplicate = probability })
}

// Reorder lets requests from one member to another be overtaken with the probability.
func (n *Network) Reorder(from, to string, probability float64) {
	n.set(from, to, func(f *wire.LinkFault) { f.Reorder = probability })
}

// HealLink takes every fault of the way from a member to another away.
func (n *Network) HealLink(from, to string) {
	n.set(from, to, func(f *wire.LinkFault) { *f = wire.LinkFault{To: to} })
}

// Heal takes every fault of links away.
func (n *Network) Heal() {
	n.g.mu.Lock()
	var links [][2]string
	for l := range n.g.links {
		links = append(links, l)
	}
	n.g.mu.Unlock()
	for _, l := range links {
		n.HealLink(l[0], l[1])
	}
}

// Whole reports whether no link has a fault.
func (n *Network) Whole() bool {
	n.g.mu.Lock()
	defer n.g.mu.Unlock()
	return len(n.g.links) == 0
}

// Faults is what is wrong with the way from a member to another.
func (n *Network) Faults(from, to string) wire.LinkFault {
	n.g.mu.Lock()
	defer n.g.mu.Unlock()
	f := n.g.links[[2]string{from, to}]
	f.To = to
	return f
}

// Hold stops everything between members but what keeps the leader leading, or
// lets everything go.
func (n *Network) Hold(on bool) {
	n.g.mu.Lock()
	n.g.holding = on
	clear(n.g.released)
	n.g.mu.Unlock()
	n.each(n.g.list(), func(m *Member) { _ = do1(m, verbHold, on) })
}

// Held lists what is held, oldest first, as the members told last.
func (n *Network) Held() []wire.Held {
	var list []wire.Held
	for _, m := range n.g.list() {
		now, age := m.standing()
		if now == nil {
			continue
		}
		for _, h := range now.Held {
			list = append(list, wire.Held{Message: h.Message, Since: time.Now().Add(-age - h.Age)})
		}
	}
	n.g.mu.Lock()
	defer n.g.mu.Unlock()
	list = slices.DeleteFunc(list, func(h wire.Held) bool { return n.g.released[which{h.Serial, h.Answer}] })
	slices.SortStableFunc(list, func(a, b wire.Held) int { return a.Since.Compare(b.Since) })
	return list
}

// ReleaseOne lets the oldest held message go. It reports false if none is held.
func (n *Network) ReleaseOne() bool {
	type place struct {
		held
		m *Member
	}
	var (
		mu  sync.Mutex
		all []place
	)
	n.each(n.g.list(), func(m *Member) {
		ctx, cancel := context.WithTimeout(n.g.ctx, orderTimeout)
		defer cancel()
		// One that does not answer has nothing to let go.
		list, _ := call[none, []held](ctx, m.caller(), verbHeld, none{})
		mu.Lock()
		defer mu.Unlock()
		for _, h := range list {
			all = append(all, place{h, m})
		}
	})
	slices.SortStableFunc(all, func(a, b place) int { return int(b.Age - a.Age) })
	for _, h := range all {
		w := which{h.Message.Serial, h.Message.Answer}
		ctx, cancel := context.WithTimeout(n.g.ctx, orderTimeout)
		ok, err := call[which, bool](ctx, h.m.caller(), verbRelease, w)
		cancel()
		if err == nil && ok {
			n.g.mu.Lock()
			n.g.released[w] = true
			n.g.mu.Unlock()
			return true
		}
	}
	return false
}

// Progress is what from, as leader of the term, knows of to.
func (n *Network) Progress(from, to string, term uint64) wire.Progress {
	f, _, _ := n.follower(from, to, term)
	return f.Progress
}

// Contact is when from, as leader of the term, sent the last request that to has
// answered; zero if it never answered in this term.
func (n *Network) Contact(from, to string, term uint64) time.Time {
	f, age, ok := n.follower(from, to, term)
	if !ok || f.Silent < 0 {
		return time.Time{}
	}
	return time.Now().Add(-age - f.Silent)
}

func (n *Network) follower(from, to string, term uint64) (f follower, age time.Duration, ok bool) {
	m := n.g.Member(from)
	if m == nil {
		return f, 0, false
	}
	now, age := m.standing()
	if now == nil || now.Status.Term != term {
		return f, 0, false
	}
	f, ok = now.Followers[to]
	return f, age, ok
}

// Forget takes a member that left for good off the network.
func (n *Network) Forget(id string) {
	n.g.mu.Lock()
	n.g.gone[id] = true // also for members that are away now
	for l := range n.g.links {
		if l[0] == id || l[1] == id {
			delete(n.g.links, l)
		}
	}
	n.g.mu.Unlock()
	n.each(n.g.list(), func(m *Member) {
		if m.id != id {
			_ = do1(m, verbForget, id)
		}
	})
}

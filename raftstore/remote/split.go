package remote

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"kviz/raftstore/wire"
)

// An election that is split across processes: each candidate's process arranges the
// requests of its own (wire.Split.Here), and the driver carries what one of them knows
// to the other, until both have had all their answers.

// relayEvery is how often it does. An election lasts at least as long as a follower
// waits for its leader, which is a good deal longer.
const relayEvery = 3 * time.Millisecond

// splitPlan is a wire.Split on its way.
type splitPlan struct {
	Candidates []string // two
	Side       map[string]string
}

// arrangement is the election that a driver has arranged last.
type arrangement struct {
	split *wire.Split
	stop  context.CancelFunc
	mu    sync.Mutex
	terms [2]uint64
}

// SetSplit arranges the next election; see wire.Network. The channel is not closed if
// the election cannot be split any more.
func (n *Network) SetSplit(s *wire.Split) <-chan struct{} {
	g := n.g
	ctx, stop := context.WithCancel(g.ctx)
	g.mu.Lock()
	old := g.arranged
	g.arranged = nil
	if s != nil {
		g.arranged = &arrangement{split: s, stop: stop}
	}
	a := g.arranged
	g.mu.Unlock()
	if old != nil {
		old.stop()
		n.each(n.candidates(old.split), func(m *Member) { _ = do1(m, verbSplit, (*splitPlan)(nil)) }) // one that is away has forgotten it
	}
	if a == nil {
		stop()
		return nil
	}
	done := make(chan struct{})
	plan := &splitPlan{s.Candidates[:], s.Side}
	// Who cannot be told does not stand; the election is not split then, and that is said.
	n.each(n.candidates(s), func(m *Member) { _ = do1(m, verbSplit, plan) })
	g.cfg.Go("split vote", func() {
		defer stop()
		if n.relay(ctx, a) {
			close(done)
		}
	})
	return done
}

// TermOf is the term in which a split election takes place, 0 before both stand.
func (n *Network) TermOf(s *wire.Split) uint64 {
	n.g.mu.Lock()
	a := n.g.arranged
	n.g.mu.Unlock()
	if a == nil || a.split != s {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return min(a.terms[0], a.terms[1])
}

func (n *Network) candidates(s *wire.Split) (list []*Member) {
	for _, id := range s.Candidates {
		list = append(list, n.g.Member(id))
	}
	return list
}

// relay carries what each candidate's process knows to the other. It reports whether
// both have had their answers.
func (n *Network) relay(ctx context.Context, a *arrangement) bool {
	list := n.candidates(a.split)
	if list[0] == nil || list[1] == nil {
		return false
	}
	tick := time.NewTicker(relayEvery)
	defer tick.Stop()
	var known wire.SplitState
	for {
		done := true
		for i, m := range list {
			got, err := call[wire.SplitState, wire.SplitState](ctx, m.caller(), verbShareSplit, known)
			if err != nil || known.Term != 0 && got.Term != known.Term && got.Term != 0 {
				return false
			}
			known = got
			done = done && got.Done
			if slices.Contains(got.Standing, m.id) {
				a.mu.Lock()
				a.terms[i] = got.Term
				a.mu.Unlock()
			}
		}
		if done {
			return true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}

// arrange arranges the next election as far as it is this process' member's; without
// a plan it takes back what was arranged.
func (p *Process) arrange(_ context.Context, plan *splitPlan) (none, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.split = nil
	if plan != nil {
		if len(plan.Candidates) != 2 || !slices.Contains(plan.Candidates, p.cfg.Name) {
			return none{}, errors.New("member " + p.cfg.Name + " is no candidate of that election")
		}
		p.split = &wire.Split{Candidates: [2]string(plan.Candidates), Side: plan.Side, Here: p.cfg.Name}
	}
	p.network.SetSplit(p.split)
	return none{}, nil
}

// shareSplit exchanges what is known of the election.
func (p *Process) shareSplit(_ context.Context, other wire.SplitState) (wire.SplitState, error) {
	p.mu.Lock()
	s := p.split
	p.mu.Unlock()
	if s == nil {
		return wire.SplitState{}, errors.New("member " + p.cfg.Name + " has no election arranged")
	}
	return p.network.ShareSplit(s, other), nil
}

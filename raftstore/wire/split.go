package wire

import (
	"maps"
	"slices"
)

// Split is an election that is arranged so that nobody wins it: two candidates of one
// term, of whom each hears the votes of half the others.
//
// Nothing is forged: the network only brings requests for votes in a certain order.
// Neither candidate's go before both have voted for themselves; each other voter
// gets the request of its side's candidate first, votes, and must refuse the second.
// Where the others are odd in number, one answer is lost on its way.
type Split struct {
	Candidates [2]string
	// Side says for every other voter whose request it gets first; "" is that of the
	// first candidate, whose answer is lost. A voter that is missing here is down:
	// nobody waits for its answer.
	Side map[string]string
	// Here is the candidate that is in this process, if the other one is in another
	// process: each process arranges the requests of its own, and learns of the rest
	// from [Network.ShareSplit]. "" if both are in this process.
	Here string

	term     uint64
	standing map[string]bool // candidates whose requests are under way
	heard    map[string]bool // voters that have answered their side
	left     int             // calls to those who were up that have not ended
	changed  chan struct{}   // closed and replaced with every change
	done     chan struct{}   // closed when all has been said
}

// SetSplit arranges the next election. The channel is closed when every request of
// both candidates has had its answer. nil takes back what was arranged.
func (n *Network) SetSplit(s *Split) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if old := n.split; old != nil {
		n.split = nil
		close(old.changed)
		old.changed = make(chan struct{})
	}
	if s == nil {
		return nil
	}
	s.standing, s.heard = map[string]bool{}, map[string]bool{}
	s.left = 1 + len(s.Side)
	if s.Here == "" {
		s.left *= 2
	}
	s.changed, s.done = make(chan struct{}), make(chan struct{})
	n.split = s
	return s.done
}

// TermOf is the term in which a split election takes place, 0 before both stand.
func (n *Network) TermOf(s *Split) uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(s.standing) < len(s.Candidates) {
		return 0
	}
	return s.term
}

// SplitState is what one process knows of an election that is arranged across
// several.
type SplitState struct {
	Term     uint64   // 0 before anybody stands
	Standing []string // candidates whose requests are under way
	Heard    []string // voters that have answered their side
	Done     bool     // every request of this process' candidate has had its answer
}

// ShareSplit adds what another process knows and gives what is known then.
func (n *Network) ShareSplit(s *Split, other SplitState) SplitState {
	n.mu.Lock()
	defer n.mu.Unlock()
	news := false
	if s.term == 0 && other.Term != 0 {
		s.term, news = other.Term, true
	}
	add := func(known map[string]bool, list []string) {
		for _, id := range list {
			news = news || !known[id]
			known[id] = true
		}
	}
	add(s.standing, other.Standing)
	add(s.heard, other.Heard)
	if news && n.split == s {
		s.tell()
	}
	return SplitState{
		Term: s.term, Standing: slices.Sorted(maps.Keys(s.standing)), Heard: slices.Sorted(maps.Keys(s.heard)), Done: s.left == 0,
	}
}

// mine is the arrangement that the request belongs to, nil if to none. Call with mu
// held.
func (s *Split) mine(m *Message) *Split {
	if s == nil || m.RPC != RequestVote || m.From != s.Candidates[0] && m.From != s.Candidates[1] {
		return nil
	}
	if s.term == 0 {
		s.term = m.Term
	}
	if s.term != m.Term {
		return nil
	}
	return s
}

// first is whose request the voter gets first, and whether its answer is lost.
func (s *Split) first(voter string) (candidate string, lost bool) {
	if voter == s.Candidates[0] || voter == s.Candidates[1] {
		return "", false
	}
	if c := s.Side[voter]; c != "" {
		return c, false
	}
	return s.Candidates[0], true
}

// planned says whether the arrangement counts on a voter.
func (s *Split) planned(voter string) bool {
	_, ok := s.Side[voter]
	return ok || voter == s.Candidates[0] || voter == s.Candidates[1]
}

func (s *Split) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// inTurn waits until it is the request's turn.
func (c *call) inTurn() {
	n := c.n
	n.mu.Lock()
	s := n.split.mine(&c.m)
	if s == nil {
		n.mu.Unlock()
		return
	}
	c.split = s
	if !s.standing[c.m.From] {
		s.standing[c.m.From] = true
		s.tell()
	}
	for {
		first, _ := s.first(c.m.To)
		if n.split != s || len(s.standing) == 2 && (first == "" || first == c.m.From || s.heard[c.m.To]) {
			n.mu.Unlock()
			return
		}
		changed := s.changed
		n.mu.Unlock()
		select {
		case <-changed:
		case <-c.abandoned:
			return
		case <-c.from.closed:
			return
		}
		n.mu.Lock()
	}
}

// voted notes that the receiver has answered, and says whether the answer is lost.
func (c *call) voted() (lost bool) {
	s := c.split
	if s == nil {
		return false
	}
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	first, lost := s.first(c.m.To)
	if c.n.split != s || first != c.m.From {
		return false
	}
	s.heard[c.m.To] = true
	s.tell()
	return lost
}

// over notes that the call has ended, whatever came of it.
func (c *call) over() {
	s := c.split
	if s == nil {
		return
	}
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	if s.heard[c.m.To] = true; c.n.split != s {
		return
	}
	s.tell()
	if !s.planned(c.m.To) {
		return
	}
	if s.left--; s.left == 0 {
		c.n.split = nil
		close(s.done)
	}
}

package view

import (
	"slices"
	"time"

	"kviz/cluster/trace"
)

// maxPolls is of how many terms it is known who voted for whom.
const maxPolls = 16

// Poll is a term of the store's members: who voted for whom, and what came of it.
type Poll struct {
	gen
	Term   uint64
	Votes  []Cast
	Winner string        // "" while nobody is elected, and where the term ended so
	Over   trace.ID      // the first event of a later term, where nobody had won
	OverAt time.Duration // when that was
}

func (p *Poll) seal() { clip(&p.Votes) }

// Cast is the vote of one member.
type Cast struct {
	Member, Candidate string
	Heard             bool // the candidate knows of it: it is its own, or the answer has come
	Lost              bool // the answer was lost on its way
}

// Tally is how many votes a candidate has, of those that it knows of.
type Tally struct {
	Candidate string
	Votes     int
}

// Tallies are the candidates that have votes, by name.
func (p *Poll) Tallies() []Tally {
	var all []Tally
	for _, v := range p.Votes {
		if !v.Heard {
			continue
		}
		at := 0
		for at < len(all) && all[at].Candidate < v.Candidate {
			at++
		}
		if at == len(all) || all[at].Candidate != v.Candidate {
			all = append(all[:at], append([]Tally{{v.Candidate, 0}}, all[at:]...)...)
		}
		all[at].Votes++
	}
	return all
}

// Split reports whether several have votes and none of them can have those of a quorum any
// more.
func (p *Poll) Split(q Quorum) bool {
	tallies := p.Tallies()
	if p.Winner != "" || len(tallies) < 2 {
		return false
	}
	left := q.Have // votes that may still come
	for _, v := range p.Votes {
		if v.Heard || v.Lost {
			left--
		}
	}
	if !p.Over.IsZero() {
		left = 0
	}
	for _, c := range tallies {
		if c.Votes+left >= q.Need {
			return false
		}
	}
	return true
}

// Poll is the poll of a term, or nil.
func (s *Store) Poll(term uint64) *Poll { p, _ := s.polls.get(term); return p }

// LastOver is the newest poll that ended without a winner, or nil.
func (s *Store) LastOver() (last *Poll) {
	s.polls.back(func(_ uint64, p *Poll) bool {
		if !p.Over.IsZero() {
			last = p
		}
		return last == nil
	})
	return last
}

// vote folds the vote of a member into the poll of its term.
func (b *Builder) vote(e *trace.Event, v *trace.RaftVoteRecord) {
	b.term(e, v.Term)
	p := edit(b, b.s.Store.polls, v.Term)
	p.Term = v.Term
	if slices.ContainsFunc(p.Votes, func(c Cast) bool { return c.Member == v.Member }) {
		return // one vote a term
	}
	p.Votes = append(p.Votes, Cast{Member: v.Member, Candidate: v.Candidate, Heard: v.Member == v.Candidate})
	b.s.Store.polls.trim(maxPolls)
}

// voteCame folds what became of the answer of a member to a candidate: it came, or was lost.
func (b *Builder) voteCame(candidate, member string, term uint64, came bool) {
	if _, ok := b.s.Store.polls.get(term); !ok {
		return
	}
	p := edit(b, b.s.Store.polls, term)
	p.Votes = slices.Clone(p.Votes)
	for i, v := range p.Votes {
		if v.Member == member && v.Candidate == candidate {
			p.Votes[i].Heard, p.Votes[i].Lost = came, !came
		}
	}
}

// won folds that somebody leads a term.
func (b *Builder) won(m *trace.MemberState) {
	if _, ok := b.s.Store.polls.get(m.Term); !ok {
		return
	}
	p := edit(b, b.s.Store.polls, m.Term)
	p.Winner, p.Over, p.OverAt = m.Member, trace.ID{}, 0
}

// term ends the terms before one, of which something is heard.
func (b *Builder) term(e *trace.Event, term uint64) {
	var over []uint64
	b.s.Store.polls.back(func(t uint64, p *Poll) bool {
		if t < term && p.Winner == "" && p.Over.IsZero() {
			over = append(over, t)
		}
		return t >= term || p.Over.IsZero() && p.Winner == ""
	})
	for _, t := range over {
		p := edit(b, b.s.Store.polls, t)
		p.Over, p.OverAt = e.ID, e.At
	}
}

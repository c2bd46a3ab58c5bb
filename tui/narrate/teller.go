package narrate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// Times of the explanation line, in presentation time.
const (
	reading = 1200 * time.Millisecond // a sentence stays for so long at least while others wait
	hurried = 700 * time.Millisecond  // where many wait
	fresh   = 6 * time.Second         // then it is no news any more
	spoken  = 4 * time.Second         // what a tour says stays for so long
)

// waiting is how many sentences wait at most; of more, those that matter least are left out.
const waiting = 6

// Teller tells one sentence after another, each for long enough to be read. It is not safe for use by several goroutines.
type Teller struct {
	now    time.Duration
	line   Sentence
	began  time.Duration
	until  time.Duration // the line stays for so long whatever comes
	queue  []Sentence
	floors Floors
	votes  map[vote]bool
	failed bool              // since the store last had a leader, a request that failed was told
	nodes  map[string]string // what was said of each node last
}

// vote is what a member gave in a term.
type vote struct {
	term      uint64
	candidate string
	member    string
}

// Catch takes events in the order in which they happened; the state is that after the last of them. At a high speed there is time
// only for what nobody should miss and for the newest of the rest.
func (t *Teller) Catch(events []*trace.Event, s *view.State, speed float64) {
	fast := speed <= 0 || speed >= 5
	for _, e := range events {
		x := Of(e, s)
		if p, ok := e.Payload.(*trace.RaftVoteRecord); ok && x.Rank > Untold {
			x = t.given(x, p, s.Store.Quorum().Need)
		}
		if p, ok := e.Payload.(*trace.NodeReport); ok && !t.news(p) {
			continue
		}
		if e.Kind == trace.Ready {
			t.started()
		}
		if e.Kind == trace.StoreRefused && t.again(s) {
			continue
		}
		switch {
		case x.Rank == Untold:
		case fast && x.Rank < Grave:
			t.only(x)
		default:
			t.queue = append(t.queue, x)
		}
	}
	for _, floor := range t.floors.Tell(s) {
		if floor == lost(t.floors.told.Quorum, s.Store.Quorum()) && slices.ContainsFunc(t.queue, func(x Sentence) bool { return x.Means != "" }) {
			continue // what broke it says so
		}
		t.queue = append(t.queue, Sentence{Text: floor, Rank: Grave})
	}
	sayOnce(t.queue)
	t.shorten()
	t.next()
}

// again reports whether a failure of the store is one of many: until it has a leader again, all that is asked of it fails.
func (t *Teller) again(s *view.State) bool {
	was := t.failed
	t.failed = s.Store.Leader == "" || !s.Reach().OK()
	return was && t.failed
}

// sayOnce leaves what several sentences in a row mean to one of them: to the member's that went down, else to the last.
func sayOnce(queue []Sentence) {
	for from := 0; from < len(queue); {
		to, says := from, from
		for ; to < len(queue) && queue[to].Means == queue[from].Means; to++ {
			if e := queue[says].Event; e == nil || e.Kind != trace.MemberDown || queue[to].Event != nil && queue[to].Event.Kind == trace.MemberDown {
				says = to
			}
		}
		for i := from; i < to; i++ {
			if i != says {
				queue[i].Means = ""
			}
		}
		from = to
	}
}

// started leaves out how a control plane came up that is ready by now; of what waits stay who leads, what failed and what was typed.
func (t *Teller) started() {
	last := -1
	for i, x := range t.queue {
		if leads(x) {
			last = i
		}
	}
	kept := t.queue[:0]
	for i, x := range t.queue {
		if i == last || !leads(x) && !comesUp(x) {
			kept = append(kept, x)
		}
	}
	t.queue = kept
}

// leads reports whether a sentence says who leads.
func leads(x Sentence) bool {
	if x.Event == nil {
		return false
	}
	p, ok := x.Event.Payload.(*trace.MemberState)
	return ok && x.Event.Kind == trace.MemberRole && p.Role == "leader"
}

// comesUp reports whether a sentence is about what goes on while a control plane comes up.
func comesUp(x Sentence) bool {
	if x.Event == nil {
		return false
	}
	switch x.Event.Payload.(type) {
	case *trace.MemberState:
		return x.Event.Kind == trace.MemberUp || x.Event.Kind == trace.MemberRole
	case *trace.RaftVoteRecord, *trace.NodeReport, *trace.Election, *trace.Decision, *trace.ProxySyncInfo:
		return true
	}
	return x.Event.Kind == trace.ProcessStart
}

// news reports whether a node is another than it was said to be last: its kubelet says every few minutes that nothing has changed.
func (t *Teller) news(p *trace.NodeReport) bool {
	if t.nodes == nil {
		t.nodes = map[string]string{}
	}
	is := p.Ready + " " + strings.Join(p.Taints, " ")
	was := t.nodes[p.Node]
	t.nodes[p.Node] = is
	return is != was
}

// only has a sentence be the one of its rank that waits.
func (t *Teller) only(x Sentence) {
	for i := range t.queue {
		if t.queue[i].Rank == x.Rank {
			t.queue[i] = x
			return
		}
	}
	t.queue = append(t.queue, x)
}

// given tells a vote that was given to another, and how many its candidate has now; not one more than are needed.
func (t *Teller) given(x Sentence, p *trace.RaftVoteRecord, need int) Sentence {
	if t.votes == nil || len(t.votes) > 64 {
		t.votes = map[vote]bool{}
	}
	t.votes[vote{p.Term, p.Candidate, p.Member}] = true
	t.votes[vote{p.Term, p.Candidate, p.Candidate}] = true // it votes for itself before it asks others
	has := 0
	for v := range t.votes {
		if v.term == p.Term && v.candidate == p.Candidate {
			has++
		}
	}
	switch {
	case has > need:
		return Sentence{}
	case has == need:
		x.Text = fmt.Sprintf("member %s votes for %s in term %d: %s has %d votes, which is a majority", p.Member, p.Candidate, p.Term, p.Candidate, has)
	default:
		x.Text = fmt.Sprintf("member %s votes for %s in term %d: %s has %d of the %d votes that it needs", p.Member, p.Candidate, p.Term, p.Candidate, has, need)
	}
	return x
}

// shorten leaves out the oldest of what matters least where too many wait.
func (t *Teller) shorten() {
	for len(t.queue) > waiting {
		least := 0
		for i, x := range t.queue {
			if x.Rank < t.queue[least].Rank {
				least = i
			}
		}
		t.queue = append(t.queue[:least:least], t.queue[least+1:]...)
	}
}

// Say tells a sentence of the explorer's own at once, and for long enough to be read; what happens meanwhile waits.
func (t *Teller) Say(text string) {
	t.line, t.began, t.until = Sentence{Text: text, Rank: Grave}, t.now, t.now+spoken
}

// Tick counts presentation time and reports whether another sentence is told now, or none any more.
func (t *Teller) Tick(passed time.Duration) bool {
	told := t.Telling()
	t.now += passed
	return t.next() || told != t.Telling()
}

// next goes on to the next sentence if it is time.
func (t *Teller) next() bool {
	if len(t.queue) == 0 || t.now < t.until {
		return false
	}
	stays := reading
	if len(t.queue) > 2 {
		stays = hurried
	}
	if t.Telling() && t.now-t.began < stays && t.queue[0].Rank <= t.line.Rank {
		return false
	}
	t.line, t.queue = t.queue[0], t.queue[1:]
	t.began, t.until = t.now, t.now
	return true
}

// Telling reports whether the line is still news.
func (t *Teller) Telling() bool {
	return t.line.Text != "" && (t.now < t.until || t.now-t.began < fresh)
}

// Saying reports whether the line is a sentence of the explorer's own that has not been read yet.
func (t *Teller) Saying() bool { return t.now < t.until }

// Busy reports whether time has to be counted on.
func (t *Teller) Busy() bool { return len(t.queue) > 0 || t.Telling() }

// Waits reports whether a sentence has not been told yet.
func (t *Teller) Waits() bool { return len(t.queue) > 0 }

// Line is the sentence that is told; one without words where nothing is news.
func (t *Teller) Line() Sentence {
	if !t.Telling() {
		return Sentence{}
	}
	return t.line
}

// Since is when the line began, by [Teller.Now].
func (t *Teller) Since() time.Duration { return t.began }

// Now is the presentation time.
func (t *Teller) Now() time.Duration { return t.now }

// Forget leaves out what waits and what is told: the person looks at something else.
func (t *Teller) Forget() { t.line, t.queue, t.until = Sentence{}, nil, 0 }

package raftstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore/member"
	"kviz/raftstore/wire"
)

// ErrNotSplit says that an election which should have been split was not.
var ErrNotSplit = errors.New("raftstore: the election was not split: another one came between")

// SplitVote makes two members stand for election at the same moment and arranges the
// messages so that each gets half the votes ([wire.Split]). Neither wins; the next
// election, by the members' own timers, decides. It returns when the votes are cast;
// while messages are held, when both are standing.
//
// One election is arranged at a time. The arrangement is undone if it does not work
// out: a member's own timer may have run out a moment before, on a busy machine more
// often. Then the next election is arranged in its place.
func (s *Replicated) SplitVote() error {
	s.splitting.Lock()
	defer s.splitting.Unlock()
	for again := 1; ; again++ {
		err := s.splitNext()
		if !errors.Is(err, ErrNotSplit) || again == splitAttempts || s.order.clock.stopped() {
			return err
		}
	}
}

// splitAttempts is how many elections are arranged at most until one is split.
const splitAttempts = 10

// splitNext arranges one election.
func (s *Replicated) splitNext() (err error) {
	split, err := s.planSplit()
	if err != nil {
		return err
	}
	done := s.network.SetSplit(split)
	defer func() {
		if err != nil {
			s.network.SetSplit(nil)
		}
	}()
	for _, id := range split.Candidates {
		m, err := s.membership.member(id)
		if err != nil {
			return err
		}
		m.ReportFault(member.Fault{What: "split vote", On: true, Detail: splitStory(split)})
		s.spawn("campaign of "+id, m.Campaign)
	}
	for range 400 {
		select {
		case <-done:
			return nil
		case <-s.order.closing:
			return rpctypes.ErrGRPCStopped
		default:
		}
		if s.order.clock.stopped() && s.network.TermOf(split) > 0 {
			return nil
		}
		s.order.sleep(5 * time.Millisecond)
	}
	return ErrNotSplit
}

// planSplit chooses the candidates, not the leader if there is another way, and
// whom the others hear first.
func (s *Replicated) planSplit() (*wire.Split, error) {
	leader, err := s.order.someLeader()
	if err != nil {
		return nil, err
	}
	var up []string
	matches := map[string]uint64{leader.Member(): 0} // so it is chosen last
	for _, id := range s.membership.group().voters() {
		if m, err := s.membership.member(id); err == nil && m.Up() {
			up = append(up, id)
			if id != leader.Member() {
				matches[id] = 1 + s.network.Progress(leader.Member(), id, leader.Term()).Match
			}
		}
	}
	if len(up) < 2 {
		return nil, errors.New("raftstore: one voter alone cannot split a vote")
	}
	slices.SortStableFunc(up, func(a, b string) int {
		switch {
		case matches[a] > matches[b]:
			return -1
		case matches[a] < matches[b]:
			return 1
		}
		return 0
	})
	split := &wire.Split{Candidates: [2]string{up[0], up[1]}, Side: map[string]string{}}
	others := up[2:]
	for i, id := range others {
		if i == len(others)-1 && len(others)%2 == 1 {
			split.Side[id] = ""
		} else {
			split.Side[id] = split.Candidates[i%2]
		}
	}
	return split, nil
}

// splitStory tells the plan.
func splitStory(split *wire.Split) string {
	votes := map[string][]string{}
	lost := ""
	for _, c := range split.Candidates {
		votes[c] = []string{c}
	}
	for voter, c := range split.Side {
		if c == "" {
			lost = "; the answer of " + voter + " is lost"
		} else {
			votes[c] = append(votes[c], voter)
		}
	}
	var parts []string
	for _, c := range split.Candidates {
		slices.Sort(votes[c])
		parts = append(parts, fmt.Sprintf("%s gets the votes of %s", c, strings.Join(votes[c], " and ")))
	}
	return strings.Join(parts, ", ") + lost
}

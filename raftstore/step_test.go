package raftstore_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"kviz/raftstore"
	"kviz/raftstore/steady"
	"kviz/raftstore/wire"
)

// settled waits until a store stands still: a leader, everything applied
// everywhere, and nothing more to tell the followers.
func settled(t *testing.T, s *raftstore.Replicated) {
	t.Helper()
	steady.Until(t, "everything is applied everywhere", func() bool {
		list := s.Members()
		for _, m := range list {
			if m.Commit != m.Last || m.Applied != list[0].Applied || m.Term != list[0].Term {
				return false
			}
		}
		return s.Healthy()
	})
}

// openSettled opens a store, writes once, and waits until it stands still.
func openSettled(t *testing.T) (*transcript, *raftstore.Replicated) {
	t.Helper()
	tr := newTranscript()
	s := open(t, raftstore.Config{NoSync: true, Events: tr.add})
	mustPut(t, s, "k", "1")
	settled(t, s)
	return tr, s
}

func TestStepThroughAPut(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		tr := newTranscript()
		s := open(t, raftstore.Config{NoSync: true, Events: tr.add})
		mustPut(t, s, "before", "1")
		settled(t, s)
		leader := s.Leader()

		s.Hold(true)
		start := tr.len()
		result := make(chan *raftstore.Result, 1)
		s.Do(putReq("k", "v"), func(r *raftstore.Result) { result <- r })
		steady.Until(t, "both appends are held", func() bool {
			h := s.Held()
			if len(h) > 0 && len(h[0].Entries) == 0 { // the end of telling what was committed before
				s.ReleaseOne()
				return false
			}
			return len(h) == 2
		})
		for _, h := range s.Held() {
			if h.RPC != wire.AppendEntries || h.Answer || h.From != leader || len(h.Entries) != 1 {
				t.Errorf("held: %+v", h)
			}
		}
		requireStory(t, tr.from(start), leader+" append", leader+" durable", leader+" send", leader+" send")

		// One request goes: its receiver appends, and the answer is held behind the
		// other request.
		first := s.Held()[0]
		if !s.ReleaseOne() {
			t.Fatal("nothing was held")
		}
		steady.Until(t, "the answer is held", func() bool { h := s.Held(); return len(h) == 2 && h[1].Answer })
		requireStory(t, tr.from(start), leader+" append", leader+" durable", leader+" send",
			first.To+" deliver", first.To+" append", first.To+" durable")

		// The other request goes; then the first answer, which makes a quorum.
		s.ReleaseOne()
		steady.Until(t, "both answers are held", func() bool { h := s.Held(); return len(h) == 2 && h[0].Answer && h[1].Answer })
		select {
		case r := <-result:
			t.Fatalf("the put ended without a quorum: %+v", r)
		default:
		}
		s.ReleaseOne()
		if r := <-result; r.Err != nil {
			t.Fatal(r.Err)
		}
		requireStory(t, tr.from(start), leader+" append", leader+" durable", leader+" send",
			first.To+" deliver", first.To+" append", first.To+" durable",
			leader+" reply", leader+" commit", leader+" apply")

		s.Hold(false)
		settled(t, s)
		if got := get(t, s, "k"); got != "v" {
			t.Errorf("after all that, k is %q", got)
		}
	})
}

// requireStory checks that the lines hold the story's lines in order.
func requireStory(t *testing.T, lines []string, story ...string) {
	t.Helper()
	rest := story
	for _, line := range lines {
		if len(rest) > 0 && strings.HasPrefix(line, rest[0]+":") {
			rest = rest[1:]
		}
	}
	if len(rest) > 0 {
		t.Errorf("the story stops before %q:\n%s", rest[0], strings.Join(lines, "\n"))
	}
}

func TestHoldKeepsTheLeaderInOffice(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		tr := newTranscript()
		s := open(t, raftstore.Config{NoSync: true, Events: tr.add, RequestTimeout: time.Second})
		mustPut(t, s, "k", "1")
		settled(t, s)
		before := s.Members()

		s.Hold(true)
		start := tr.len()
		result := make(chan *raftstore.Result, 1)
		s.Do(putReq("k", "2"), func(r *raftstore.Result) { result <- r })
		time.Sleep(2500 * time.Millisecond) // more than ten election timeouts, two request timeouts
		for i, m := range s.Members() {
			if m.Term != before[i].Term || m.Role != before[i].Role || m.Applied != before[i].Applied {
				t.Errorf("while held, %+v became %+v", before[i], m)
			}
		}
		if n := slices.IndexFunc(tr.from(start), func(l string) bool { return strings.Contains(l, " role:") }); n >= 0 {
			t.Errorf("a role changed while held:\n%s", strings.Join(tr.from(start), "\n"))
		}
		if !s.Healthy() {
			t.Error("held is not unhealthy")
		}
		s.Hold(false)
		if r := <-result; r.Err != nil {
			t.Errorf("the put that was held: %v", r.Err)
		}
	})
}

func TestNoElectionWhileHeld(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		tr, s := openSettled(t)
		leader := s.Leader()
		s.Hold(true)
		start := tr.len()
		if err := s.Crash(leader); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if s.Leader() != "" {
			t.Errorf("%s became leader while everything was held", s.Leader())
		}
		if lines := tr.from(start); slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, " vote:") }) {
			t.Errorf("somebody voted:\n%s", strings.Join(lines, "\n"))
		}
		s.Hold(false)
		mustPut(t, s, "k", "2")
	})
}

// An election can be gone through message by message.
func TestStepThroughAnElection(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		tr, s := openSettled(t)
		was := s.Leader()
		to := map[string]string{"a": "b", "b": "c", "c": "a"}[was]
		s.Hold(true)
		start := tr.len()
		moved := make(chan error, 1)
		go func() { moved <- s.TransferLeadership(to) }()
		for range 12 {
			steady.Until(t, "something is held, or it is over", func() bool { return len(s.Held()) > 0 || s.Leader() == to })
			if s.Leader() == to {
				break
			}
			s.ReleaseOne()
		}
		steady.Until(t, to+" leads", func() bool { return s.Leader() == to })
		requireStory(t, tr.from(start), was+" send", to+" deliver", to+" role", to+" send", to+" reply", to+" role")
		s.Hold(false)
		if err := <-moved; err != nil {
			t.Error(err)
		}
		mustPut(t, s, "k", "2")
	})
}

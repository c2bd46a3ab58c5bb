package wire

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"kviz/raftstore/steady"
)

// pair is a network of a and b; b answers every request at once.
type pair struct {
	t    *testing.T
	n    *Network
	a, b *Endpoint

	mu    sync.Mutex
	lines []string
	reply raft.AppendEntriesResponse
	wg    sync.WaitGroup
}

func newPair(t *testing.T, opts Options) *pair {
	p := &pair{t: t, reply: raft.AppendEntriesResponse{Term: 1, Success: true}}
	opts.Observe = p.observe
	p.n = New(opts)
	p.a, p.b = p.n.Attach("a"), p.n.Attach("b")
	p.serve(p.b)
	t.Cleanup(func() {
		p.a.Close()
		p.b.Close()
		p.b.Drain()
		p.wg.Wait()
	})
	return p
}

func (p *pair) serve(e *Endpoint) {
	answer := func(rpc raft.RPC) {
		p.mu.Lock()
		r := p.reply
		p.mu.Unlock()
		if _, ok := rpc.Command.(*raft.AppendEntriesRequest); ok {
			rpc.Respond(&r, nil)
			return
		}
		rpc.Respond(&raft.RequestVoteResponse{Term: 1, Granted: true}, nil)
	}
	e.SetHeartbeatHandler(answer)
	p.wg.Go(func() {
		for {
			select {
			case rpc := <-e.Consumer():
				answer(rpc)
			case <-e.closed:
				return
			}
		}
	})
}

func (p *pair) observe(ph Phase, m Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := map[Phase]string{Sent: "sent", Delivered: "delivered", Replied: "replied", Lost: "lost"}[ph]
	p.lines = append(p.lines, fmt.Sprintf("%d %s", m.Serial, name))
}

func (p *pair) seen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := strings.Join(p.lines, ", ")
	p.lines = nil
	return s
}

func heartbeat() *raft.AppendEntriesRequest { return &raft.AppendEntriesRequest{Term: 1} }

func appendTo(index uint64) *raft.AppendEntriesRequest {
	return &raft.AppendEntriesRequest{
		Term: 1, PrevLogEntry: index - 1, PrevLogTerm: 1, LeaderCommitIndex: 1,
		Entries: []*raft.Log{{Index: index, Term: 1, Data: []byte("x")}},
	}
}

func noNews(index uint64) *raft.AppendEntriesRequest {
	return &raft.AppendEntriesRequest{Term: 1, PrevLogEntry: index, PrevLogTerm: 1, LeaderCommitIndex: 1}
}

// start sends in the background.
func (p *pair) start(req *raft.AppendEntriesRequest) <-chan error {
	done := make(chan error, 1)
	p.wg.Go(func() {
		var resp raft.AppendEntriesResponse
		done <- p.a.AppendEntries("b", "b", req, &resp)
	})
	return done
}

func (p *pair) send(req *raft.AppendEntriesRequest) error {
	select {
	case err := <-p.start(req):
		return err
	case <-time.After(steady.Patience(p.t)):
		p.t.Fatal("the call hangs")
		return nil
	}
}

// waiting reports that the call has not ended, however long it is given.
func waiting(done <-chan error) bool {
	select {
	case <-done:
		return false
	case <-time.After(time.Hour):
		return true
	}
}

func TestWhatIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		heartbeats bool
		send       []*raft.AppendEntriesRequest
		want       string
	}{
		"an append":         {false, []*raft.AppendEntriesRequest{appendTo(2)}, "1 sent, 1 delivered, 1 replied"},
		"a heartbeat":       {false, []*raft.AppendEntriesRequest{heartbeat()}, ""},
		"a heartbeat asked": {true, []*raft.AppendEntriesRequest{heartbeat()}, "1 sent, 1 delivered, 1 replied"},
		"the first probe":   {false, []*raft.AppendEntriesRequest{noNews(2)}, "1 sent, 1 delivered, 1 replied"},
		"no news":           {false, []*raft.AppendEntriesRequest{appendTo(2), noNews(2)}, "1 sent, 1 delivered, 1 replied"},
		"a commit index": {
			false,
			[]*raft.AppendEntriesRequest{appendTo(2), {Term: 1, PrevLogEntry: 2, PrevLogTerm: 1, LeaderCommitIndex: 2}},
			"1 sent, 1 delivered, 1 replied, 2 sent, 2 delivered, 2 replied",
		},
	} {
		t.Run(name, func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				p := newPair(t, Options{Heartbeats: c.heartbeats})
				for _, req := range c.send {
					if err := p.send(req); err != nil {
						t.Fatal(err)
					}
				}
				if got := p.seen(); got != c.want {
					t.Errorf("reported %q, want %q", got, c.want)
				}
			})
		})
	}
}

func TestProgress(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		p := newPair(t, Options{})
		expect := func(what string, want Progress) {
			t.Helper()
			if got := p.n.Progress("a", "b", 1); got != want {
				t.Errorf("after %s: %+v, want %+v", what, got, want)
			}
		}
		p.send(heartbeat())
		expect("a heartbeat", Progress{Next: 1})
		p.send(appendTo(2))
		expect("an append", Progress{Match: 2, Next: 3})
		p.reply = raft.AppendEntriesResponse{Term: 1, Success: false, LastLog: 0}
		p.send(appendTo(3))
		expect("a refusal", Progress{Match: 2, Next: 1})
		if got := p.n.Progress("a", "b", 2); got != (Progress{}) {
			t.Errorf("of another term: %+v", got)
		}
		if p.n.Contact("a", "b", 1).IsZero() || !p.n.Contact("a", "b", 2).IsZero() {
			t.Error("contact belongs to the wrong term")
		}
	})
}

func TestHoldAndReleaseOne(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		p := newPair(t, Options{})
		if err := p.send(appendTo(2)); err != nil {
			t.Fatal(err)
		}
		p.seen()
		p.n.Hold(true)
		if err := p.send(heartbeat()); err != nil {
			t.Errorf("a heartbeat: %v", err)
		}
		if err := p.send(noNews(2)); err != nil {
			t.Errorf("an append without news: %v", err)
		}
		done := p.start(appendTo(3))
		steady.Until(t, "the append is held", func() bool { return len(p.n.Held()) == 1 })
		if h := p.n.Held()[0]; h.Answer || h.Entries[0].Index != 3 {
			t.Errorf("held: %+v", h)
		}
		p.n.ReleaseOne()
		steady.Until(t, "its answer is held", func() bool { h := p.n.Held(); return len(h) == 1 && h[0].Answer })
		if !waiting(done) {
			t.Error("the answer arrived although it is held")
		}
		p.n.ReleaseOne()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if p.n.ReleaseOne() {
			t.Error("something was held that nobody sent")
		}
		if got := p.seen(); got != "4 sent, 4 delivered, 4 replied" {
			t.Errorf("reported %q", got)
		}
	})
}

func TestACutLinkHangsUntilItHeals(t *testing.T) {
	for name, c := range map[string]struct{ from, to, seen string }{
		"there": {"a", "b", "1 sent, 1 lost"},
		"back":  {"b", "a", "1 sent, 1 delivered, 1 lost"},
	} {
		t.Run(name, func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				p := newPair(t, Options{})
				p.n.Cut(c.from, c.to, true)
				done := p.start(appendTo(2))
				if !waiting(done) {
					t.Fatal("the append did not hang: raft would back off")
				}
				if got := p.seen(); got != c.seen {
					t.Errorf("reported %q, want %q", got, c.seen)
				}
				if err := p.send(heartbeat()); !errors.Is(err, ErrLost) {
					t.Errorf("a heartbeat over a cut link: %v", err)
				}
				p.n.Heal()
				if err := <-done; !errors.Is(err, ErrLost) {
					t.Errorf("after healing: %v", err)
				}
			})
		})
	}
}

// What ends a call that hangs or is held.
func TestWhatEndsAWaitingCall(t *testing.T) {
	waits := map[string]func(p *pair){
		"cut":  func(p *pair) { p.n.Cut("a", "b", true) },
		"held": func(p *pair) { p.n.Hold(true) },
		"down": func(p *pair) { p.b.Close() },
	}
	ends := map[string]func(p *pair){
		"the sender's role changes": func(p *pair) { p.a.Abandon() },
		"the sender stops":          func(p *pair) { p.a.Close() },
	}
	for why, wait := range waits {
		for how, end := range ends {
			t.Run(why+", "+how, func(t *testing.T) {
				steady.Bubble(t, func(t *testing.T) {
					p := newPair(t, Options{})
					wait(p)
					done := p.start(appendTo(2))
					if !waiting(done) {
						t.Fatal("the call did not wait")
					}
					end(p)
					if err := <-done; !errors.Is(err, ErrLost) {
						t.Errorf("ended with %v", err)
					}
					if h := p.n.Held(); len(h) > 0 {
						t.Errorf("still held: %+v", h)
					}
				})
			})
		}
	}
}

func TestADownMemberIsWaitedFor(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		p := newPair(t, Options{})
		p.b.Close()
		done := p.start(appendTo(2))
		if !waiting(done) {
			t.Fatal("the append did not hang")
		}
		p.b = p.n.Attach("b")
		p.serve(p.b)
		if err := <-done; !errors.Is(err, ErrLost) {
			t.Errorf("after the restart: %v", err)
		}
		if err := p.send(appendTo(2)); err != nil {
			t.Errorf("the next append: %v", err)
		}
	})
}

func TestDrop(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		p := newPair(t, Options{Seed: 7})
		p.n.Drop("a", "b", 0.5)
		lost := 0
		for range 200 {
			if p.send(heartbeat()) != nil {
				lost++
			}
		}
		if lost < 70 || lost > 130 {
			t.Errorf("of 200 messages with probability one half, %d were lost", lost)
		}
	})
}

func TestDuplicate(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		p := newPair(t, Options{})
		p.n.Duplicate("a", "b", 1)
		if err := p.send(appendTo(2)); err != nil {
			t.Fatal(err)
		}
		if got := p.seen(); got != "1 sent, 1 delivered, 1 delivered, 1 replied" {
			t.Errorf("reported %q", got)
		}
	})
}

func TestDelay(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		p := newPair(t, Options{})
		p.n.Delay("a", "b", 20*time.Millisecond)
		p.n.Delay("b", "a", 30*time.Millisecond)
		start := time.Now()
		if err := p.send(heartbeat()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 50*time.Millisecond {
			t.Errorf("20 ms there and 30 ms back took %v", took)
		}
	})
}

// A candidate that asks again and again does not fill the queue.
func TestANewerVoteRequestTakesTheOldersPlace(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		p := newPair(t, Options{})
		p.n.Hold(true)
		ask := func(term uint64) <-chan error {
			done := make(chan error, 1)
			p.wg.Go(func() {
				var resp raft.RequestVoteResponse
				done <- p.a.RequestVote("b", "b", &raft.RequestVoteRequest{Term: term}, &resp)
			})
			return done
		}
		first := ask(1)
		steady.Until(t, "the first request is held", func() bool { return len(p.n.Held()) == 1 })
		second := ask(2)
		if err := <-first; !errors.Is(err, ErrLost) {
			t.Errorf("the older request: %v", err)
		}
		if h := p.n.Held(); len(h) != 1 || h[0].Term != 2 {
			t.Errorf("held: %+v", h)
		}
		p.n.Hold(false)
		if err := <-second; err != nil {
			t.Error(err)
		}
	})
}

// Confirm counts only an answer to its own question, in its own term.
func TestConfirm(t *testing.T) {
	for name, c := range map[string]struct {
		reply raft.AppendEntriesResponse
		cut   bool
		want  bool
	}{
		"in the term":       {reply: raft.AppendEntriesResponse{Term: 1, Success: true}, want: true},
		"a newer term":      {reply: raft.AppendEntriesResponse{Term: 2}},
		"nobody answers":    {reply: raft.AppendEntriesResponse{Term: 1, Success: true}, cut: true},
		"refused, same one": {reply: raft.AppendEntriesResponse{Term: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				p := newPair(t, Options{})
				p.reply = c.reply
				p.n.Cut("a", "b", c.cut)
				if got := p.a.Confirm("b", 1); got != c.want {
					t.Errorf("confirmed: %v", got)
				}
			})
		})
	}
}

// An append that took long is answered after heartbeats that were sent later: when the
// leader last heard from the other does not go back. A new term begins with nothing.
func TestContactDoesNotGoBack(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		p := newPair(t, Options{})
		began := time.Now()
		heard := func(term, reply uint64, after time.Duration) time.Time {
			c := &call{n: p.n, from: p.a, m: Message{RPC: AppendEntries, From: "a", To: "b", Term: term}, started: began.Add(after)}
			c.learn(p.b, &Message{OK: true, ReplyTerm: reply}, &raft.AppendEntriesResponse{})
			return p.n.Contact("a", "b", term)
		}
		heard(1, 1, time.Second)
		if got := heard(1, 1, 0); !got.Equal(began.Add(time.Second)) {
			t.Errorf("the contact went back by %v", began.Add(time.Second).Sub(got))
		}
		if got := heard(2, 3, 2*time.Second); !got.IsZero() {
			t.Errorf("in a term that the other has left the contact is of %v later", got.Sub(began))
		}
	})
}

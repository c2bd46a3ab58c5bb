package wire

import (
	"sync"
	"testing"

	"github.com/hashicorp/raft"

	"kviz/raftstore/steady"
)

// ballot is five voters, of whom c0 and c1 stand and e is down.
type ballot struct {
	n     *Network
	at    map[string]*Endpoint
	wg    sync.WaitGroup
	mu    sync.Mutex
	first map[string]string // whose request each voter got first
}

func newBallot(t *testing.T) *ballot {
	b := &ballot{n: New(Options{}), at: map[string]*Endpoint{}, first: map[string]string{}}
	for _, id := range []string{"c0", "c1", "x", "y"} {
		e := b.n.Attach(id)
		b.at[id] = e
		b.wg.Go(func() {
			for {
				select {
				case rpc := <-e.Consumer():
					from := string(rpc.Command.(*raft.RequestVoteRequest).ID)
					b.mu.Lock()
					if b.first[id] == "" {
						b.first[id] = from
					}
					granted := b.first[id] == from
					b.mu.Unlock()
					rpc.Respond(&raft.RequestVoteResponse{Term: 2, Granted: granted}, nil)
				case <-e.closed:
					return
				}
			}
		})
	}
	t.Cleanup(func() {
		for _, e := range b.at {
			e.Close()
		}
		b.wg.Wait()
	})
	return b
}

// ask sends one request for a vote in the background.
func (b *ballot) ask(from, to string) <-chan error {
	done := make(chan error, 1)
	b.wg.Go(func() {
		var resp raft.RequestVoteResponse
		req := &raft.RequestVoteRequest{RPCHeader: raft.RPCHeader{ID: []byte(from)}, Term: 2}
		done <- b.at[from].RequestVote(raft.ServerID(to), raft.ServerAddress(to), req, &resp)
	})
	return done
}

// An election among five of whom one is down stays arranged until everybody who is
// there has been asked by both: calls to the one that is down are not counted.
func TestASplitWithAMemberDown(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		b := newBallot(t)
		split := &Split{Candidates: [2]string{"c0", "c1"}, Side: map[string]string{"x": "c0", "y": "c1"}}
		done := b.n.SetSplit(split)
		alone := b.ask("c0", "e")
		steady.Until(t, "c0 stands", func() bool { b.n.mu.Lock(); defer b.n.mu.Unlock(); return split.standing["c0"] })
		if term := b.n.TermOf(split); term != 0 {
			t.Errorf("only one stands, and the election of term %d is told of", term)
		}
		for _, call := range []<-chan error{alone, b.ask("c1", "e"), b.ask("c0", "c1"), b.ask("c1", "c0"), b.ask("c0", "x"), b.ask("c1", "y")} {
			<-call
		}
		if term := b.n.TermOf(split); term != 2 {
			t.Errorf("both stand in term %d", term)
		}
		select {
		case <-done:
			t.Fatal("the arrangement ended while two requests were still to come")
		default:
		}
		<-b.ask("c1", "x")
		<-b.ask("c0", "y")
		<-done
		if b.first["x"] != "c0" || b.first["y"] != "c1" {
			t.Errorf("heard first: %v", b.first)
		}
	})
}

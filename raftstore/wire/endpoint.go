package wire

import (
	"io"
	"sync"

	"github.com/hashicorp/raft"
)

// Endpoint is one running member's place on the network: its raft.Transport.
// A member that restarts gets a new one.
//
// Goroutines: calls run on the caller's goroutine (raft's replicate, heartbeat
// and vote goroutines); only heartbeats are answered on a goroutine of the
// receiver's, so that a receiver that dies in the middle takes nobody along.
type Endpoint struct {
	n        *Network
	id       string
	carry    Carrier // nil for a member of this process
	consumer chan raft.RPC
	closed   chan struct{}

	mu        sync.Mutex
	isClosed  bool
	heartbeat func(raft.RPC)
	tenure    chan struct{} // closed and replaced when role or term changed
	gate      func(index uint64) <-chan struct{}
	room      func() <-chan struct{}
	handlers  sync.WaitGroup // heartbeats being answered
	heard     func()         // called once, after the next heartbeat
}

var (
	_ raft.Transport   = (*Endpoint)(nil)
	_ raft.WithPreVote = (*Endpoint)(nil)
	_ raft.WithClose   = (*Endpoint)(nil)
)

func newEndpoint(n *Network, id string) *Endpoint {
	return &Endpoint{
		n: n, id: id,
		consumer: make(chan raft.RPC),
		closed:   make(chan struct{}),
		tenure:   make(chan struct{}),
	}
}

// Close takes the member off the network: its calls end with an error, and
// so does what it was being asked. Raft's Shutdown waits for its calls, so
// Close comes first.
func (e *Endpoint) Close() error {
	e.mu.Lock()
	if e.isClosed {
		e.mu.Unlock()
		return nil
	}
	e.isClosed = true
	close(e.closed)
	e.mu.Unlock()

	e.n.mu.Lock()
	defer e.n.mu.Unlock()
	if e.n.endpoints[e.id] == e {
		delete(e.n.endpoints, e.id)
	}
	e.n.wake()
	return nil
}

// Drain waits for the heartbeats that are being answered. The member's disk
// may be closed only after that: raft's Shutdown does not wait for them.
func (e *Endpoint) Drain() { e.handlers.Wait() }

// Abandon ends the member's calls that hang or are held: its role or term has
// changed and nobody wants their answers any more.
func (e *Endpoint) Abandon() {
	e.mu.Lock()
	defer e.mu.Unlock()
	close(e.tenure)
	e.tenure = make(chan struct{})
}

func (e *Endpoint) currentTenure() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tenure
}

// Consumer is where raft takes requests from.
func (e *Endpoint) Consumer() <-chan raft.RPC { return e.consumer }

// LocalAddr is the member's ID: there are no other addresses here.
func (e *Endpoint) LocalAddr() raft.ServerAddress { return raft.ServerAddress(e.id) }

// EncodePeer and DecodePeer turn an address to bytes and back.
func (e *Endpoint) EncodePeer(_ raft.ServerID, addr raft.ServerAddress) []byte { return []byte(addr) }

// DecodePeer is the inverse of EncodePeer.
func (e *Endpoint) DecodePeer(b []byte) raft.ServerAddress { return raft.ServerAddress(b) }

// SetHeartbeatHandler sets who answers heartbeats beside raft's main loop, so
// that a slow disk does not make a leader look dead.
func (e *Endpoint) SetHeartbeatHandler(handler func(raft.RPC)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heartbeat = handler
}

// AfterHeartbeat has fn called once, when the member has answered the next
// heartbeat. A later call replaces an earlier one.
func (e *Endpoint) AfterHeartbeat(fn func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = fn
}

// SetGate sets what an answer to an append waits for before raft sees it: that
// the sender's own disk holds the entries too. gate gives nil if it does, else a
// channel that is closed when it does.
func (e *Endpoint) SetGate(gate func(index uint64) <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gate = gate
}

// SetRoom sets what the sender of a refused append waits for before it tries
// again: that the receiver's disk takes writes. room gives nil if it does, else a
// channel that is closed when it does.
func (e *Endpoint) SetRoom(room func() <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.room = room
}

// AppendEntriesPipeline is refused: without it raft has at most one append in
// flight for each follower, as a plain call that can be held.
func (e *Endpoint) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

// AppendEntries sends entries, or a heartbeat, and waits for the answer.
func (e *Endpoint) AppendEntries(id raft.ServerID, _ raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	req := *args // raft uses args again while a late receiver may still read it
	m := Message{
		RPC: AppendEntries, From: e.id, To: string(id), Term: args.Term,
		PrevLog: args.PrevLogEntry, PrevTerm: args.PrevLogTerm, Commit: args.LeaderCommitIndex,
		Entries: Describe(args.Entries),
	}
	return exchange(e, m, &req, resp, nil)
}

// RequestVote asks for a vote.
func (e *Endpoint) RequestVote(id raft.ServerID, _ raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	req := *args
	m := Message{RPC: RequestVote, From: e.id, To: string(id), Term: args.Term, PrevLog: args.LastLogIndex, PrevTerm: args.LastLogTerm}
	return exchange(e, m, &req, resp, nil)
}

// RequestPreVote asks whether a vote would be given.
func (e *Endpoint) RequestPreVote(id raft.ServerID, _ raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	req := *args
	m := Message{RPC: RequestPreVote, From: e.id, To: string(id), Term: args.Term, PrevLog: args.LastLogIndex, PrevTerm: args.LastLogTerm}
	return exchange(e, m, &req, resp, nil)
}

// InstallSnapshot sends a snapshot to a follower that is too far behind.
func (e *Endpoint) InstallSnapshot(id raft.ServerID, _ raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	req := *args
	m := Message{RPC: InstallSnapshot, From: e.id, To: string(id), Term: args.Term, PrevLog: args.LastLogIndex, PrevTerm: args.LastLogTerm}
	return exchange(e, m, &req, resp, io.LimitReader(data, args.Size))
}

// TimeoutNow tells a follower to start an election at once.
func (e *Endpoint) TimeoutNow(id raft.ServerID, _ raft.ServerAddress, args *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse) error {
	req := *args
	m := Message{RPC: TimeoutNow, From: e.id, To: string(id)}
	return exchange(e, m, &req, resp, nil)
}

// Confirm asks a follower whether it still is in the leader's term: one
// heartbeat of its own. Raft's VerifyLeader also counts answers to requests
// that were sent before; this counts only its own, so that what was true when
// Confirm was called can be read afterwards.
func (e *Endpoint) Confirm(to string, term uint64) bool {
	req := raft.AppendEntriesRequest{RPCHeader: e.header(), Term: term, Leader: []byte(e.id)}
	var resp raft.AppendEntriesResponse
	err := e.AppendEntries(raft.ServerID(to), raft.ServerAddress(to), &req, &resp)
	return err == nil && resp.Success && resp.Term == term
}

func (e *Endpoint) header() raft.RPCHeader {
	return raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(e.id), Addr: []byte(e.id)}
}

// Campaign makes the member itself start an election at once, without waiting
// for its timer and without a pre-vote (etcd raft Campaign).
func (e *Endpoint) Campaign() {
	answer := make(chan raft.RPCResponse, 1)
	select {
	case e.consumer <- raft.RPC{Command: &raft.TimeoutNowRequest{RPCHeader: e.header()}, RespChan: answer}:
	case <-e.closed:
	}
}

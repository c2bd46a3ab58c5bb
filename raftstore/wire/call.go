package wire

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/raft"
)

// ErrLost is wrapped by the errors of messages that were lost.
var ErrLost = errors.New("message lost")

// retransmit is how long the sender of a dropped message waits before it sees
// that no answer comes. Failing at once would make raft back off for seconds.
const retransmit = 50 * time.Millisecond

// call is one exchange: a request on its way and its answer back.
type call struct {
	n         *Network
	from      *Endpoint
	m         Message // the request
	news      bool    // neither a heartbeat nor an append that tells nothing new
	abandoned <-chan struct{}
	started   time.Time
	stray     bool // its sender waits no longer
	split     *Split
}

// exchange brings the request to its receiver and the answer back into resp,
// through whatever is wrong with the links.
func exchange[Resp any](e *Endpoint, m Message, args any, resp *Resp, body io.Reader) error {
	m.Serial = e.n.serial.Add(1)
	c := &call{n: e.n, from: e, m: m, abandoned: e.currentTenure(), started: time.Now()}
	c.news = c.isNews()
	c.observe(Sent, c.m)
	c.inTurn()
	defer c.over()

	answer, to, err := c.request(args, body)
	if err != nil {
		return err
	}
	got, ok := answer.Response.(*Resp)
	if answer.Error != nil || !ok {
		if answer.Error == nil {
			answer.Error = fmt.Errorf("unexpected answer %T", answer.Response)
		}
		c.lose(answer.Error.Error())
		return answer.Error
	}
	if c.voted() {
		return c.lose("the answer was lost, so that the vote is split")
	}
	back := c.answer(got)
	if err := c.travel(&back, link{m.To, m.From}); err != nil {
		return err
	}
	if !c.passGate(back.Match) {
		return c.lose("the sender stopped before its own disk had the entries")
	}
	c.learn(to, &back, got)
	c.observe(Replied, back)
	if !back.OK {
		c.awaitRoom(to)
	}
	*resp = *got
	return nil
}

// request brings the request there and gives the receiver's answer.
func (c *call) request(args any, body io.Reader) (raft.RPCResponse, *Endpoint, error) {
	if err := c.travel(&c.m, link{c.m.From, c.m.To}); err != nil {
		return raft.RPCResponse{}, nil, err
	}
	to := c.n.endpoint(c.m.To)
	if to == nil {
		return raft.RPCResponse{}, nil, c.unanswered("the receiver is down", nil)
	}
	late, twice, overtaken := c.fate()
	if late {
		return raft.RPCResponse{}, nil, c.setAside(args)
	}
	if twice {
		if _, err := c.deliver(to, args, nil); err != nil {
			return raft.RPCResponse{}, nil, err
		}
	}
	answer, err := c.deliver(to, args, body)
	for _, o := range overtaken {
		close(o)
	}
	return answer, to, err
}

// fate draws what the network does with the request: bring it late, or twice; and
// tells which earlier ones it overtakes.
func (c *call) fate() (late, twice bool, overtaken []chan struct{}) {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	l := c.n.link(c.m.From, c.m.To)
	if c.m.RPC != InstallSnapshot {
		late = l.reorder > 0 && c.n.rand.Float64() < l.reorder
		twice = l.duplicate > 0 && !late && c.n.rand.Float64() < l.duplicate
	}
	if !late {
		overtaken, l.overtaken = l.overtaken, nil
	}
	return late, twice, overtaken
}

// deliver hands the request over and waits for the receiver's answer.
func (c *call) deliver(to *Endpoint, args any, body io.Reader) (raft.RPCResponse, error) {
	answers := make(chan raft.RPCResponse, 1)
	rpc := raft.RPC{Command: args, Reader: body, RespChan: answers}
	if to.carry != nil {
		to.carry(to, c.m, c.news, rpc) // its own network observes the arrival
	} else {
		c.observe(Delivered, c.m)
		to.take(c.m, rpc, c.from.closed)
	}
	select {
	case answer := <-answers:
		return answer, nil
	case <-to.closed:
		return raft.RPCResponse{}, c.unanswered("the receiver went down", to)
	case <-c.from.closed:
		return raft.RPCResponse{}, c.lose("the sender stopped")
	}
}

// take gives a request to its receiver: to raft's main loop, or, for a
// heartbeat, to the handler beside it. It gives up when the sender has stopped.
func (e *Endpoint) take(m Message, rpc raft.RPC, stopped <-chan struct{}) {
	if m.Heartbeat() {
		e.beat(rpc)
		return
	}
	select {
	case e.consumer <- rpc:
	case <-e.closed:
	case <-stopped:
	}
}

// beat answers a heartbeat on a goroutine of the receiver's.
func (e *Endpoint) beat(rpc raft.RPC) {
	e.mu.Lock()
	defer e.mu.Unlock()
	handler := e.heartbeat
	if e.isClosed || handler == nil {
		if handler == nil && !e.isClosed {
			rpc.Respond(nil, errors.New("the receiver is starting"))
		}
		return
	}
	e.handlers.Add(1)
	heard := e.heard
	e.heard = nil
	e.n.opts.Go("heartbeat of "+e.id, func() {
		defer e.handlers.Done()
		handler(rpc)
		if heard != nil {
			heard()
		}
	})
}

// travel takes a message over a link: it waits while it is on its way, held or
// delayed, and loses it if the link is cut or drops it.
func (c *call) travel(m *Message, l link) error {
	if d := time.Duration(c.n.latency.Load()); c.news && d > 0 && !c.wait(d) {
		return c.lose("the sender gave up on the way")
	}
	if lost := c.n.hold(c, m); lost != "" {
		return c.lose(lost)
	}
	c.n.mu.Lock()
	state := c.n.link(l.from, l.to)
	delay, cut := state.delay, state.cut
	dropped := state.drop > 0 && c.n.rand.Float64() < state.drop
	c.n.mu.Unlock()
	if delay > 0 && !c.wait(delay) {
		return c.lose("the sender gave up during the delay")
	}
	switch {
	case cut:
		return c.unanswered("the link "+l.from+" to "+l.to+" is cut", c.n.endpoint(c.m.To))
	case dropped:
		err := c.lose("dropped on the link " + l.from + " to " + l.to)
		if c.patient() {
			c.wait(retransmit)
		}
		return err
	}
	return nil
}

// wait waits for d; false if the call was given up meanwhile.
func (c *call) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.abandoned:
	case <-c.from.closed:
	}
	return false
}

// passGate waits until the sender's own disk holds what the receiver has
// acknowledged (see [Endpoint.SetGate]).
func (c *call) passGate(match uint64) bool {
	if len(c.m.Entries) == 0 || match == 0 {
		return true
	}
	c.from.mu.Lock()
	gate := c.from.gate
	c.from.mu.Unlock()
	if gate == nil {
		return true
	}
	durable := gate(match)
	if durable == nil {
		return true
	}
	select {
	case <-durable:
		return true
	case <-c.abandoned:
	case <-c.from.closed:
	}
	return false
}

// awaitRoom keeps a refusal from raft while the receiver's disk is full: raft
// would try again at longer and longer intervals, and after the disk has room
// seconds would pass until it tries again.
func (c *call) awaitRoom(to *Endpoint) {
	to.mu.Lock()
	room := to.room
	to.mu.Unlock()
	if len(c.m.Entries) == 0 || room == nil {
		return
	}
	full := room()
	if full == nil {
		return
	}
	select {
	case <-full:
	case <-to.closed:
	case <-c.abandoned:
	case <-c.from.closed:
	}
}

// patient says whether the sender hangs when no answer comes. Heartbeats and
// votes are asked again soon; for the rest raft would back off longer and
// longer, and after healing seconds would pass until it tries again.
func (c *call) patient() bool {
	return !c.stray && (c.m.RPC == InstallSnapshot || c.m.RPC == AppendEntries && !c.m.Heartbeat())
}

// unanswered loses the message and, for a patient call, hangs until something
// about the way to the receiver changes, or nobody wants the answer any more.
func (c *call) unanswered(why string, receiver *Endpoint) error {
	err := c.lose(why)
	if !c.patient() {
		return err
	}
	for {
		c.n.mu.Lock()
		there, back := c.n.link(c.m.From, c.m.To), c.n.link(c.m.To, c.m.From)
		now := c.n.endpoints[c.m.To]
		open := !there.cut && !back.cut && now != nil
		changed := c.n.changed
		gone := c.n.gone[c.m.To]
		c.n.mu.Unlock()
		if open || gone || now != nil && now != receiver && !there.cut {
			return err
		}
		select {
		case <-changed:
		case <-c.abandoned:
			return err
		case <-c.from.closed:
			return err
		}
	}
}

func (c *call) lose(why string) error {
	m := c.m
	m.Error = why
	c.observe(Lost, m)
	return fmt.Errorf("%w: %s", ErrLost, why)
}

func (c *call) observe(p Phase, m Message) {
	if c.news || c.n.opts.Heartbeats || p == Replied && !m.OK {
		c.n.opts.Observe(p, m)
	}
}

func (n *Network) endpoint(id string) *Endpoint {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.endpoints[id]
}

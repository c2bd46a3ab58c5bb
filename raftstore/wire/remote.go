package wire

import (
	"fmt"
	"io"
	"slices"

	"github.com/hashicorp/raft"
)

// Carrier takes a request to a member in another process, whose endpoint is e. It must not
// block: it answers on rpc.RespChan, from any goroutine. If the connection breaks it does not
// answer but closes the endpoint, so that the call continues as one to a member that went
// down.
type Carrier func(e *Endpoint, m Message, news bool, rpc raft.RPC)

// AttachRemote gives a member of another process its place on this network,
// while it runs and can be reached. Requests may come before AttachRemote returns.
// Here it only receives: what it sends, its own network observes, holds and loses.
func (n *Network) AttachRemote(id string, carry Carrier) *Endpoint {
	e := newEndpoint(n, id)
	e.carry = carry
	n.mu.Lock()
	defer n.mu.Unlock()
	n.endpoints[id] = e
	n.wake()
	return e
}

// Receive hands a request that came from another process to the member of this
// one, and waits for its answer. news is what the sender's network said of it.
func (n *Network) Receive(m Message, news bool, args any, body io.Reader) (any, error) {
	to := n.endpoint(m.To)
	if to == nil || to.carry != nil {
		return nil, fmt.Errorf("%w: member %s does not run here", ErrLost, m.To)
	}
	if news || n.opts.Heartbeats {
		n.opts.Observe(Delivered, m)
	}
	answers := make(chan raft.RPCResponse, 1)
	to.take(m, raft.RPC{Command: args, Reader: body, RespChan: answers}, nil)
	select {
	case answer := <-answers:
		return answer.Response, answer.Error
	case <-to.closed:
		return nil, fmt.Errorf("%w: member %s went down", ErrLost, m.To)
	}
}

// Closed is closed when the member has left the network.
func (e *Endpoint) Closed() <-chan struct{} { return e.closed }

// Release lets one held message go; false if it is not held.
func (n *Network) Release(serial uint64, answer bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, h := range n.held {
		if h.Serial == serial && h.Answer == answer {
			close(h.release)
			n.held = slices.Delete(n.held, i, i+1)
			return true
		}
	}
	return false
}

package wire

import (
	"slices"
	"time"
)

// heldMessage is a request or an answer that waits.
type heldMessage struct {
	Held
	release chan struct{} // closed when it may go
	gone    chan struct{} // closed when it must not wait any longer
	why     string        // it must not; set before gone is closed
}

// Hold stops everything between members but heartbeats and appends that bring
// no news, in both directions (true), or lets everything go in order (false).
func (n *Network) Hold(on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.holding = on
	if !on {
		for _, h := range n.held {
			close(h.release)
		}
		n.held = nil
	}
}

// ReleaseOne lets the oldest held message go. It reports false if none is held.
func (n *Network) ReleaseOne() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.held) == 0 {
		return false
	}
	close(n.held[0].release)
	n.held = slices.Delete(n.held, 0, 1)
	return true
}

// Held lists what is held, oldest first.
func (n *Network) Held() []Held {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := make([]Held, len(n.held))
	for i, h := range n.held {
		list[i] = h.Held
	}
	return list
}

// hold waits while the message must wait. It gives a reason if the message
// will never go.
func (n *Network) hold(c *call, m *Message) (lost string) {
	n.mu.Lock()
	if !n.holding || !c.news {
		n.mu.Unlock()
		return ""
	}
	h := &heldMessage{
		Held:    Held{Message: *m, Since: time.Now()},
		release: make(chan struct{}),
		gone:    make(chan struct{}),
	}
	n.overtake(m)
	n.held = append(n.held, h)
	n.mu.Unlock()

	select {
	case <-h.release:
		return ""
	case <-h.gone:
		return h.why
	case <-c.abandoned:
		lost = "the sender's term or role changed"
	case <-c.from.closed:
		lost = "the sender stopped"
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held = slices.DeleteFunc(n.held, func(other *heldMessage) bool { return other == h })
	return lost
}

// overtake takes an older vote request of the same candidate to the same
// member out: raft no longer listens to its answer. So a candidate that tries
// again and again does not fill the queue. Call with mu held.
func (n *Network) overtake(m *Message) {
	if m.RPC != RequestVote && m.RPC != RequestPreVote {
		return
	}
	n.held = slices.DeleteFunc(n.held, func(h *heldMessage) bool {
		if h.Serial == m.Serial || h.RPC != m.RPC || h.From != m.From || h.To != m.To {
			return false
		}
		h.why = "overtaken by a newer request"
		close(h.gone)
		return true
	})
}

package wire

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Phase is what happened to a [Message].
type Phase int

// The phases of a message.
const (
	Sent      Phase = iota // the request left the sender
	Delivered              // the request was handed to the receiver
	Replied                // the answer came back to the sender
	Lost                   // the request or its answer will never arrive
)

// Options says how a [Network] behaves.
type Options struct {
	// Observe is called with every message; it must not block.
	Observe func(Phase, Message)
	// Heartbeats asks for the messages too that bring no news.
	Heartbeats bool
	Seed       uint64
	// Go starts the goroutines that answer heartbeats.
	Go func(name string, fn func())
	// FirstSerial is what the serial numbers of messages begin after: networks of
	// several processes that make one must not give a number twice.
	FirstSerial uint64
}

// Network connects the members of a group. It holds the state of the links
// and what is held back; each running member has an [Endpoint] on it.
type Network struct {
	opts   Options
	serial atomic.Uint64

	faulty  atomic.Int32 // links with a fault
	latency atomic.Int64 // see Latency

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced when a link or an endpoint changed
	endpoints map[string]*Endpoint
	links     map[link]*linkState
	rand      *rand.Rand
	holding   bool
	held      []*heldMessage  // in order of arrival
	gone      map[string]bool // members that will never come back
	split     *Split          // an election that is arranged
}

type link struct{ from, to string }

// linkState is the way from one member to another: its faults, and what the
// sender knows of the receiver.
type linkState struct {
	cut       bool
	delay     time.Duration
	drop      float64
	duplicate float64
	reorder   float64
	overtaken []chan struct{} // requests that arrive after the next one

	term      uint64 // the leader's term that progress and delivered belong to
	progress  Progress
	delivered uint64    // highest commit index that reached the receiver
	receiver  *Endpoint // the incarnation that delivered is about
	contact   time.Time // when the last answer was sent for: the request's start
}

func (l *linkState) faulty() bool {
	return l.cut || l.delay > 0 || l.drop > 0 || l.duplicate > 0 || l.reorder > 0
}

// New is a network without members and without faults.
func New(opts Options) *Network {
	if opts.Observe == nil {
		opts.Observe = func(Phase, Message) {}
	}
	if opts.Go == nil {
		opts.Go = func(_ string, fn func()) { go fn() }
	}
	n := &Network{
		opts:      opts,
		changed:   make(chan struct{}),
		endpoints: map[string]*Endpoint{},
		links:     map[link]*linkState{},
		gone:      map[string]bool{},
		rand:      rand.New(rand.NewPCG(opts.Seed, 0x9e3779b97f4a7c15)),
	}
	n.serial.Store(opts.FirstSerial)
	return n
}

// Attach gives a starting member its endpoint on the network; calls that waited for
// the member to come back continue. An earlier endpoint of the member must have been
// closed.
func (n *Network) Attach(id string) *Endpoint {
	e := newEndpoint(n, id)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.endpoints[id] = e
	delete(n.gone, id)
	n.wake()
	return e
}

// Forget takes a member that left for good off the network, with the faults of its
// links and what is held on the way to it. Nobody waits for its answers any more.
func (n *Network) Forget(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gone[id] = true
	for l, state := range n.links {
		if l.from != id && l.to != id {
			continue
		}
		if state.faulty() {
			n.faulty.Add(-1)
		}
		delete(n.links, l)
	}
	n.held = slices.DeleteFunc(n.held, func(h *heldMessage) bool {
		if h.From != id && h.To != id {
			return false
		}
		h.why = id + " is no member any more"
		close(h.gone)
		return true
	})
	n.wake()
}

// Latency sets how long every message takes that is neither a heartbeat nor an append
// without news. Heartbeats are no slower, so that nobody misses its leader by it.
func (n *Network) Latency(d time.Duration) { n.latency.Store(int64(d)) }

// wake lets everything that hangs look at the links again. Call with mu held.
func (n *Network) wake() {
	close(n.changed)
	n.changed = make(chan struct{})
}

// link is the state of a link. Call with mu held.
func (n *Network) link(from, to string) *linkState {
	l := n.links[link{from, to}]
	if l == nil {
		l = &linkState{}
		n.links[link{from, to}] = l
	}
	return l
}

// Progress is what from, as leader of the term, knows of to.
func (n *Network) Progress(from, to string, term uint64) Progress {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l := n.link(from, to); l.term == term {
		return l.progress
	}
	return Progress{}
}

// Contact is when from, as leader of the term, sent the last request that to
// has answered; zero if it never answered in this term.
func (n *Network) Contact(from, to string, term uint64) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l := n.link(from, to); l.term == term {
		return l.contact
	}
	return time.Time{}
}

package wire

import (
	"fmt"
	"time"
)

// latest is how long a request that is to be overtaken waits for that.
const latest = 300 * time.Millisecond

// setAside is what a network does that does not keep messages in order: the
// request is on its way for so long that its sender gives it up and sends it again, and
// arrives after a later one. Nobody waits for its answer.
//
// What can overtake what: raft has at most one append to a follower under way, so
// entries overtake entries only as a repetition does what it repeats. Heartbeats,
// votes of an earlier term and TimeoutNow go beside appends and overtake them
// freely. Snapshots are a stream and stay in order.
func (c *call) setAside(args any) error {
	late := *c
	late.stray, late.abandoned = true, nil
	overtaken := make(chan struct{})
	c.n.mu.Lock()
	l := c.n.link(c.m.From, c.m.To)
	l.overtaken = append(l.overtaken, overtaken)
	c.n.mu.Unlock()
	c.n.opts.Go("late request to "+c.m.To, func() { late.arrive(args, overtaken) })
	if c.patient() {
		c.wait(retransmit)
	}
	return fmt.Errorf("%w: no answer in time", ErrLost)
}

// arrive brings a request that was overtaken.
func (c *call) arrive(args any, overtaken <-chan struct{}) {
	timer := time.NewTimer(latest)
	defer timer.Stop()
	select {
	case <-overtaken:
	case <-timer.C:
	case <-c.from.closed:
		c.lose("the sender stopped")
		return
	}
	if lost := c.n.hold(c, &c.m); lost != "" {
		c.lose(lost)
		return
	}
	to := c.n.endpoint(c.m.To)
	if to == nil {
		c.lose("the receiver is down")
		return
	}
	if _, err := c.deliver(to, args, nil); err == nil {
		c.lose("it was overtaken, and nobody waits for its answer any more")
	}
}

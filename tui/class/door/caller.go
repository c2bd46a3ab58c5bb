package door

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// caller is one connection, from its first byte on.
type caller struct {
	net.Conn
	door   *Door
	owner  bool         // came by the owner's own socket
	addr   string       // without the port, which says nothing
	since  time.Time    // when it came
	active atomic.Int64 // when something came from it
	seat   seat         // the door's mutex is over it

	visits sync.WaitGroup // what runs for its terminal

	mu       sync.Mutex
	left     bool        // nothing may begin for it any more
	user     string      // the SSH user, of the owner
	claim    *claim      // its name
	no       string      // why it is turned away as soon as it has a terminal to read that on
	terminal bool        // it has opened one
	visit    *Visit      // on that terminal
	notices  []string    // what was refused before there was a terminal to say so on
	requests budget      // of its terminal, and of the connection
	channels budget      // that it opens
	patience *time.Timer // until its visit begins
}

func newCaller(d *Door, conn net.Conn, owner bool) *caller {
	c := &caller{Conn: conn, door: d, owner: owner, addr: host(conn.RemoteAddr()), since: time.Now()}
	c.active.Store(c.since.UnixNano())
	// A window that is dragged changes sixty times a second.
	c.requests, c.channels = newBudget(400, 100), newBudget(32, 1)
	return c
}

// host is an address without its port.
func host(a net.Addr) string {
	if h, _, err := net.SplitHostPort(a.String()); err == nil {
		return h
	}
	return "this machine"
}

// Read notes that the client is alive. What is written to it says nothing: a line that was cut off takes a lot.
func (c *caller) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.active.Store(time.Now().UnixNano())
	}
	return n, err
}

// finishWriting lets the client read to the end: a connection that is closed while something of the
// client's is unread is reset, and the last words are lost.
func (c *caller) finishWriting() {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = c.Conn.Close()
}

// end ends what the connection is doing, with a sentence where there is a terminal to say it on.
func (c *caller) end(sentence string) {
	c.mu.Lock()
	v := c.visit
	c.mu.Unlock()
	if v == nil {
		_ = c.Close()
		return
	}
	v.End(sentence)
}

// begin reports whether something may begin for the connection; then visits.Done must follow.
func (c *caller) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left {
		return false
	}
	c.visits.Add(1)
	return true
}

// open reports whether the connection may open a terminal: it may once.
func (c *caller) open() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !c.terminal
	c.terminal = true
	return first
}

// may takes one request from a budget. A connection that has asked for too much is ended.
func (c *caller) may(b *budget) bool {
	c.mu.Lock()
	ok := b.take()
	c.mu.Unlock()
	if !ok {
		c.refused("sent too many requests at once")
		c.end("Your terminal sent too many requests at once.")
	}
	return ok
}

// refused notes something for the teacher.
func (c *caller) refused(what string) {
	c.mu.Lock()
	r := Refusal{Addr: c.addr, What: what}
	if c.claim != nil {
		r.Name = c.claim.name
	}
	c.mu.Unlock()
	c.door.refusals.add(r)
}

// register takes a connection in. When too many have not said yet who they are, the oldest of those from
// the address with most of them makes room: a flood so costs the one who makes it.
func (d *Door) register(c *caller) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		_ = c.Close()
		return false
	}
	d.callers[c] = struct{}{}
	if oldest := d.tooMany(); oldest != nil {
		d.refusals.add(Refusal{Addr: oldest.addr, What: "opened too many connections at once"})
		_ = oldest.Close()
		delete(d.callers, oldest) // it has been counted
	}
	return true
}

// tooMany is the connection that makes room for the others, or nil.
func (d *Door) tooMany() *caller {
	from, all := map[string][]*caller{}, 0
	for c := range d.callers {
		if !c.owner && c.seat == unknown {
			from[c.addr] = append(from[c.addr], c)
			all++
		}
	}
	if all <= strangers {
		return nil
	}
	var most []*caller
	for _, of := range from {
		if len(of) > len(most) {
			most = of
		}
	}
	return slices.MinFunc(most, func(a, b *caller) int { return a.since.Compare(b.since) })
}

// seat is what a connection takes of the door's room.
type seat int

const (
	unknown  seat = iota // has not said yet who it is
	seated               // is in
	standing             // reads that there is no room
)

// letIn notes that a connection has said who it is, with a name or why it is turned away. It gives it a
// seat; where there is none it hears so on its terminal, unless too many hear that already.
func (d *Door) letIn(c *caller, cl *claim, no string) error {
	d.mu.Lock()
	count := map[seat]int{}
	for other := range d.callers {
		if !other.owner {
			count[other.seat]++
		}
	}
	full := !c.owner && count[seated] >= d.cfg.Limits.Visits
	switch {
	case !full && no == "":
		c.seat = seated
	case count[standing] < turnedAway:
		c.seat = standing
	default:
		d.mu.Unlock()
		return errFull
	}
	d.mu.Unlock()
	if full {
		no = fmt.Sprintf("There is no room left: %d are in this class already.", d.cfg.Limits.Visits)
		d.refusals.add(Refusal{Addr: c.addr, What: "found no room in the class"})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claim, c.no = cl, no
	c.patience = time.AfterFunc(d.cfg.Limits.Handshake, c.giveUp)
	return nil
}

var errFull = errors.New("there is no room left in this class")

// giveUp closes a connection on whose terminal nothing has begun in time.
func (c *caller) giveUp() {
	c.mu.Lock()
	visited := c.visit != nil
	c.mu.Unlock()
	if !visited {
		_ = c.Close()
	}
}

// unregister forgets a connection that has ended, once nothing runs for it any more.
func (d *Door) unregister(c *caller) {
	c.mu.Lock()
	c.left = true
	claim := c.claim
	if c.patience != nil {
		c.patience.Stop()
	}
	c.mu.Unlock()
	c.visits.Wait()
	if claim != nil {
		claim.leave(c)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.callers, c)
}

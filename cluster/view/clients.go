package view

import (
	"slices"
	"strings"
	"time"

	"kviz/cluster/trace"
)

// Client is one of a component's clients of the API server, with the rate limit that holds
// its requests back.
type Client struct {
	gen
	trace.ClientLimit // after its last request that the trace has
	Lane              string
	Held              uint64        // requests that had to wait
	HeldFor           time.Duration // how long, in all
	Longest           time.Duration // how long one of them
	Event             trace.ID
	At                time.Duration
}

func (c *Client) seal() {}

// Left is how many requests it may send at once, at a time that is not before At. It is exact
// while that is less than half of the burst: then every request is in the trace. Else it is
// the most that it can be, and half of the burst the least.
func (c *Client) Left(at time.Duration) (left int, exact bool) {
	left = c.ClientLimit.Left(at - c.At)
	return left, 2*left < c.Burst
}

// Waiting is how many of its requests wait for their turn.
func (c *Client) Waiting(at time.Duration) int { return c.ClientLimit.Waiting(at - c.At) }

// Whose is who sends by the client: its component, and which of its clients it is where that
// has another name.
func (c *Client) Whose() string { return whose(c.Lane, c.Client) }

func whose(lane, client string) string {
	if component, _, _ := strings.Cut(lane, "/"); client == component || client == "kube-"+component {
		return lane
	}
	return lane + " (" + client + ")"
}

// Clients lists the clients of the components that run, by component and name.
func (s *State) Clients() []*Client { return s.clients.values() }

func init() {
	on(trace.ClientLimited, func(b *Builder, e *trace.Event, p *trace.ClientLimit) {
		lane := e.Lane.String()
		c := edit(b, b.s.clients, lane+"\x00"+p.Client)
		c.ClientLimit, c.Lane, c.Event, c.At = *p, lane, e.ID, e.At
		if p.Delay == 0 {
			return
		}
		c.Held++
		c.HeldFor += p.Delay
		c.Longest = max(c.Longest, p.Delay)
		b.holdRun(e, p)
	})
}

// holdRun notes in a controller's run that a request of it waits.
func (b *Builder) holdRun(e *trace.Event, p *trace.ClientLimit) {
	c := b.s.controllerOfRun(e)
	if c == nil {
		return
	}
	for _, r := range c.current {
		if r.asksFor(e) {
			r, _ := edit(b, b.s.controllers, c.Name).run(b, r.Key)
			until := e.At + p.Delay
			r.HeldFor += max(until-max(r.HeldUntil, e.At), 0) // requests of one run may wait together
			r.HeldUntil = max(until, r.HeldUntil)
			return
		}
	}
}

// controllerOfRun is the controller in whose run a request was made, or nil.
func (s *State) controllerOfRun(e *trace.Event) (found *Controller) {
	lane := e.Lane.String()
	s.controllers.all(func(_ string, c *Controller) bool {
		if c.Lane == lane && slices.ContainsFunc(c.current, func(r *ReconcileRun) bool { return r.asksFor(e) }) {
			found = c
		}
		return found == nil
	})
	return found
}

// asksFor reports whether a request belongs to the run, by what caused it.
func (r *ReconcileRun) asksFor(e *trace.Event) bool {
	return slices.ContainsFunc(e.Causes, func(id trace.ID) bool {
		return id == r.Start || slices.ContainsFunc(r.Actions, func(a ActionTaken) bool { return a.Event == id })
	})
}

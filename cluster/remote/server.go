// Package remote is a server that the API server calls over HTTPS: an admission
// webhook, an authorizer, an identity provider. It runs as a process of the
// simulation, so it can be down, slow, and die during a request.
//
// Simplified: requests go from task to task, with a path and a body and a few
// headers' worth of meaning, instead of over TLS; certificates are not checked. One
// process is one server, which takes any number of requests at once. Start reading
// at [Server.Send].
package remote

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simplified,
	What: "calls to external servers go from task to task, with a path, a body and the headers that matter, instead of over TLS; certificates are not checked",
})

// Request is what a server is asked.
type Request struct {
	Method string // GET, POST
	Path   string
	Query  url.Values  // of those that have one
	Header http.Header // what matters of it; nil for most
	Body   []byte
	Shows  [][]byte // the client's certificates, in DER; of those that have one
}

// Answer is what it answers.
type Answer struct {
	Code   int         // HTTP status
	Header http.Header // what matters of it; nil for most
	Body   []byte
	Shows  [][]byte // the server's certificates, in DER; nil where nobody looks at them
	Event  trace.ID // that tells of it
}

// Server is one server. Its methods may be called only on the kernel's goroutine.
type Server struct {
	Latency time.Duration // it takes for a request
	Handle  func(*sim.Task, *Request) Answer

	p     *sim.Process
	calls *sim.Mailbox[*Call]
	slow  sim.Delay
}

// Start serves as process p, until that is killed.
func (s *Server) Start(p *sim.Process) {
	s.p, s.calls = p, &sim.Mailbox[*Call]{}
	calls := s.calls
	p.Go("serve", func(t *sim.Task) {
		for {
			c, ok := calls.Recv(t)
			if !ok {
				return
			}
			p.Go("request", func(t *sim.Task) { // a slow one does not hold up the next
				t.SetCauses(c.causes...)
				t.Sleep(s.Latency)
				s.slow.Pass(t)
				if !c.over { // somebody still waits for it; where it panics the connection breaks (net/http conn.serve)
					_ = t.HandleCrashOn(trace.Ref{}, c.req.Method+" "+c.req.Path, func() { c.end(s.Handle(t, &c.req), nil) })
				}
			}).OnEnd(func() { c.end(Answer{}, io.EOF) })
		}
	}).OnEnd(func() {
		for calls.Len() > 0 {
			c, _ := calls.TryRecv()
			c.end(Answer{}, io.EOF)
		}
	})
}

// Slow adds d to every request.
func (s *Server) Slow(d time.Duration) { s.slow.Set(d) }

// Started reports whether the server has ever run.
func (s *Server) Started() bool { return s.p != nil }

// Up reports whether its process runs.
func (s *Server) Up() bool { return s.p != nil && s.p.Alive() }

// Call is a request on its way to a server and back.
type Call struct {
	req    Request
	causes []trace.ID
	over   bool
	answer Answer
	err    error
	wait   sim.Cond
}

// Send sends a request; nil if nobody listens.
func (s *Server) Send(t *sim.Task, r Request) *Call {
	if !s.Up() {
		return nil
	}
	c := &Call{req: r, causes: t.Causes()}
	s.calls.Send(c)
	return c
}

// Wait waits for the answer, until a moment of virtual time. The error is that of
// Go's HTTP client.
func (c *Call) Wait(t *sim.Task, deadline time.Duration) (body []byte, code int, err error) {
	for !c.over {
		left := deadline - t.Elapsed()
		if left <= 0 {
			c.end(Answer{}, context.DeadlineExceeded)
			break
		}
		c.wait.WaitTimeout(t, left)
	}
	return c.answer.Body, c.answer.Code, c.err
}

// Header is what matters of the answer's header; nil for most.
func (c *Call) Header() http.Header { return c.answer.Header }

// Answered is the event of the server's answer; zero if there was none.
func (c *Call) Answered() trace.ID { return c.answer.Event }

func (c *Call) end(a Answer, err error) {
	if c.over {
		return
	}
	c.over, c.answer, c.err = true, a, err
	c.wait.Broadcast()
}

package remote

import "kviz/cluster/sim"

// Connection is one to a port where a program listens.
type Connection interface {
	// TLS reports whether the program speaks HTTPS.
	TLS() bool
	// Serve has it answer a request. An error is that of a connection which broke.
	Serve(t *sim.Task, r *Request) (Answer, error)
}

// DialError is a connection that did not come about.
type DialError struct {
	TimedOut bool
	Reason   string // of one that did not time out: "connection refused"
}

func (e *DialError) Error() string {
	if e.TimedOut {
		return "i/o timeout"
	}
	return "connect: " + e.Reason
}

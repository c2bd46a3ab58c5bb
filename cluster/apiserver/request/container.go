package request

import (
	"net/url"

	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/stdio"
)

// LogStream is a container's log on its way to the client.
type LogStream interface {
	// Next gives more of it, and whether there may be more after that, for which it
	// may have to be waited.
	Next(t *sim.Task) (b []byte, more bool)
	// Close ends a Next that waits.
	Close()
}

// Session is a connection to a container that the pipeline has allowed: it begins when the
// client's connection has been upgraded.
type Session struct {
	Stdin, Stdout, Stderr, TTY bool // which streams the client asked for
	// Run runs a command, or stays attached, and gives the exit code.
	Run func(t *sim.Task, streams *stdio.Streams) (code int, err error)
}

// Ports leads to the ports of a pod.
type Ports struct {
	Pod, UID string
	Dial     func(t *sim.Task, port int) (remote.Connection, error)
}

// Proxy leads to a program in a pod that answers HTTP.
type Proxy struct {
	Location *url.URL
	// Send sends a request there. Errors are those of Go's HTTP client.
	Send func(t *sim.Task, r *remote.Request) (remote.Answer, error)
}

package request

import (
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/sim"
)

// LogStream is a container's log on its way to the client.
type LogStream interface {
	// Next gives more of it, and whether there may be more after that, for which it
	// may have to be waited.
	Next(t *sim.Task) (b []byte, more bool)
	// Close ends a Next that waits.
	Close()
}

// ExecResult is how a command in a container ended.
type ExecResult struct {
	Stdout, Stderr string
	Code           int
}

// Session is a connection to a container that the pipeline has allowed: the command is
// run when the client's connection has been upgraded.
type Session struct {
	Options *corev1.PodExecOptions
	// Run runs a command: that of the options, or a line that was typed into it. stdin
	// is asked, once, when the command reads its input, and may wait; nil for none.
	Run func(t *sim.Task, argv []string, stdin func(*sim.Task) string) (ExecResult, error)
}

package handlers

import (
	"kviz/cluster/apiserver/request"
	"kviz/cluster/sim"
)

// followedLog is a log that is followed through a server: it ends when the server does.
type followedLog struct {
	request.LogStream
	closed bool
	over   sim.Cond
}

// follow ends the log when the server's process ends.
func (h *Handlers) follow(log request.LogStream) request.LogStream {
	f := &followedLog{LogStream: log}
	h.Process.Go("log", func(t *sim.Task) {
		for !f.closed {
			f.over.Wait(t)
		}
	}).OnEnd(log.Close)
	return f
}

// Close is [request.LogStream].
func (f *followedLog) Close() {
	f.closed = true
	f.over.Broadcast()
	f.LogStream.Close()
}

package apiserver

import "kviz/cluster/sim"

// heldLog is a log that is followed through a server: it ends when the server does.
type heldLog struct {
	LogStream
	closed bool
	over   sim.Cond
}

func (s *Server) hold(log LogStream) LogStream {
	h := &heldLog{LogStream: log}
	s.p.Go("log", func(t *sim.Task) {
		for !h.closed {
			h.over.Wait(t)
		}
	}).OnEnd(log.Close)
	return h
}

// Close is LogStream.
func (h *heldLog) Close() {
	h.closed = true
	h.over.Broadcast()
	h.LogStream.Close()
}

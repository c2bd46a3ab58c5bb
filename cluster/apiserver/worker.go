package apiserver

import (
	"strconv"

	"kviz/cluster/apiserver/request"

	"kviz/cluster/sim"
)

// job is a request that waits for its answer.
type job struct {
	req  *request.Request
	resp *request.Response // nil if the server died
	over bool
	wait sim.Cond
}

func (j *job) end() {
	j.over = true
	j.wait.Broadcast()
}

// worker is a task of the server that serves one request after another: the
// goroutine that net/http gives each request, reused because its stack has
// grown to what a request needs.
type worker struct {
	job  *job
	wake sim.Cond
}

// idleWorkers is how many workers are kept for the next request.
const idleWorkers = 64

// workers are those of a server.
type workers struct {
	idle  []*worker
	begun int // ever
}

// dispatch has a worker serve the job.
func (s *Server) dispatch(j *job) {
	if n := len(s.workers.idle); n > 0 {
		w := s.workers.idle[n-1]
		s.workers.idle = s.workers.idle[:n-1]
		w.job = j
		w.wake.Signal()
		return
	}
	w := &worker{job: j}
	s.workers.begun++
	task := s.p.Go("request-"+strconv.Itoa(s.workers.begun), func(t *sim.Task) { s.work(t, w) })
	task.OnEnd(func() {
		if w.job != nil { // the server was killed meanwhile
			w.job.end()
		}
	})
}

func (s *Server) work(t *sim.Task, w *worker) {
	for {
		t.SetCauses()
		j := w.job
		j.resp = s.serve(t, j.req)
		w.job = nil
		j.end()
		if len(s.workers.idle) >= idleWorkers {
			return
		}
		s.workers.idle = append(s.workers.idle, w)
		w.wake.Wait(t)
	}
}

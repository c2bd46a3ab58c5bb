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

// end gives the answer. The first one counts: a request whose time is over is answered
// before its worker gets there.
func (j *job) end(resp *request.Response) {
	if j.over {
		return
	}
	j.resp, j.over = resp, true
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
	serve func(t *sim.Task, req *request.Request, early func(*request.Response)) *request.Response
	idle  []*worker
	begun int // ever
}

// dispatch has a worker, a task of the server's process, serve the job.
func (ws *workers) dispatch(p *sim.Process, j *job) {
	if n := len(ws.idle); n > 0 {
		w := ws.idle[n-1]
		ws.idle = ws.idle[:n-1]
		w.job = j
		w.wake.Signal()
		return
	}
	w := &worker{job: j}
	ws.begun++
	task := p.Go("request-"+strconv.Itoa(ws.begun), func(t *sim.Task) { ws.work(t, w) })
	task.OnEnd(func() {
		if w.job != nil { // the server was killed meanwhile
			w.job.end(nil)
		}
	})
}

func (ws *workers) work(t *sim.Task, w *worker) {
	for {
		t.SetCauses()
		j := w.job
		resp := ws.serve(t, j.req, j.end)
		w.job = nil
		j.end(resp)
		if len(ws.idle) >= idleWorkers {
			return
		}
		ws.idle = append(ws.idle, w)
		w.wake.Wait(t)
	}
}

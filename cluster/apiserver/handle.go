package apiserver

import (
	"fmt"
	"time"

	"kviz/cluster/apiserver/request"

	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// Handle runs a request through the pipeline as a task of the server's
// process, on behalf of task t, and gives the answer. If the server is down or
// dies meanwhile, the answer's Err wraps [client.ErrUnreachable]. Called from a
// task of the server's own process, it runs in that task.
//
// Besides the verbs of objects it takes those of the subresources that are connections
// (handlers/connect.go): log, exec, attach and portforward lead to the pod's kubelet, proxy
// to a program in a pod.
func (s *Server) Handle(t *sim.Task, req *request.Request) *request.Response {
	if req.Causes == nil {
		req.Causes = t.Causes()
	}
	if t.Process() == s.p && s.Ready() {
		return s.serve(t, req)
	}
	if !s.Ready() {
		t.Sleep(refusedAfter)
		return &request.Response{Err: unreachable(req, "connect")}
	}
	j := &job{req: req}
	s.workers.dispatch(s.p, j)
	for !j.over {
		j.wait.Wait(t)
	}
	if j.resp == nil {
		return &request.Response{Err: unreachable(req, "read")}
	}
	return j.resp
}

// refusedAfter is how long it takes to hear that nobody listens.
const refusedAfter = 200 * time.Microsecond

func unreachable(req *request.Request, op string) error {
	return fmt.Errorf("%s %s: %s the API server: %w", req.Verb, req.URL(), op, client.ErrUnreachable)
}

package flowcontrol

import (
	"fmt"
	"slices"

	"kviz/cluster/apiserver/request"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Handler takes requests to a server.
type Handler interface {
	Handle(t *sim.Task, req *request.Request) *request.Response
}

// Storm has n clients of a user ask for the same list at once, in the caller's
// task: what a program does that was written without care. It tells how many were
// answered, and how many got 429.
func Storm(t *sim.Task, h Handler, req *request.Request, n int) (answered, rejected int) {
	left := n
	var done sim.Cond
	p := t.Process()
	causes := slices.Clone(t.Causes())
	for i := range n {
		r := *req
		r.Causes = causes
		task := p.Go(fmt.Sprintf("storm-%d", i), func(t *sim.Task) {
			t.SetCauses(causes...)
			if resp := h.Handle(t, &r); resp.Stage == trace.StageFairness {
				rejected++
			} else {
				answered++
			}
		})
		task.OnEnd(func() {
			left--
			done.Broadcast()
		})
	}
	for left > 0 {
		done.Wait(t)
	}
	return answered, rejected
}

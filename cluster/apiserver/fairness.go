package apiserver

import (
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kviz/cluster/apiserver/fairness"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// longestWait is how long the request may wait in its queue: a quarter of the time that
// it has, or of kube-apiserver's --request-timeout if it may last
// (server/filters/priority-and-fairness.go getRequestWaitContext).
func (c *call) longestWait() time.Duration {
	limit := request.Longest
	if until := c.Task.Deadline(); until != 0 {
		limit = until - c.Began
	}
	return limit / 4
}

// priorityAndFairness is API priority and fairness: a request that finds its priority
// level's seats taken waits in a queue of its flow, or is rejected (apiserver
// pkg/server/filters/priority-and-fairness.go).
func (c *call) priorityAndFairness() error {
	const stage = trace.StageFairness
	switch {
	case c.Req.Part:
		c.Pass(stage, "", "It is a part of a request that has its seat.", nil)
		return nil
	case c.connects():
		c.Pass(stage, "", "A connection to a container may stay open for long, so it takes no seat.", nil)
		return nil
	}
	d := *c.Digest()
	sch := c.s.flows.Match(&d)
	c.schema, c.class = sch, sch.Class()
	c.seat.Owner, c.seat.Watch = c, c.Req.Verb == "watch"
	taken := c.s.flows.Start(c.Task.Elapsed(), sch, &d, &c.seat, c.work(sch))
	c.s.flows.TellAdjusted()
	if !taken {
		outcome := "queue-full"
		if sch.Level.State().Queues == 0 {
			outcome = "concurrency-limit"
		}
		return c.reject(c.flow(&d, outcome))
	}
	if !c.seat.Waits() {
		c.Pass(stage, sch.By, sch.Free, nil)
		return nil
	}
	return c.awaitSeat(&d)
}

// awaitSeat waits in the queue.
func (c *call) awaitSeat(d *fairness.Digest) error {
	var turn sim.Cond
	c.seat.Wake = turn.Signal
	c.Last = c.Task.Emit(trace.Event{Kind: trace.FlowQueued, Object: c.Ref, Causes: c.Because(), Payload: c.flow(d, "")})
	c.s.flows.Pressed(c.Last)
	for c.seat.Waits() {
		left := c.Began + c.longestWait() - c.Task.Elapsed()
		if left > 0 {
			turn.WaitTimeout(c.Task, left)
			continue
		}
		if !c.seat.Leave(c.Task.Elapsed()) {
			break
		}
		return c.reject(c.flow(d, "time-out"))
	}
	f := c.flow(d, "served")
	st := c.NewStage()
	*st = trace.Stage{
		Request: c.Number, Stage: trace.StageFairness, By: c.schema.By, Verdict: "pass", Flow: f,
		Note: fmt.Sprintf("Waited %v in queue %d of priority level %s, which has %s.", f.Waited, f.Queue, f.Level, seatsOf(f)),
	}
	c.Tell(st)
	return nil
}

// reject rejects the request with 429.
func (c *call) reject(f *trace.FlowWait) error {
	after := c.schema.Level.Drop(c.Task.Now())
	err := apierrors.NewTooManyRequests("Too many requests, please try again later.", after)
	note := map[string]string{
		"queue-full":        fmt.Sprintf("the seats are taken and the queues of its flow are full: %d requests wait", f.Waiting),
		"concurrency-limit": "the seats are taken, and the level has no queues",
		"time-out":          fmt.Sprintf("it waited %v in queue %d for a seat", f.Waited, f.Queue),
	}[f.Outcome]
	c.Refused = trace.StageFairness
	c.Tell(&trace.Stage{
		Request: c.Number, Stage: trace.StageFairness, By: c.schema.By, Verdict: "refuse", Code: 429, Flow: f,
		Note: fmt.Sprintf("Priority level %s turns it down: %s. It has %s. Its sender may try again in %d s.", f.Level, note, seatsOf(f), after),
	})
	c.s.flows.Pressed(c.Last)
	return err
}

// seatsOf is how many seats a request's level has, and where they are from.
func seatsOf(f *trace.FlowWait) string {
	has := request.Count(f.Limit, "seat", "seats")
	switch {
	case f.Limit > f.Nominal:
		return fmt.Sprintf("%s, %d of them borrowed", has, f.Limit-f.Nominal)
	case f.Limit < f.Nominal:
		return fmt.Sprintf("%s, as %d of its %d are there for others to borrow", has, f.Nominal-f.Limit, f.Nominal)
	}
	return has
}

// flow is the request and its level as they are now, for the trace.
func (c *call) flow(d *fairness.Digest, outcome string) *trace.FlowWait {
	l, work := c.schema.Level.State(), c.seat.Work()
	f := &trace.FlowWait{
		Request: c.Number, Schema: c.schema.Name, Level: l.Level, Flow: c.schema.Flow(d), Queue: c.seat.Queue(), Seats: max(1, work.Width()),
		Limit: l.Limit, Nominal: l.Nominal, InUse: l.InUse, Waiting: l.Waiting, Ahead: c.seat.Ahead(), Outcome: outcome,
	}
	if f.Queue >= 0 {
		f.Waited = c.Task.Elapsed() - c.seat.Came()
	}
	return f
}

// Storm has n clients of a user ask for the same list at once, in the caller's
// task: what a program does that was written without care. It tells how many were
// answered, and how many got 429.
func Storm(t *sim.Task, door Door, req *Request, n int) (answered, rejected int) {
	left := n
	var done sim.Cond
	p := t.Process()
	causes := slices.Clone(t.Causes())
	for i := range n {
		r := *req
		r.Causes = causes
		task := p.Go(fmt.Sprintf("storm-%d", i), func(t *sim.Task) {
			t.SetCauses(causes...)
			if resp := door.Handle(t, &r); resp.Stage == trace.StageFairness {
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

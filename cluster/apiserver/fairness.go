package apiserver

import (
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/apiserver/fairness"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// startFairness begins with the levels and schemas of a new cluster: a part of
// the server's start. Seats that are taken are forgotten with the process.
func (s *Server) startFairness() {
	total := fairness.DefaultConcurrency
	if s.flows != nil {
		total = s.flows.Total()
	}
	rand := s.k.Rand("flowcontrol")
	s.flows = fairness.New(total, func() types.UID { return drawUID(rand) })
}

// FlowLevels tells how each priority level stands, by name.
func (s *Server) FlowLevels() []fairness.State { return s.flows.Levels() }

// Concurrency is how many requests the server serves at once.
func (s *Server) Concurrency() int { return s.flows.Total() }

// SetConcurrency shares another number of seats out: kube-apiserver's
// --max-requests-inflight and --max-mutating-requests-inflight, which there take a
// new start.
func (s *Server) SetConcurrency(t *sim.Task, total int) error {
	if total < 1 || total > mostSeats {
		return fmt.Errorf("%d: the API server serves 1 to %d requests at once", total, mostSeats)
	}
	s.flows.Resize(t.Elapsed(), total)
	limits := &trace.FlowLimits{Total: total}
	for _, l := range s.flows.Levels() {
		if !l.Exempt {
			limits.Levels = append(limits.Levels, trace.FlowLimit{Level: l.Level, Limit: l.Limit, Queues: l.Queues})
		}
	}
	t.Emit(trace.Event{Kind: trace.FlowConfig, Lane: s.p.Lane, Payload: limits})
	return nil
}

const mostSeats = 1_000_000

// longestWait is how long a request may wait in its queue: a quarter of
// kube-apiserver's --request-timeout (server/filters/priority-and-fairness.go
// getRequestWaitContext).
const longestWait = 15 * time.Second

// queueFairly is API priority and fairness: a request that finds its priority
// level's seats taken waits in a queue of its flow, or is rejected (apiserver
// pkg/server/filters/priority-and-fairness.go).
func queueFairly(c *call) error {
	const stage = trace.StageFairness
	switch {
	case c.req.approved:
		c.pass(stage, "", "It is a part of a request that has its seat.", nil)
		return nil
	case c.req.Subresource != "" && connects[c.req.Subresource]:
		c.pass(stage, "", "A connection to a container may stay open for long, so it takes no seat.", nil)
		return nil
	}
	d := fairness.Digest{
		User: c.user.Name, Groups: c.user.Groups, Verb: c.req.Verb,
		Group: c.req.Resource.Group, Resource: c.req.Resource.Resource, Subresource: c.req.Subresource, Namespace: c.req.Namespace,
	}
	sch := c.s.flows.Match(&d)
	c.schema = sch
	if !c.s.flows.Start(c.t.Elapsed(), sch, &d, &c.seat, c.seats(sch)) {
		outcome := "queue-full"
		if sch.Level.State().Queues == 0 {
			outcome = "concurrency-limit"
		}
		return c.crowdedOut(c.flow(&d, outcome))
	}
	if !c.seat.Waits() {
		c.pass(stage, sch.By, sch.Free, nil)
		return nil
	}
	return c.awaitSeat(&d)
}

// awaitSeat waits in the queue.
func (c *call) awaitSeat(d *fairness.Digest) error {
	var turn sim.Cond
	c.seat.Wake = turn.Signal
	c.last = c.t.Emit(trace.Event{Kind: trace.FlowQueued, Object: c.ref, Causes: c.because(), Payload: c.flow(d, "")})
	for c.seat.Waits() {
		left := c.began + longestWait - c.t.Elapsed()
		if left > 0 {
			turn.WaitTimeout(c.t, left)
			continue
		}
		c.seat.Leave(c.t.Elapsed())
		return c.crowdedOut(c.flow(d, "time-out"))
	}
	f := c.flow(d, "served")
	st := c.newStage()
	*st = trace.Stage{
		Request: c.n, Stage: trace.StageFairness, By: c.schema.By, Verdict: "pass", Flow: f,
		Note: fmt.Sprintf("Waited %v in queue %d of priority level %s, which has %s.", f.Waited, f.Queue, f.Level, plural(f.Limit, "seat", "seats")),
	}
	c.stage(st)
	return nil
}

// crowdedOut rejects the request with 429.
func (c *call) crowdedOut(f *trace.FlowWait) error {
	after := c.schema.Level.Drop(c.t.Now())
	err := apierrors.NewTooManyRequests("Too many requests, please try again later.", after)
	note := map[string]string{
		"queue-full":        fmt.Sprintf("the seats are taken and the queues of its flow are full: %d requests wait", f.Waiting),
		"concurrency-limit": "the seats are taken, and the level has no queues",
		"time-out":          fmt.Sprintf("it waited %v in queue %d for a seat", f.Waited, f.Queue),
	}[f.Outcome]
	c.refused = trace.StageFairness
	c.stage(&trace.Stage{
		Request: c.n, Stage: trace.StageFairness, By: c.schema.By, Verdict: "refuse", Code: 429, Flow: f,
		Note: fmt.Sprintf("Priority level %s turns it down: %s. Its sender may try again in %d s.", f.Level, note, after),
	})
	return err
}

// flow is the request and its level as they are now, for the trace.
func (c *call) flow(d *fairness.Digest, outcome string) *trace.FlowWait {
	l := c.schema.Level.State()
	f := &trace.FlowWait{
		Request: c.n, Schema: c.schema.Name, Level: l.Level, Flow: c.schema.Flow(d), Queue: c.seat.Queue(), Seats: c.seat.Seats(),
		Limit: l.Limit, InUse: l.InUse, Waiting: l.Waiting, Ahead: c.seat.Ahead(), Outcome: outcome,
	}
	if f.Queue >= 0 {
		f.Waited = c.t.Elapsed() - c.seat.Came()
	}
	return f
}

// seats is how many the request takes: a list more than others, one for each
// hundred objects (request/list_work_estimator.go seatsBasedOnObjectCount).
func (c *call) seats(sch *fairness.Schema) int {
	list := &c.req.List
	if c.req.Verb != "list" && c.req.Verb != "watch" || c.kind == nil || !c.kind.Stored() {
		return 1
	}
	begins := list.ResourceVersion == "" || list.ResourceVersion == "0" || list.SendInitialEvents != nil && *list.SendInitialEvents
	if c.req.Verb == "watch" && !begins || c.req.Name != "" {
		return 1
	}
	cache := c.s.caches[c.kind]
	if c.kind.custom != nil {
		cache = c.kind.custom.cache
	}
	if cache == nil || cache.items.Len() <= objectsPerSeat {
		return 1
	}
	n := cache.items.Len()
	if c.req.Verb == "list" && (list.Continue != "" || list.Limit > 0 && list.ResourceVersion != "0") { // from the store
		most := n
		if list.Limit > 0 {
			most = min(most, int(list.Limit))
		}
		if list.LabelSelector != "" || list.FieldSelector != "" {
			n += most
		} else {
			n = 2 * most
		}
	}
	return min((n+objectsPerSeat-1)/objectsPerSeat, sch.Level.MaxSeats())
}

const objectsPerSeat = 100

// Storm has n clients of a user ask for the same list at once, in the caller's
// task: what a program does that was written without care. It tells how many were
// answered, and how many got 429.
func (s *Server) Storm(t *sim.Task, req *Request, n int) (answered, rejected int) {
	left := n
	var done sim.Cond
	p := t.Process()
	causes := slices.Clone(t.Causes())
	for i := range n {
		r := *req
		r.Causes = causes
		task := p.Go(fmt.Sprintf("storm-%d", i), func(t *sim.Task) {
			t.SetCauses(causes...)
			if resp := s.Handle(t, &r); resp.Stage == trace.StageFairness {
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

package apiserver

import (
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/apiserver/fairness"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// seating is priority and fairness as one process has it.
type seating struct {
	*fairness.Controller
	alarm time.Duration // when those who wait are looked after; 0 where that is not planned
	// told are the levels' limits as the trace knows them: since requests have begun
	// to wait, or a person has changed them; nil before.
	told    []fairness.State
	pressed trace.ID // the newest request that found no seat
}

// startFairness begins with the levels and schemas of a new cluster: a part of
// the server's start. Seats that are taken are forgotten with the process.
func (s *Server) startFairness() {
	total := fairness.DefaultConcurrency
	if s.flows != nil {
		total = s.flows.Total()
	}
	rand := s.k.Rand("flowcontrol")
	s.flows = &seating{Controller: fairness.New(s.k.Elapsed(), total, func() types.UID { return object.NewUID(rand) })}
}

// FlowLevels tells how each priority level stands, by name.
func (s *Server) FlowLevels() []fairness.State { return s.flows.Levels(s.k.Elapsed()) }

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
	s.tellLevels(trace.FlowByPerson, t.Causes())
	s.lookAfterFlows()
	return nil
}

const mostSeats = 1_000_000

// tellLevels emits how many seats each level has now.
func (s *Server) tellLevels(why string, causes []trace.ID) {
	s.flows.told = s.flows.Levels(s.k.Elapsed())
	limits := &trace.FlowLimits{Total: s.flows.Total(), Why: why}
	for _, l := range s.flows.told {
		if !l.Exempt {
			limits.Levels = append(limits.Levels, trace.FlowLimit{
				Level: l.Level, Limit: l.Limit, Queues: l.Queues, Nominal: l.Nominal, Min: l.Min, Max: l.Max, Wanted: l.Demand.High,
			})
		}
	}
	s.k.Emit(trace.Event{Kind: trace.FlowConfig, Lane: s.p.Lane, Causes: causesOf(causes), Payload: limits})
}

// tellAdjusted tells of limits that have been adjusted to what is wanted, if
// requests have had to wait and a limit has changed by a twentieth: what upstream
// logs.
func (s *Server) tellAdjusted() {
	if !s.flows.Moved() || s.flows.told == nil {
		return
	}
	was := map[string]int{}
	for _, l := range s.flows.told {
		was[l.Level] = l.Limit
	}
	for _, l := range s.flows.Levels(s.k.Elapsed()) {
		if now, before := l.Limit, was[l.Level]; 20*max(now-before, before-now) >= max(now, before, 1) && !l.Exempt {
			s.tellLevels(trace.FlowByDemand, []trace.ID{s.flows.pressed})
			return
		}
	}
}

// pressed notes that a request found no seat.
func (s *Server) pressed(id trace.ID) {
	s.flows.pressed = id
	if s.flows.told == nil {
		s.flows.told = s.flows.Levels(s.k.Elapsed())
	}
	s.lookAfterFlows()
}

// lookAfterFlows plans to look again when those who wait may get seats though no
// request ends: because a limit is adjusted, or seats kept for watchers are free.
// Where nobody waits there is nothing to plan.
func (s *Server) lookAfterFlows() {
	f, p := s.flows, s.p
	now := s.k.Elapsed()
	next, any := f.Await(now)
	if !any || f.alarm != 0 && f.alarm <= next {
		return
	}
	f.alarm = next
	s.k.After(next-now, func() {
		if f.alarm != next || f != s.flows || !p.Alive() {
			return
		}
		f.alarm = 0
		s.lookAfterFlows()
		s.tellAdjusted()
	})
}

// longestWait is how long a request may wait in its queue: a quarter of
// kube-apiserver's --request-timeout (server/filters/priority-and-fairness.go
// getRequestWaitContext).
const longestWait = 15 * time.Second

// queueFairly is API priority and fairness: a request that finds its priority
// level's seats taken waits in a queue of its flow, or is rejected (apiserver
// pkg/server/filters/priority-and-fairness.go).
func (c *call) queueFairly() error {
	const stage = trace.StageFairness
	switch {
	case c.req.approved:
		c.Pass(stage, "", "It is a part of a request that has its seat.", nil)
		return nil
	case c.req.Subresource != "" && connects[c.req.Subresource]:
		c.Pass(stage, "", "A connection to a container may stay open for long, so it takes no seat.", nil)
		return nil
	}
	d := *c.Digest()
	sch := c.s.flows.Match(&d)
	c.schema, c.class = sch, sch.Class()
	c.seat.Owner, c.seat.Watch = c, c.req.Verb == "watch"
	taken := c.s.flows.Start(c.Task.Elapsed(), sch, &d, &c.seat, c.work(sch))
	c.s.tellAdjusted()
	if !taken {
		outcome := "queue-full"
		if sch.Level.State().Queues == 0 {
			outcome = "concurrency-limit"
		}
		return c.crowdedOut(c.flow(&d, outcome))
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
	c.s.pressed(c.Last)
	for c.seat.Waits() {
		left := c.Began + longestWait - c.Task.Elapsed()
		if left > 0 {
			turn.WaitTimeout(c.Task, left)
			continue
		}
		if !c.seat.Leave(c.Task.Elapsed()) {
			break
		}
		return c.crowdedOut(c.flow(d, "time-out"))
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

// crowdedOut rejects the request with 429.
func (c *call) crowdedOut(f *trace.FlowWait) error {
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
	c.s.pressed(c.Last)
	return err
}

// seatsOf is how many seats a request's level has, and where they are from.
func seatsOf(f *trace.FlowWait) string {
	has := plural(f.Limit, "seat", "seats")
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

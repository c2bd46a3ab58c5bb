// Package flowcontrol is API priority and fairness as part of the API server: the filter
// that makes a request wait for its seats or rejects it (apiserver
// pkg/server/filters/priority-and-fairness.go), how many seats a request is thought to take
// (pkg/util/flowcontrol/request), and the two controllers of the objects FlowSchema and
// PriorityLevelConfiguration. The seats and queues themselves, which know nothing of
// requests and objects, are in cluster/apiserver/fairness. Start reading at [Turn.Take].
package flowcontrol

import (
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/fairness"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Caches are the server's watch caches.
type Caches interface {
	// OfResource is the cache of a kind, which starts to fill when it is first requested.
	OfResource(r client.Resource) *cacher.Cache
	// Opened is the cache of a kind if it is open, else nil.
	Opened(k *registry.Kind) *cacher.Cache
}

// Filter is what each request passes.
type Filter struct {
	Seats  *fairness.Seats
	Caches Caches
}

// Turn is a request's: its seats, while it is served, and what they are of.
type Turn struct {
	*request.Scope
	req   *request.Request
	user  authn.User
	seats *fairness.Seats

	seat   fairness.Seat
	schema *fairness.Schema
	class  fairness.Class
}

// Class is the request's; zero where it was not asked.
func (t *Turn) Class() fairness.Class { return t.class }

// Finish gives the seats back, where there are any.
func (t *Turn) Finish(now time.Duration) { t.seat.Finish(now) }

// longestWait is how long the request may wait in its queue: a quarter of the time that
// it has, or of kube-apiserver's --request-timeout if it may last
// (server/filters/priority-and-fairness.go getRequestWaitContext).
func (t *Turn) longestWait() time.Duration {
	limit := request.Longest
	if until := t.Task.Deadline(); until != 0 {
		limit = until - t.Began
	}
	return limit / waitShare
}

// waitShare is the part of a request's time, a quarter, that it may wait.
const waitShare = 4

// Take has a request that finds its priority level's seats taken wait in a queue of its flow,
// or rejects it. kind is nil for what is not served; lasts says that it is a connection, which may stay open for long.
func (f *Filter) Take(t *Turn, scope *request.Scope, req *request.Request, kind *registry.Kind, user authn.User, lasts bool) error {
	t.Scope, t.req, t.user, t.seats = scope, req, user, f.Seats
	const stage = trace.StageFairness
	switch {
	case req.Part:
		t.Pass(stage, "", "It is a part of a request that has its seat.", nil)
		return nil
	case lasts:
		t.Pass(stage, "", "A connection to a container may stay open for long, so it takes no seat.", nil)
		return nil
	}
	d := *t.Digest()
	sch := f.Seats.Match(&d)
	t.schema, t.class = sch, sch.Class()
	t.seat.Owner, t.seat.Watch = t, req.Verb == "watch"
	taken := f.Seats.Start(t.Task.Elapsed(), sch, &d, &t.seat, f.Work(req, kind, sch))
	f.Seats.TellAdjusted()
	if !taken {
		outcome := "queue-full"
		if sch.Level.State().Queues == 0 {
			outcome = "concurrency-limit"
		}
		return t.reject(t.flow(&d, outcome))
	}
	if !t.seat.Waits() {
		t.Pass(stage, sch.By, sch.Free, nil)
		return nil
	}
	return t.awaitSeat(&d)
}

// awaitSeat waits in the queue.
func (t *Turn) awaitSeat(d *fairness.Digest) error {
	var turn sim.Cond
	t.seat.Wake = turn.Signal
	t.Last = t.Task.Emit(trace.Event{Kind: trace.FlowQueued, Object: t.Ref, Causes: t.Because(), Payload: t.flow(d, "")})
	t.seats.Pressed(t.Last)
	for t.seat.Waits() {
		left := t.Began + t.longestWait() - t.Task.Elapsed()
		if left > 0 {
			turn.WaitTimeout(t.Task, left)
			continue
		}
		if !t.seat.Leave(t.Task.Elapsed()) {
			break
		}
		return t.reject(t.flow(d, "time-out"))
	}
	f := t.flow(d, "served")
	st := t.NewStage()
	*st = trace.Stage{
		Request: t.Number, Stage: trace.StageFairness, By: t.schema.By, Verdict: "pass", Flow: f,
		Note: fmt.Sprintf("Waited %v in queue %d of priority level %s, which has %s.", f.Waited, f.Queue, f.Level, seatsOf(f)),
	}
	t.Tell(st)
	return nil
}

// reject rejects the request with 429.
func (t *Turn) reject(f *trace.FlowWait) error {
	after := t.schema.Level.Drop(t.Task.Now())
	err := apierrors.NewTooManyRequests("Too many requests, please try again later.", after)
	note := map[string]string{
		"queue-full":        fmt.Sprintf("the seats are taken and the queues of its flow are full: %d requests wait", f.Waiting),
		"concurrency-limit": "the seats are taken, and the level has no queues",
		"time-out":          fmt.Sprintf("it waited %v in queue %d for a seat", f.Waited, f.Queue),
	}[f.Outcome]
	t.Refused = trace.StageFairness
	t.Tell(&trace.Stage{
		Request: t.Number, Stage: trace.StageFairness, By: t.schema.By, Verdict: "refuse", Code: 429, Flow: f,
		Note: fmt.Sprintf("Priority level %s turns it down: %s. It has %s. Its sender may try again in %d s.", f.Level, note, seatsOf(f), after),
	})
	t.seats.Pressed(t.Last)
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
func (t *Turn) flow(d *fairness.Digest, outcome string) *trace.FlowWait {
	l, work := t.schema.Level.State(), t.seat.Work()
	f := &trace.FlowWait{
		Request: t.Number, Schema: t.schema.Name, Level: l.Level, Flow: t.schema.Flow(d), Queue: t.seat.Queue(), Seats: max(1, work.Width()),
		Limit: l.Limit, Nominal: l.Nominal, InUse: l.InUse, Waiting: l.Waiting, Ahead: t.seat.Ahead(), Outcome: outcome,
	}
	if f.Queue >= 0 {
		f.Waited = t.Task.Elapsed() - t.seat.Came()
	}
	return f
}

// Digest is what priority and fairness knows of a request.
func (t *Turn) Digest() *fairness.Digest {
	return &fairness.Digest{
		User: t.user.Name, Groups: t.user.Groups, Verb: t.req.Verb,
		Group: t.req.Resource.Group, Resource: t.req.Resource.Resource, Subresource: t.req.Subresource, Namespace: t.req.Namespace,
	}
}

// About is the rest of what dumps tell of a request.
func (t *Turn) About() (verb, path, name, apiVersion string) {
	return t.req.Verb, t.req.URL(), t.req.Name, t.req.Resource.GroupVersion().String()
}

// Package reconcile is what all controllers have in common: a work queue, the
// workers that take keys from it, and the events that tell what a controller
// decided and why.
//
// In Kubernetes every controller repeats this part (processNextWorkItem,
// handleErr); the pattern is always the same. A handler of an informer turns
// "something happened to this pod" into "look at this ReplicaSet again". A
// worker takes the key, looks at everything there is now (not at what happened),
// takes at most one step towards what is wanted, and forgets. Because it looks
// at levels and not at edges, it does not matter which events were merged, lost
// or seen twice.
//
// Start reading at [Loop].
package reconcile

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/client"
	"kviz/cluster/informer"
	"kviz/cluster/record"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Env is what a controller is given: its process, its connection, and the
// informers it shares with the other controllers.
type Env struct {
	Process   *sim.Process // speaks in the controller's own lane
	Client    client.Interface
	Informers *informer.Factory
	Events    *record.Recorder
	Workers   int // of each queue
	// Around is what stands around the runs of a queue, made when the queue is; nil:
	// nothing.
	Around func(queue string, sync Sync) Sync
	// Lag is how much longer each run takes, of a Loop or not; nil: no longer.
	Lag *sim.Delay

	requests *requests // Client, which counts
	loops    []*Loop
	leaving
}

// Sync is one run of a loop: it brings what there is nearer to what is wanted for a key.
type Sync func(*Run) error

// NewEnv makes the environment of the controller name, in a child of p. source
// is the component its Events come from.
func NewEnv(p *sim.Process, name, source string, c client.Interface, informers *informer.Factory, workers int) *Env {
	child := p.Child(trace.Lane{Component: name})
	counting := newRequests(c)
	return &Env{Process: child, Client: counting, requests: counting, Informers: informers, Events: record.New(child, c, source), Workers: max(workers, 1)}
}

// Name is the controller's name.
func (e *Env) Name() string { return e.Process.Lane.Component }

// Linger lets the time pass that a run takes longer because of a fault.
func (e *Env) Linger(t *sim.Task) {
	if e.Lag != nil {
		e.Lag.Pass(t)
	}
}

// Attempt runs what the controller does about one object outside of a Loop, and reports whether it
// came to an end: a panic is in the trace and in a Warning about the object, and the others go on.
func (e *Env) Attempt(t *sim.Task, object trace.Ref, doing string, fn func()) bool {
	e.begin()
	defer e.end()
	broken := t.HandleCrashOn(object, doing, fn)
	if broken != nil && object.Name != "" {
		e.Events.EventRef(t, object, corev1.EventTypeWarning, "ControllerPanic", "%s", broken.Note(e.Name(), "controller"))
	}
	return broken == nil
}

// Act emits reconcile.action outside of a Loop: what the controller is about to
// do to target because of object, and in a full sentence why. What follows in
// the task is caused by it.
func (e *Env) Act(t *sim.Task, key string, object trace.Ref, verb string, target trace.Ref, desired, observed any, why string) {
	e.act(t, object, &trace.Action{Key: key, Verb: verb, Target: target, Why: why, Desired: text(desired), Observed: text(observed)})
}

func (e *Env) act(t *sim.Task, object trace.Ref, a *trace.Action) {
	a.Controller = e.Name()
	t.SetCauses(t.Emit(trace.Event{Lane: e.Process.Lane, Kind: trace.ReconcileAction, Object: object, Payload: a}))
}

func text(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

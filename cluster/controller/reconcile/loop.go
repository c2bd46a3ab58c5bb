package reconcile

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kviz/cluster/client"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/cluster/workqueue"
)

// Loop is one work queue of a controller and its workers.
type Loop struct {
	*workqueue.Queue[string]
	// MaxRetries is how often a failing key is tried before it is dropped;
	// 0 means for ever.
	MaxRetries int
	// Persistent has a key tried again as well when a namespace that is being deleted took nothing
	// new, as some of upstream's controllers have it.
	Persistent bool
	// RefOf names a key's object where keys are no object keys.
	RefOf func(key string) trace.Ref

	env       *Env
	resource  client.Resource
	sync      Sync
	converged map[string]string // key -> UID and generation that has converged
}

// NewLoop makes a loop whose queue is called queue and whose keys name objects
// of kind r. sync looks at one of them.
func NewLoop(env *Env, queue string, r client.Resource, sync Sync) *Loop {
	if env.Around != nil {
		sync = env.Around(queue, sync)
	}
	l := &Loop{
		Queue: workqueue.New[string](queue, env.Process.Lane, env.Process),
		env:   env, resource: r, sync: sync, converged: map[string]string{},
	}
	env.loops = append(env.loops, l)
	return l
}

// Start starts the workers; they begin when the informers have synced.
func (l *Loop) Start(informers ...*informer.Informer) {
	for n := range l.env.Workers {
		l.env.Process.Go(fmt.Sprintf("%s-worker-%d", l.Name(), n), func(t *sim.Task) {
			for _, i := range informers {
				i.WaitForSync(t)
			}
			for l.next(t) {
			}
		})
	}
}

// next takes one key and syncs it (processNextWorkItem and handleErr).
func (l *Loop) next(t *sim.Task) bool {
	key, _, quit := l.Get(t)
	if quit {
		return false
	}
	l.env.begin()
	defer l.env.end()
	run := &Run{T: t, Key: key, loop: l}
	run.Namespace, run.Name = informer.SplitKey(key)
	run.start = l.emit(t, trace.ReconcileStart, &trace.Reconcile{Controller: l.env.Name(), Key: key}, run)
	t.SetCauses(run.start)

	l.env.Informers.Reads().Begin(t)
	var err error
	if broken := t.HandleCrash(func() { l.env.Linger(t); err = l.sync(run) }); broken != nil {
		err = l.broke(t, run, broken)
	}

	end := &trace.Reconcile{Controller: l.env.Name(), Key: key, Result: "done", RequeueIn: run.again, Waits: run.waits}
	end.CacheReads = l.env.Informers.Reads().End(t)
	var wait trace.ID
	end.LiveReads, end.Writes, wait = l.env.requests.end(t)
	t.SetCauses(run.start, wait) // it ends when it does because of what it waited for
	if run.again > 0 {
		end.Result = "requeue"
	}
	if err != nil {
		end.Result, end.Error = "error", err.Error()
	}
	l.emit(t, trace.ReconcileEnd, end, run)
	switch {
	case err == nil || !l.Persistent && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		if !run.limited {
			l.Forget(key)
		}
	case l.MaxRetries == 0 || l.NumRequeues(key) < l.MaxRetries:
		l.AddRateLimited(t, key)
	default:
		l.Forget(key)
	}
	l.Done(t, key)
	t.SetCauses()
	return true
}

// broke tells of a run that panicked, and what at. The key is tried again after its back-off: other
// keys go on, and so do other controllers.
func (l *Loop) broke(t *sim.Task, run *Run, broken *sim.PanicError) error {
	t.SetCauses(run.start)
	if ref := l.ref(run); ref.Name != "" {
		l.env.Events.EventRef(t, ref, corev1.EventTypeWarning, "ControllerPanic", "%s", broken.Note(l.env.Name(), "controller"))
	}
	return errors.New(broken.Brief())
}

func (l *Loop) emit(t *sim.Task, kind trace.Kind, p *trace.Reconcile, run *Run) trace.ID {
	return t.Emit(trace.Event{Kind: kind, Object: l.ref(run), Payload: p})
}

func (l *Loop) ref(run *Run) trace.Ref {
	if l.RefOf != nil {
		return l.RefOf(run.Key)
	}
	return l.resource.Ref(run.Namespace, run.Name)
}

// Run is one run of a controller over one key.
type Run struct {
	T         *sim.Task
	Key       string
	Namespace string
	Name      string

	loop    *Loop
	start   trace.ID
	also    []trace.ID // further causes of the next action
	again   time.Duration
	limited bool
	waits   string
}

// perObject is about what a controller needs to look at one object.
const perObject = 2 * time.Microsecond

// Look lets the virtual time pass that looking at n objects takes. Without it a
// controller would be infinitely fast, and run once for each of a thousand
// changes that a real one finds merged in its queue.
func (r *Run) Look(n int) {
	if n > 0 {
		r.T.Sleep(time.Duration(n) * perObject)
	}
}

// Again asks for another run when d has passed.
func (r *Run) Again(d time.Duration) {
	if r.again == 0 || d < r.again {
		r.again = d
	}
	r.loop.AddAfter(r.T, r.Key, d, r.start)
}

// AgainLimited asks for another run after the key's back-off, without an error.
func (r *Run) AgainLimited() {
	r.limited = true
	r.loop.AddRateLimited(r.T, r.Key, r.start)
}

// Act emits reconcile.action: what the controller is about to do to target, and
// in a full sentence why. The requests that follow are caused by it.
func (r *Run) Act(verb string, target trace.Ref, desired, observed any, why string, args ...any) {
	if len(args) > 0 {
		why = fmt.Sprintf(why, args...)
	}
	r.act(&trace.Action{Verb: verb, Target: target, Why: why, Desired: text(desired), Observed: text(observed)})
}

// ActOn is [Run.Act] with the sum that the controller has done.
func (r *Run) ActOn(sum *trace.Autoscale, verb, why string) {
	r.act(&trace.Action{Verb: verb, Target: sum.Target, Why: why, Desired: text(sum.Desired), Observed: text(sum.Current), Autoscale: sum})
}

func (r *Run) act(a *trace.Action) {
	r.T.SetCauses(append([]trace.ID{r.start}, r.also...)...)
	r.also = nil
	a.Key = r.Key
	r.loop.env.act(r.T, r.loop.ref(r), a)
}

// Waits notes in a sentence, with its arithmetic, what the run leaves undone that somebody might expect,
// and why. Act says what the run does. Of several such sentences the first counts.
func (r *Run) Waits(why string, args ...any) {
	if r.waits == "" {
		r.waits = fmt.Sprintf(why, args...)
	}
}

// In is the run as another of its tasks has it (see [Env.Parallel]): what that task decides
// is told and caused there.
func (r *Run) In(t *sim.Task) *Run {
	mine := *r
	mine.T = t
	return &mine
}

// Because adds causes to the next action, beside what the run looks at.
func (r *Run) Because(why ...trace.ID) { r.also = why }

// Converged notes whether the object's status now says what its spec asks for,
// and emits object.converged when it does for the first time since it did not,
// or since its spec changed.
func (r *Run) Converged(ref trace.Ref, generation int64, now bool) {
	stamp := fmt.Sprintf("%s@%d", ref.UID, generation)
	switch {
	case !now:
		delete(r.loop.converged, r.Key)
	case r.loop.converged[r.Key] != stamp:
		r.loop.converged[r.Key] = stamp
		r.T.Emit(trace.Event{Kind: trace.Converged, Object: ref})
	}
}

// Gone forgets what is remembered of an object that no longer exists.
func (r *Run) Gone() { delete(r.loop.converged, r.Key) }

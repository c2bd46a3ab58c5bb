package flowcontrol

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	flowcontrol "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	flowbootstrap "k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/bootstrap"
	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/fairness"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Objects keeps the objects of priority and fairness in step with what they
// are for. It is upstream's two controllers: the one that puts the objects of a
// new cluster into the store, and those back that must be there (the producer,
// pkg/registry/flowcontrol/rest and ensurer), and the one that has the seats shared
// out by what is in the store, and says in a FlowSchema's status whether its level
// exists (the consumer, apiserver pkg/util/flowcontrol/apf_controller.go).
//
// Both begin when somebody first asks for one of the objects: until then the seats
// are shared out by the same objects in memory, which have their UIDs already, and
// the store has none of them.
type Objects struct {
	ObjectsConfig
	schemas, levels *cacher.Cache // nil until they are used
	there           bool          // the objects of a new cluster are in the store
	came            sim.Cond
	began           time.Duration
	changed         bool // there is something to take up
	check           bool // at due, something may have to be put back
	due             time.Duration
	why             trace.ID // the newest change
	wake            sim.Cond
}

const (
	flowProducer = "api-priority-and-fairness-config-producer-v1"
	flowConsumer = "api-priority-and-fairness-config-consumer-v1"
	// ensureEvery is how often the producer looks.
	ensureEvery = time.Minute
)

// ObjectsConfig is what the objects have of their server.
type ObjectsConfig struct {
	Process  *sim.Process
	Seats    *fairness.Seats
	Caches   Caches
	Writer   *bootstrap.Writer
	Revision func() int64 // the newest that the store has shown
	// Serve answers a request of the server to itself, which it sends as User.
	Serve func(t *sim.Task, req *request.Request) *request.Response
	User  *authn.User
	// FollowToo has the objects of the other servers begin.
	FollowToo func(why trace.ID)
}

// NewObjects are those of a server's process.
func NewObjects(cfg ObjectsConfig) *Objects { return &Objects{ObjectsConfig: cfg} }

// There reports whether the objects of a new cluster are in the store, and when that changes.
func (o *Objects) There() (there *bool, came *sim.Cond) { return &o.there, &o.came }

// Await waits until they are.
func (o *Objects) Await(t *sim.Task) {
	for !o.there {
		o.came.Wait(t)
	}
}

// Follow begins, if it has not.
func (o *Objects) Follow(why trace.ID) {
	if o.schemas != nil {
		return
	}
	o.why, o.began = why, o.Process.Kernel().Elapsed()
	o.schemas, o.levels = o.Caches.OfResource(client.FlowSchemas), o.Caches.OfResource(client.PriorityLevels)
	o.schemas.Changed, o.levels.Changed = o.hear, o.hear
	o.Process.Go("priority-and-fairness-config", o.run)
}

// hear is called with each change of one of the objects.
func (o *Objects) hear(string, runtime.Object) {
	o.why = o.Process.Kernel().Last()
	o.changed = true
	o.later(o.Process.Kernel().Elapsed())
	o.wake.Signal()
}

// later plans to look at the next whole minute after a time.
func (o *Objects) later(now time.Duration) {
	if !o.check {
		o.check, o.due = true, o.began+((now-o.began)/ensureEvery+1)*ensureEvery
	}
}

// run is a task of the server.
func (o *Objects) run(t *sim.Task) {
	o.begin(t)
	for {
		switch {
		case o.changed:
			o.attempt(t, func() { o.digest(t) })
		case !o.check:
			o.wake.Wait(t)
		case t.Elapsed() < o.due:
			o.wake.WaitTimeout(t, o.due-t.Elapsed())
		default:
			o.check = false
			failed := true
			t.SetCauses(o.why)
			if o.attempt(t, func() { failed = o.ensure(t) != nil }); failed {
				o.later(t.Elapsed())
			}
		}
	}
}

// begin puts the objects of a new cluster into a store that has none.
func (o *Objects) begin(t *sim.Task) {
	if !o.why.IsZero() {
		t.SetCauses(o.why)
	}
	o.schemas.AwaitFilled(t)
	o.levels.AwaitFilled(t)
	if o.schemas.Len() == 0 && o.levels.Len() == 0 {
		o.Writer.Write(t, o.initial())
		for _, c := range []*cacher.Cache{o.schemas, o.levels} {
			for !c.Wait(t, o.Revision(), time.Hour) {
			}
		}
	} else {
		o.later(t.Elapsed() - ensureEvery) // at once
	}
	o.there = true
	o.FollowToo(o.why)
	o.attempt(t, func() { o.digest(t) })
	o.came.Broadcast()
}

// attempt runs what is done with all the objects. Where that panics the seats stay as they are, until
// one of the objects changes.
func (o *Objects) attempt(t *sim.Task, fn func()) {
	_ = t.HandleCrashOn(trace.Ref{}, "priority and fairness", fn)
}

// initial are the objects by which the seats are shared out, as they would be
// stored if they had been since the cluster began.
func (o *Objects) initial() []bootstrap.Object {
	schemas, levels := o.Seats.Given()
	l := bootstrap.List{Now: metav1.NewTime(o.Process.Kernel().Epoch())}
	for _, pl := range levels {
		pl = pl.DeepCopy()
		pl.Generation = 1
		l.Add(client.PriorityLevels, pl)
	}
	for _, fs := range schemas {
		fs = fs.DeepCopy()
		fs.Generation = 1
		fs.Status.Conditions = []flowcontrol.FlowSchemaCondition{dangling(fs, false, l.Now)}
		l.Add(client.FlowSchemas, fs)
	}
	return l.Objects
}

func objectsOf[T runtime.Object](c *cacher.Cache) (all []T) {
	c.Scan("", func(_ string, en *cacher.Entry) bool {
		all = append(all, en.Object.(T))
		return true
	})
	return all
}

// digest takes up what is in the store, and writes into the FlowSchemas' status
// whether their levels exist (digestConfigObjects).
func (o *Objects) digest(t *sim.Task) {
	o.changed = false
	t.SetCauses(o.why)
	schemas := objectsOf[*flowcontrol.FlowSchema](o.schemas)
	before := o.Seats.Stand()
	o.Seats.Use(t.Elapsed(), o.Seats.Total(), schemas, objectsOf[*flowcontrol.PriorityLevelConfiguration](o.levels))
	if !slices.EqualFunc(before, o.Seats.Stand(), sameLevel) {
		o.Seats.TellLevels(trace.FlowByObject, t.Causes())
	}
	o.Seats.LookAfter()
	var late []*flowcontrol.FlowSchema
	for _, fs := range schemas {
		if want := dangling(fs, o.Seats.Dangling(fs), metav1.NewTime(t.Now().Truncate(time.Second))); !said(fs, want) {
			late = append(late, fs)
		}
	}
	for _, fs := range late {
		o.say(t, fs.Name, dangling(fs, o.Seats.Dangling(fs), metav1.NewTime(t.Now().Truncate(time.Second))))
	}
}

// sameLevel reports whether a level's configuration is the same.
func sameLevel(a, b fairness.State) bool {
	return a.Level == b.Level && a.Nominal == b.Nominal && a.Min == b.Min && a.Max == b.Max && a.Queues == b.Queues && a.Exempt == b.Exempt && a.Ends == b.Ends
}

// dangling is the condition that a FlowSchema should have.
func dangling(fs *flowcontrol.FlowSchema, missing bool, now metav1.Time) flowcontrol.FlowSchemaCondition {
	level := fs.Spec.PriorityLevelConfiguration.Name
	cond := flowcontrol.FlowSchemaCondition{
		Type: flowcontrol.FlowSchemaConditionDangling, Status: flowcontrol.ConditionFalse, LastTransitionTime: now, Reason: "Found",
		Message: fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q and it exists", level),
	}
	if missing {
		cond.Status, cond.Reason = flowcontrol.ConditionTrue, "NotFound"
		cond.Message = fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q but there is no such object", level)
	}
	return cond
}

func said(fs *flowcontrol.FlowSchema, want flowcontrol.FlowSchemaCondition) bool {
	return slices.ContainsFunc(fs.Status.Conditions, func(c flowcontrol.FlowSchemaCondition) bool {
		return c.Type == want.Type && c.Status == want.Status && c.Reason == want.Reason && c.Message == want.Message
	})
}

// say applies a condition to a FlowSchema. If that fails, the object has been
// deleted, or changed: then there will be another occasion.
func (o *Objects) say(t *sim.Task, name string, cond flowcontrol.FlowSchemaCondition) {
	gvk := client.FlowSchemas.GVK()
	patch, err := json.Marshal(map[string]any{
		"apiVersion": gvk.GroupVersion().String(), "kind": gvk.Kind, "metadata": map[string]any{"name": name},
		"status": map[string]any{"conditions": []flowcontrol.FlowSchemaCondition{cond}},
	})
	if err != nil {
		panic("flowcontrol: " + err.Error()) // plain data
	}
	req := o.request("patch", client.FlowSchemas, name, flowConsumer)
	req.Subresource, req.PatchType, req.Patch, req.Force = "status", types.ApplyPatchType, patch, true
	o.Serve(t, req)
}

// request is one of the server to itself.
func (o *Objects) request(verb string, r client.Resource, name, manager string) *request.Request {
	return &request.Request{
		Verb: verb, Resource: r.GroupVersionResource, Name: name,
		User: o.User, Client: manager, FieldManager: manager, System: true,
	}
}

// ensure puts mandatory objects back that were changed or deleted, and suggested
// ones that were deleted, or changed where their annotation allows it; and takes
// those away that no new cluster has any more (storage_flowcontrol.go ensure).
func (o *Objects) ensure(t *sim.Task) error {
	levels := &flowStore[*flowcontrol.PriorityLevelConfiguration]{o, t, client.PriorityLevels, o.levels}
	schemas := &flowStore[*flowcontrol.FlowSchema]{o, t, client.FlowSchemas, o.schemas}
	return ensureFlows(levels, schemas,
		flowbootstrap.SuggestedPriorityLevelConfigurations, flowbootstrap.SuggestedFlowSchemas,
		flowbootstrap.MandatoryPriorityLevelConfigurations, flowbootstrap.MandatoryFlowSchemas)
}

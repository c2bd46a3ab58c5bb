package apiserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	flowcontrol "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/fairness"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// flowObjects keeps the objects of priority and fairness in step with what they
// are for. It is upstream's two controllers: the one that puts the objects of a
// new cluster into the store, and those back that must be there (the producer,
// pkg/registry/flowcontrol/rest and ensurer), and the one that has the seats shared
// out by what is in the store, and says in a FlowSchema's status whether its level
// exists (the consumer, apiserver pkg/util/flowcontrol/apf_controller.go).
//
// Both begin when somebody first asks for one of the objects: until then the seats
// are shared out by the same objects in memory, which have their UIDs already, and
// the store has none of them.
type flowObjects struct {
	s               *Server
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

// routeFlows has the request for a FlowSchema or PriorityLevelConfiguration wait
// until there are those of a new cluster.
func (c *call) routeFlows() error {
	if c.Kind.Group != flowcontrol.GroupName || !c.Kind.Stored() {
		return nil
	}
	o := c.s.flowObjects
	o.follow(c.Last)
	return c.awaitFirst(&o.there, &o.came)
}

// awaitFirst waits until what begins with the first request for its kind is there, for
// as long as a watch cache may take to begin.
func (c *call) awaitFirst(there *bool, came *sim.Cond) error {
	for end := c.Task.Elapsed() + etcd3.TooNewWait; !*there; {
		left := end - c.Task.Elapsed()
		if left <= 0 {
			return c.Refuse(trace.StageStorage, "watch cache", apierrors.NewTooManyRequests("storage is (re)initializing", 1))
		}
		came.WaitTimeout(c.Task, left)
	}
	return nil
}

// follow begins, if it has not.
func (o *flowObjects) follow(why trace.ID) {
	if o.schemas != nil {
		return
	}
	o.why, o.began = why, o.s.k.Elapsed()
	o.schemas, o.levels = o.s.cacheOf(registry.KindFor(client.FlowSchemas.GroupVersionResource)), o.s.cacheOf(registry.KindFor(client.PriorityLevels.GroupVersionResource))
	o.schemas.Changed, o.levels.Changed = o.hear, o.hear
	o.s.p.Go("priority-and-fairness-config", o.run)
}

// hear hears of each change of one of the objects.
func (o *flowObjects) hear(string, runtime.Object) {
	o.why = o.s.k.Last()
	o.changed = true
	o.later(o.s.k.Elapsed())
	o.wake.Signal()
}

// later plans to look at the next whole minute after a time.
func (o *flowObjects) later(now time.Duration) {
	if !o.check {
		o.check, o.due = true, o.began+((now-o.began)/ensureEvery+1)*ensureEvery
	}
}

// run is a task of the server.
func (o *flowObjects) run(t *sim.Task) {
	o.begin(t)
	for {
		switch {
		case o.changed:
			o.digest(t)
		case !o.check:
			o.wake.Wait(t)
		case t.Elapsed() < o.due:
			o.wake.WaitTimeout(t, o.due-t.Elapsed())
		default:
			o.check = false
			t.SetCauses(o.why)
			if o.ensure(t) != nil {
				o.later(t.Elapsed())
			}
		}
	}
}

// begin puts the objects of a new cluster into a store that has none.
func (o *flowObjects) begin(t *sim.Task) {
	if !o.why.IsZero() {
		t.SetCauses(o.why)
	}
	o.schemas.AwaitFilled(t)
	o.levels.AwaitFilled(t)
	if o.schemas.Len() == 0 && o.levels.Len() == 0 {
		o.s.writeInitial(t, o.initial())
		for _, c := range []*cacher.Cache{o.schemas, o.levels} {
			for !c.Wait(t, o.s.st.Revision(), time.Hour) {
			}
		}
	} else {
		o.later(t.Elapsed() - ensureEvery) // at once
	}
	o.there = true
	for _, p := range o.s.peers.all {
		if p != o.s && p.Ready() {
			p.flowObjects.follow(o.why)
		}
	}
	o.digest(t)
	o.came.Broadcast()
}

// initial are the objects by which the seats are shared out, as they would be
// stored if they had been since the cluster began.
func (o *flowObjects) initial() (all []initial) {
	schemas, levels := o.s.flows.Given()
	since := metav1.NewTime(o.s.k.Epoch())
	add := func(r client.Resource, obj runtime.Object) {
		registry.Scheme.Default(obj)
		obj.GetObjectKind().SetGroupVersionKind(r.GVK())
		m := object.Meta(obj)
		m.SetGeneration(1)
		m.SetCreationTimestamp(since)
		all = append(all, initial{registry.KindFor(r.GroupVersionResource), obj})
	}
	for _, pl := range levels {
		add(client.PriorityLevels, pl.DeepCopy())
	}
	for _, fs := range schemas {
		fs = fs.DeepCopy()
		fs.Status.Conditions = []flowcontrol.FlowSchemaCondition{dangling(fs, false, since)}
		add(client.FlowSchemas, fs)
	}
	return all
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
func (o *flowObjects) digest(t *sim.Task) {
	o.changed = false
	t.SetCauses(o.why)
	s := o.s
	schemas := objectsOf[*flowcontrol.FlowSchema](o.schemas)
	before := s.flows.Stand()
	s.flows.Use(t.Elapsed(), s.flows.Total(), schemas, objectsOf[*flowcontrol.PriorityLevelConfiguration](o.levels))
	if !slices.EqualFunc(before, s.flows.Stand(), sameLevel) {
		s.flows.TellLevels(trace.FlowByObject, t.Causes())
	}
	s.flows.LookAfter()
	var late []*flowcontrol.FlowSchema
	for _, fs := range schemas {
		if want := dangling(fs, s.flows.Dangling(fs), metav1.NewTime(t.Now().Truncate(time.Second))); !said(fs, want) {
			late = append(late, fs)
		}
	}
	for _, fs := range late {
		o.say(t, fs.Name, dangling(fs, s.flows.Dangling(fs), metav1.NewTime(t.Now().Truncate(time.Second))))
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
func (o *flowObjects) say(t *sim.Task, name string, cond flowcontrol.FlowSchemaCondition) {
	gvk := client.FlowSchemas.GVK()
	patch, err := json.Marshal(map[string]any{
		"apiVersion": gvk.GroupVersion().String(), "kind": gvk.Kind, "metadata": map[string]any{"name": name},
		"status": map[string]any{"conditions": []flowcontrol.FlowSchemaCondition{cond}},
	})
	if err != nil {
		panic("apiserver: " + err.Error()) // plain data
	}
	req := o.request("patch", client.FlowSchemas, name, flowConsumer)
	req.Subresource, req.PatchType, req.Patch, req.Force = "status", types.ApplyPatchType, patch, true
	o.s.serve(t, req)
}

// request is one of the server to itself.
func (o *flowObjects) request(verb string, r client.Resource, name, manager string) *Request {
	return &Request{
		Verb: verb, Resource: r.GroupVersionResource, Name: name,
		User: &selfUser, Client: manager, FieldManager: manager, System: true,
	}
}

// ensure puts mandatory objects back that were changed or deleted, and suggested
// ones that were deleted, or changed where their annotation allows it; and takes
// those away that no new cluster has any more (storage_flowcontrol.go ensure).
func (o *flowObjects) ensure(t *sim.Task) error {
	levels := &flowStore[*flowcontrol.PriorityLevelConfiguration]{o, t, client.PriorityLevels, o.levels}
	schemas := &flowStore[*flowcontrol.FlowSchema]{o, t, client.FlowSchemas, o.schemas}
	return ensureFlows(levels, schemas,
		bootstrap.SuggestedPriorityLevelConfigurations, bootstrap.SuggestedFlowSchemas,
		bootstrap.MandatoryPriorityLevelConfigurations, bootstrap.MandatoryFlowSchemas)
}

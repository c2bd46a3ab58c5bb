// Package resourcequota is the resource quota controller: it counts what a
// namespace uses and writes it into the status of its ResourceQuotas.
//
// The worked idea. The API server's ResourceQuota plugin only ever adds: it charges a
// quota before it lets an object in, and what is not in the quota's status it does
// not know. This controller computes the status (a new quota: how much is there
// already?), and brings it down again: when something that counts is deleted, the
// quotas that it counts towards are recalculated (replenishment). And because a
// charge can be left over when the object is refused afterwards or its write fails,
// every quota is recalculated every five minutes.
//
//	kubectl create quota q --hard=pods=3     status: hard 3, used 2 (two are there)
//	kubectl run a --image=nginx              the API server: used 3
//	kubectl run b --image=nginx              403 exceeded quota
//	kubectl delete pod a                     the controller: used 2
//
// Mirrors pkg/controller/resourcequota. Simplified: deletions are handled in the
// informers' handlers instead of through a queue of changes. Until there is a first
// quota, nothing is watched. Objects of custom kinds are charged but never
// recalculated. Start reading at [Controller.sync].
package resourcequota

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/quota"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "the quota controller handles deletions in the informers' handlers; nothing is watched before the first quota; objects of custom kinds are charged but never recalculated",
})

// Name is the controller's name.
const Name = "resourcequota-controller"

// resync is how often all quotas are counted again (--resource-quota-sync-period).
const resync = 5 * time.Minute

// Controller is the resource quota controller.
type Controller struct {
	*reconcile.Env
	quotas   *informer.Informer // nil before there is a quota
	monitors map[schema.GroupVersionResource]*informer.Informer
	order    []*informer.Informer // the same
	registry quotav1.Registry
	clock    quota.Clock
	loop     *reconcile.Loop // quotas that may have changed
	missing  *reconcile.Loop // quotas that have not been counted yet: first
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	c := &Controller{Env: env, monitors: map[schema.GroupVersionResource]*informer.Informer{}, clock: quota.Clock{Time: env.Process.Kernel().Now}}
	c.registry = quota.NewRegistry(c.lister, c.clock)
	c.loop = reconcile.NewLoop(env, "resourcequota_primary", client.ResourceQuotas, c.sync)
	c.missing = reconcile.NewLoop(env, "resourcequota_priority", client.ResourceQuotas, c.sync)
	return c
}

// Start waits for the first quota, and then watches what quotas count.
func (c *Controller) Start() {
	c.Process.Go("quota-monitor", func(t *sim.Task) {
		known := c.awaitQuotas(t)
		c.quotas = c.Informers.For(client.ResourceQuotas)
		for _, r := range client.Resources() {
			c.monitor(r)
		}
		c.quotas.AddHandler(informer.Handler{
			Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.add(t, obj.(*corev1.ResourceQuota)) },
			Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
				// The status is this controller's own, or a charge.
				if q := obj.(*corev1.ResourceQuota); !quotav1.Equals(old.(*corev1.ResourceQuota).Spec.Hard, q.Spec.Hard) {
					c.add(t, q)
				}
			},
		})
		c.loop.Start(c.quotas)
		c.missing.Start(c.quotas)
		c.Process.Go("resync", c.resync)
		c.follow(t, known)
	})
}

// resync has every quota counted again, now and then.
func (c *Controller) resync(t *sim.Task) {
	for {
		t.Sleep(resync)
		t.SetCauses()
		for _, obj := range c.quotas.List() {
			c.loop.Add(t, informer.KeyOf(obj))
		}
	}
}

// add takes a quota that is new or asks for something else; what has not been
// counted comes first (addQuota).
func (c *Controller) add(t *sim.Task, q *corev1.ResourceQuota) {
	key := informer.KeyOf(q)
	if !apiequality.Semantic.DeepEqual(q.Spec.Hard, q.Status.Hard) {
		c.missing.Add(t, key)
		return
	}
	for name := range q.Status.Hard {
		if _, counted := q.Status.Used[name]; !counted && c.counts(name) {
			c.missing.Add(t, key)
			return
		}
	}
	c.loop.Add(t, key)
}

// counts reports whether any evaluator can count a resource.
func (c *Controller) counts(name corev1.ResourceName) bool {
	for _, e := range c.registry.List() {
		if len(e.MatchingResources([]corev1.ResourceName{name})) > 0 {
			return true
		}
	}
	return false
}

// awaitQuotas waits until there is a quota. It gives how many kinds are known to be
// in use, all of them monitored.
func (c *Controller) awaitQuotas(t *sim.Task) int {
	u, ok := client.As[client.Usage](c.Client)
	if !ok {
		return 0
	}
	known := 0
	for found := false; !found; {
		kinds := u.AwaitUse(t, known)
		known += len(kinds)
		found = slices.Contains(kinds, client.ResourceQuotas)
	}
	for _, r := range u.UsedKinds()[:known] {
		c.monitor(r)
	}
	return known
}

// follow monitors kinds that come into use later.
func (c *Controller) follow(t *sim.Task, known int) {
	u, ok := client.As[client.Usage](c.Client)
	for ok {
		kinds := u.AwaitUse(t, known)
		known += len(kinds)
		for _, r := range kinds {
			c.monitor(r)
		}
	}
}

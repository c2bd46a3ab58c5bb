// Package garbage is the garbage collector: it deletes what was owned by
// objects that no longer exist. It is why `kubectl delete deployment web` also
// removes the ReplicaSets and pods, though nobody asked for those.
//
// The worked idea. It keeps a graph of all objects: an edge from each object to
// the owners it names in metadata.ownerReferences, by UID. Deployment web owns
// ReplicaSet web-abc owns pods web-abc-1, web-abc-2.
//
//	background  the Deployment is gone at once. Its dependent web-abc is
//	            looked at: does an owner still exist? Asked from the API
//	            server, not from the graph: no. So it is deleted, in the
//	            background too; and so on down.
//	foreground  the Deployment gets a deletionTimestamp and the finalizer
//	            foregroundDeletion. Dependents go first; those that say
//	            blockOwnerDeletion hold it up. When none is left, the finalizer
//	            is removed, and the Deployment goes last.
//	orphan      the finalizer orphan. The dependents' references to the owner
//	            are removed, then the finalizer. They live on without an owner.
//
// An object with several owners lives as long as one of them does; only the
// references to the dead ones are removed. A reference to an owner that was never
// there counts as dead: such an object is deleted. An owner in another namespace
// is not found there, so it is as good as dead, and an Event warns of it.
//
// Mirrors pkg/controller/garbagecollector. Simplified: the graph is changed in
// the informers' handlers instead of through a queue of graph changes; an owner
// whose references disagree about its name is judged for each reference alone.
// Start reading at [Controller.observe], then [Controller.sync].
package garbage

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "the garbage collector's graph is changed in the informers' handlers instead of through a queue; an owner whose references disagree about its name is judged for each reference alone",
})

// Name is the controller's name.
const Name = "garbage-collector-controller"

// absentOwners is how many dead owners are remembered, so that a thousand
// dependents of one do not ask for it a thousand times.
const absentOwners = 500

// Controller is the garbage collector.
type Controller struct {
	*reconcile.Env
	informers []*informer.Informer
	custom    []client.CustomKind // that are served
	graph     map[types.UID]*node // never iterated: its order would be random
	absent    *lru.Cache          // identities that the API server does not have
	deletes   *reconcile.Loop
	orphans   *reconcile.Loop
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	c := &Controller{Env: env, graph: map[types.UID]*node{}, absent: lru.New(absentOwners)}
	c.deletes = reconcile.NewLoop(env, "garbage_collector_attempt_to_delete", client.Resource{}, c.sync)
	c.orphans = reconcile.NewLoop(env, "garbage_collector_attempt_to_orphan", client.Resource{}, c.orphan)
	name := func(key string) trace.Ref {
		if n := c.graph[uidOf(key)]; n != nil {
			return n.id.ref()
		}
		return trace.Ref{}
	}
	c.deletes.RefOf, c.orphans.RefOf = name, name
	for _, r := range client.Resources() {
		if r == client.Events {
			continue // too many, and they expire by themselves
		}
		c.informers = append(c.informers, c.watch(r))
	}
	return c
}

// watch has the graph follow a kind (graph_builder.go controllerFor).
func (c *Controller) watch(r client.Resource) *informer.Informer {
	i := c.Informers.For(r)
	i.AddHandler(informer.Handler{
		Resync: informer.NoResync, // ResourceResyncTime
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.observe(t, r, nil, obj) },
		Update: func(t *sim.Task, old, new runtime.Object, _ trace.ID) { c.observe(t, r, old, new) },
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.vanished(t, obj) },
	})
	return i
}

// Start starts the workers.
func (c *Controller) Start() {
	c.deletes.Start(c.informers...)
	c.orphans.Start(c.informers...)
	if u, ok := client.As[client.Usage](c.Client); ok {
		c.Process.Go("discovery", func(t *sim.Task) { c.discover(t, u) })
		c.Process.Go("discovery-custom", func(t *sim.Task) { c.discoverCustom(t, u) })
	}
}

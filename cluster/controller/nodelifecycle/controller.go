// Package nodelifecycle is the node lifecycle controller: it notices that a
// node has fallen silent, says so in the node's conditions, and keeps the taints
// that follow from conditions.
//
// The worked idea. A kubelet renews its Lease every 10 s and writes its status
// now and then. Every 5 s this controller looks at all nodes. It remembers, by
// its own clock, when it last saw something new of each.
//
//	t=0 s    node-2's last sign of life
//	t=50 s   more than 50 s of silence: its conditions are set to Unknown,
//	         its pods' Ready to False (so they leave the EndpointSlices), and
//	         it gets the taints unreachable:NoSchedule and unreachable:NoExecute
//	t=350 s  the pods' 300 s of toleration are over: the taint eviction
//	         controller deletes them
//
// A kubelet that is alive but says Ready=False gets not-ready instead of
// unreachable. The NoSchedule taints come at once; the NoExecute ones through a
// queue for each zone that lets one node pass every 10 s, and in a zone where
// most nodes are sick fewer or none: if everything looks dead, it is more likely
// that this controller cannot see.
//
// Mirrors pkg/controller/nodelifecycle. Simplified: no label reconciliation.
// Start reading at [Controller.monitor].
package nodelifecycle

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Absent,
	What: "the reconciling of node labels",
})

// Name is the controller's name; Source the component of its Events.
const (
	Name   = "node-lifecycle-controller"
	Source = "node-controller"
)

// The defaults of kube-controller-manager
// (pkg/controller/nodelifecycle/config/v1alpha1/defaults.go).
const (
	MonitorPeriod = 5 * time.Second  // --node-monitor-period
	GracePeriod   = 50 * time.Second // --node-monitor-grace-period
	StartupGrace  = 60 * time.Second // --node-startup-grace-period

	evictionRate       = 0.1  // nodes a second: --node-eviction-rate
	secondaryRate      = 0.01 // … in a sick zone: --secondary-node-eviction-rate
	largeCluster       = 50   // nodes from which secondaryRate applies: --large-cluster-size-threshold
	unhealthyThreshold = 0.55 // share of sick nodes that makes a zone sick
	evictionPeriod     = 100 * time.Millisecond
	updateTries        = 5
	updateWorkers      = 8
	nodesAWorker       = 50 // in each pass, before another worker helps
)

const byNode = "node"

// Controller is the node lifecycle controller.
type Controller struct {
	*reconcile.Env
	nodes  *informer.Informer
	pods   *informer.Informer
	leases *informer.Informer

	taints *reconcile.Loop // NoSchedule taints, by node
	marks  *reconcile.Loop // pods that came to a node that is not ready

	health map[string]*health
	known  map[string]trace.Ref // nodes of the last pass
	zones  map[string]*zone
	retry  map[string]bool     // nodes whose pods could not all be marked
	blind  bool                // every node is silent, and it has said so
	told   map[string]trace.ID // the newest watch event of each node
	heard  map[string]trace.ID // and of its Lease
	wake   sim.Cond            // something entered a zone's queue
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	f := env.Informers
	c := &Controller{
		Env: env, nodes: f.For(client.Nodes), pods: f.For(client.Pods), leases: f.For(client.Leases),
		health: map[string]*health{}, known: map[string]trace.Ref{}, zones: map[string]*zone{}, retry: map[string]bool{},
		told: map[string]trace.ID{}, heard: map[string]trace.ID{},
	}
	c.taints = reconcile.NewLoop(env, "node_lifecycle_controller", client.Nodes, c.syncTaints)
	c.marks = reconcile.NewLoop(env, "node_lifecycle_controller_pods", client.Pods, c.syncPod)
	c.pods.AddIndex(byNode, func(obj runtime.Object) []string { return []string{obj.(*corev1.Pod).Spec.NodeName} })
	c.nodes.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, why trace.ID) { c.nodeSeen(t, obj.(*corev1.Node), why) },
		Update: func(t *sim.Task, _, obj runtime.Object, why trace.ID) {
			c.nodeSeen(t, obj.(*corev1.Node), why)
		},
		Delete: func(t *sim.Task, obj runtime.Object, why trace.ID) {
			c.told[informer.KeyOf(obj)] = why
			delete(c.retry, informer.KeyOf(obj))
		},
	})
	heard := func(obj runtime.Object, why trace.ID) {
		if l := obj.(*coordinationv1.Lease); l.Namespace == corev1.NamespaceNodeLease && !why.IsZero() {
			c.heard[l.Name] = why
		}
	}
	c.leases.AddHandler(informer.Handler{
		Resync: informer.NoResync,
		Add:    func(_ *sim.Task, obj runtime.Object, why trace.ID) { heard(obj, why) },
		Update: func(_ *sim.Task, _, obj runtime.Object, why trace.ID) { heard(obj, why) },
		Delete: func(_ *sim.Task, obj runtime.Object, _ trace.ID) { delete(c.heard, obj.(*coordinationv1.Lease).Name) },
	})
	c.pods.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.podSeen(t, "", obj.(*corev1.Pod)) },
		Update: func(t *sim.Task, old, new runtime.Object, _ trace.ID) {
			c.podSeen(t, old.(*corev1.Pod).Spec.NodeName, new.(*corev1.Pod))
		},
	})
	return c
}

// nodeSeen has a node's NoSchedule taints looked at if they are not what its
// conditions ask for. (Upstream looks at every update of every node.)
func (c *Controller) nodeSeen(t *sim.Task, node *corev1.Node, why trace.ID) {
	if !why.IsZero() {
		c.told[node.Name] = why
	}
	if add, remove := taintDiff(node); len(add)+len(remove) > 0 {
		c.taints.Add(t, node.Name)
	}
}

// podSeen has a pod looked at that came to a node which is not ready.
func (c *Controller) podSeen(t *sim.Task, was string, pod *corev1.Pod) {
	name := pod.Spec.NodeName
	if name == "" || name == was {
		return
	}
	if h := c.health[name]; h != nil && h.ready != nil && h.ready.Status != corev1.ConditionTrue {
		c.marks.Add(t, informer.KeyOf(pod))
	}
}

// Start starts the workers and the passes.
func (c *Controller) Start() {
	all := []*informer.Informer{c.leases, c.nodes, c.pods}
	c.taints.Start(all...)
	c.marks.Start(all...)
	synced := func(t *sim.Task) {
		for _, i := range all {
			i.WaitForSync(t)
		}
	}
	c.Process.Go("monitor", func(t *sim.Task) {
		synced(t)
		for {
			t.SetCauses()
			c.Linger(t)
			c.Attempt(t, trace.Ref{}, "a look at all nodes", func() { c.monitor(t) })
			t.Sleep(MonitorPeriod)
		}
	})
	c.Process.Go("taint-nodes", func(t *sim.Task) {
		synced(t)
		for {
			// Zero means no limit: something has to happen first. Upstream
			// looks ten times a second; so the monitor has judged all zones
			// before the first node is tainted.
			if c.wake.WaitTimeout(t, c.taintPass(t)) {
				t.Sleep(evictionPeriod)
			}
		}
	})
}

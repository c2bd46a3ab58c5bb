// Package cloudnodelifecycle is the cloud node lifecycle controller of cloud-controller-manager:
// it asks the cloud what has become of the machines of nodes that are not Ready, deletes nodes
// whose instances are gone, and taints those whose instances are shut down.
//
// The worked idea. Somebody deletes the machine of node-2 in the cloud:
//
//	t=0 s    node-2's kubelet is silent
//	t=50 s   the node lifecycle controller says Ready=Unknown and taints node-2
//	t=55 s   this controller looks at the nodes, as it does every 5 s; of one that is Ready it
//	         asks nothing, but of node-2 it asks the cloud whether its instance exists
//	         it does not: the Event DeletingNode is written, and the node deleted
//
// The pods of a node that is gone are deleted by the pod garbage collector, and made
// again elsewhere by their controllers, without the 300 s that they would have waited for an
// unreachable node. Had the machine only been shut down, the node would have got the taint
// node.cloudprovider.kubernetes.io/shutdown:NoSchedule, until it is Ready again.
//
// Mirrors k8s.io/cloud-provider/controllers/nodelifecycle. Simplified: upstream goes through
// all nodes in one loop; here each node that the cloud has to be asked about, or that has to change, is a key
// of a queue. Start reading at sync.go.
package cloudnodelifecycle

import (
	"time"

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
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "cloud-node-lifecycle-controller has a queue of the nodes that are not Ready, where upstream goes through all nodes in one loop, which waits for each of the cloud's answers",
	Seen: "pane 5",
})

// Name is the controller's name (k8s.io/cloud-provider/names CloudNodeLifecycleController), and
// where its Events come from.
const (
	Name   = "cloud-node-lifecycle-controller"
	Source = "cloud-node-lifecycle-controller"
)

// MonitorPeriod is how often it looks at all nodes (--node-monitor-period).
const MonitorPeriod = 5 * time.Second

// Taint is that of a node whose instance is shut down (cloudproviderapi.TaintNodeShutdown).
const Taint = "node.cloudprovider.kubernetes.io/shutdown"

// never has a run that failed not be tried again by the queue: the next look at all nodes does.
const never = -1

// Instances say what has become of the nodes' machines (cloudprovider.InstancesV2).
type Instances interface {
	// Exists reports whether a node's instance is there, running or not.
	Exists(t *sim.Task, node *corev1.Node) (bool, error)
	// Shutdown reports whether it is shut down.
	Shutdown(t *sim.Task, node *corev1.Node) (bool, error)
}

// Controller is the cloud node lifecycle controller.
type Controller struct {
	*reconcile.Env
	instances Instances
	nodes     *informer.Informer
	loop      *reconcile.Loop
	told      map[string]trace.ID // the newest watch event of each node
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env, instances Instances) *Controller {
	c := &Controller{Env: env, instances: instances, nodes: env.Informers.For(client.Nodes), told: map[string]trace.ID{}}
	c.loop = reconcile.NewLoop(env, "cloud_node_lifecycle", client.Nodes, c.sync)
	c.loop.MaxRetries = never
	seen := func(obj runtime.Object, why trace.ID) {
		if !why.IsZero() {
			c.told[informer.KeyOf(obj)] = why
		}
	}
	c.nodes.AddHandler(informer.Handler{
		Resync: informer.NoResync,
		Add:    func(_ *sim.Task, obj runtime.Object, why trace.ID) { seen(obj, why) },
		Update: func(_ *sim.Task, _, obj runtime.Object, why trace.ID) { seen(obj, why) },
		Delete: func(_ *sim.Task, obj runtime.Object, _ trace.ID) { delete(c.told, informer.KeyOf(obj)) },
	})
	return c
}

// Start starts the worker and the looks at all nodes.
func (c *Controller) Start() {
	c.loop.Start(c.nodes)
	c.Process.Go("monitor", func(t *sim.Task) {
		c.nodes.WaitForSync(t)
		for {
			c.monitor(t)
			t.Sleep(MonitorPeriod)
		}
	})
}

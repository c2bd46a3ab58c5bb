// Package cloudnode is the cloud node controller of cloud-controller-manager: it initializes
// nodes whose kubelets have --cloud-provider=external with what the cloud knows of their
// machines.
//
// Such a kubelet knows nothing of the cloud. It registers its node with the taint
// node.cloudprovider.kubernetes.io/uninitialized:NoSchedule and with no address but its host
// name, and no pod goes there.
//
// The worked idea. node-1 registers:
//
//  1. a handler puts it in the queue Nodes, as each change of any node does
//  2. the cloud says of it: instance kviz://kviz-1a/node-1, type standard-4-8, zone kviz-1a
//     of region kviz-1, address 192.168.0.11
//  3. one update writes spec.providerID and the labels of type, zone and region, each in its
//     old and its new spelling, and takes the taint off
//  4. a patch writes the addresses into the status, and the Event Synced says that it is done
//
// A node without the taint is looked at as well: its labels in the new spelling follow those in
// the old one. Every five minutes the cloud is asked for the addresses of all nodes again.
//
// Mirrors k8s.io/cloud-provider/controllers/node. Simplified: a conflict is tried again without
// jitter; the cloud is asked through InstancesV2 alone. Start reading at sync.go.
package cloudnode

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/controller/cloudprovider"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "cloud-node-controller asks the cloud through InstancesV2 alone, and tries a write that meets a conflict again without jitter",
})

// Name is the controller's name (k8s.io/cloud-provider/names CloudNodeController), and where
// its Events come from.
const (
	Name   = "cloud-node-controller"
	Source = "cloud-node-controller"
)

// StatusPeriod is how often the cloud is asked for the addresses of all nodes
// (--node-status-update-frequency).
const StatusPeriod = 5 * time.Minute

// Taint is that of a node that is not initialized (cloudproviderapi.TaintExternalCloudProvider).
const Taint = "node.cloudprovider.kubernetes.io/uninitialized"

// Instances say what machines the nodes are (cloudprovider.InstancesV2).
type Instances interface {
	// Metadata is what the cloud knows of a node's instance; nil where it does not concern it.
	Metadata(t *sim.Task, node *corev1.Node) (*cloudprovider.Metadata, error)
}

// Controller is the cloud node controller.
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
	c.loop = reconcile.NewLoop(env, "Nodes", client.Nodes, c.sync)
	seen := func(t *sim.Task, obj runtime.Object, why trace.ID) {
		if !why.IsZero() {
			c.told[informer.KeyOf(obj)] = why
		}
		c.loop.Add(t, informer.KeyOf(obj))
	}
	c.nodes.AddHandler(informer.Handler{
		Add:    seen,
		Update: func(t *sim.Task, _, obj runtime.Object, why trace.ID) { seen(t, obj, why) },
		Delete: func(_ *sim.Task, obj runtime.Object, _ trace.ID) { delete(c.told, informer.KeyOf(obj)) },
	})
	return c
}

// Start starts the worker and the periodic look at all addresses.
func (c *Controller) Start() {
	c.loop.Start(c.nodes)
	c.Process.Go("addresses", func(t *sim.Task) {
		c.nodes.WaitForSync(t)
		for {
			c.updateStatus(t)
			t.Sleep(StatusPeriod)
		}
	})
}

// Package ttl is the TTL controller: it writes onto each node for how long its kubelet may
// go on with Secrets and ConfigMaps that it has read, by the size of the cluster.
//
// The worked idea. Of 100 nodes each has the annotation node.alpha.kubernetes.io/ttl: "0". The
// 101st node comes: now 15 seconds are right for all of them. It stays so until there are
// fewer than 90, not 101: a cluster whose size goes up and down by one node writes nothing.
//
// Only a kubelet that reads objects again when their time is over, instead of watching them,
// heeds it (configMapAndSecretChangeDetectionStrategy: Cache); the default watches.
//
// When another time is right, each node is written when its kubelet has reported something the
// next time, not all of them at once.
//
// Mirrors pkg/controller/ttl. Simplified: an update of a node whose annotation is right queues
// nothing. Start reading at [Controller.counted].
package ttl

import (
	"encoding/json"
	"math"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "an update of a node queues nothing at the TTL controller while the node's annotation is right",
})

// Name is the controller's name, and its ServiceAccount's.
const Name = "ttl-controller"

// boundary is a size of clusters and the time for it.
type boundary struct{ least, most, seconds int }

var boundaries = []boundary{{0, 100, 0}, {90, 500, 15}, {450, 1000, 30}, {900, 2000, 60}, {1800, math.MaxInt32, 300}}

// Controller is the TTL controller.
type Controller struct {
	*reconcile.Env
	nodes *informer.Informer
	loop  *reconcile.Loop
	count int
	step  int // of boundaries
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	c := &Controller{Env: env, nodes: env.Informers.For(client.Nodes)}
	c.loop = reconcile.NewLoop(env, "ttlcontroller", client.Nodes, c.sync)
	c.nodes.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) {
			c.count++
			c.counted()
			c.look(t, obj)
		},
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { c.look(t, obj) },
		Delete: func(*sim.Task, runtime.Object, trace.ID) {
			c.count--
			c.counted()
		},
	})
	return c
}

// Start starts the workers.
func (c *Controller) Start() { c.loop.Start(c.nodes) }

// counted finds the time for a cluster of another size; the sizes overlap (addNode, deleteNode).
func (c *Controller) counted() {
	switch b := boundaries[c.step]; {
	case c.count > b.most:
		c.step++
	case c.count < b.least:
		c.step--
	}
}

func (c *Controller) right(obj runtime.Object) bool {
	has, err := strconv.Atoi(obj.(*corev1.Node).Annotations[corev1.ObjectTTLAnnotationKey])
	return err == nil && has == boundaries[c.step].seconds
}

func (c *Controller) look(t *sim.Task, obj runtime.Object) {
	if !c.right(obj) {
		c.loop.Add(t, informer.KeyOf(obj))
	}
}

// sync writes the annotation of one node (updateNodeIfNeeded).
func (c *Controller) sync(run *reconcile.Run) error {
	obj, ok := c.nodes.Get(run.Key)
	if !ok || c.right(obj) {
		return nil
	}
	node, b := obj.(*corev1.Node), boundaries[c.step]
	run.Act("patch", client.RefOf(node), b.seconds, node.Annotations[corev1.ObjectTTLAnnotationKey],
		"there are %d nodes, of %d to %d: the kubelet of %s may go on with what it has read for %d s", c.count, b.least, b.most, node.Name, b.seconds)
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{corev1.ObjectTTLAnnotationKey: strconv.Itoa(b.seconds)}}})
	if err != nil {
		return err
	}
	_, err = c.Client.Patch(run.T, client.Nodes, "", node.Name, types.StrategicMergePatchType, data, "")
	return err
}

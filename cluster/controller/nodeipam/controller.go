// Package nodeipam is the node IPAM controller: it gives each node a range of addresses for
// its pods, a piece of the cluster CIDR, in spec.podCIDR.
//
// The worked idea. --cluster-cidr is 10.244.0.0/16 and --node-cidr-mask-size 24, so there are
// 256 pieces. 10.244.0.0/24 is the control plane's machine's; three nodes have the next three.
// node-4 joins without a podCIDR, and its network plugin has no addresses to hand out: the node
// is not Ready, and its pods wait. The controller takes the next piece that nobody has,
// 10.244.4.0/24, and writes it into the Node; the plugin is configured, and the node is Ready.
// While the controller is stopped, node-4 waits.
//
// It remembers which pieces are taken, and finds that out again from the Nodes when it starts.
//
// Mirrors pkg/controller/nodeipam/ipam/range_allocator.go, which kube-controller-manager runs
// with --allocate-node-cidrs, as kubeadm has it. Simplified: one worker instead of 30; a
// node that has a range is no key of the queue. Start reading at [Controller.sync].
package nodeipam

import (
	"encoding/json"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	What: "the nodes that a cluster starts with register with the ranges of addresses that they have had from before; the node IPAM controller gives ranges to those that join, and a node that has one is no key of its queue",
	Seen: "spec.podCIDR of a node; pane 5",
})

// The controller's name, and where its Events come from.
const (
	Name   = "node-ipam-controller"
	Source = "cidrAllocator"
)

// updateTries is how often the writing of a range is tried at once (cidrUpdateRetries).
const updateTries = 3

// Config is what kube-controller-manager's flags say about the pods' addresses.
type Config struct {
	Cluster netip.Prefix // --cluster-cidr; the zero Prefix: the controller does not run (--allocate-node-cidrs=false)
	Mask    int          // --node-cidr-mask-size
	// First is where the ranges begin: the piece of the control plane's machine, which is no
	// Node here.
	First netip.Addr
}

// Controller is the node IPAM controller.
type Controller struct {
	*reconcile.Env
	nodes  *informer.Informer
	loop   *reconcile.Loop
	ranges *Ranges
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env, cfg Config) *Controller {
	c := &Controller{Env: env, nodes: env.Informers.For(client.Nodes), ranges: NewRanges(cfg.Cluster, cfg.Mask, cfg.First)}
	if cfg.Cluster.Contains(cfg.First) {
		_ = c.ranges.Occupy(netip.PrefixFrom(cfg.First, cfg.Mask)) // it is in the cluster CIDR
	}
	c.loop = reconcile.NewLoop(env, "cidrallocator_node", client.Nodes, c.sync)
	seen := func(t *sim.Task, obj runtime.Object) {
		if n := obj.(*corev1.Node); len(n.Spec.PodCIDRs) == 0 || c.occupy(n) != nil {
			c.loop.Add(t, informer.KeyOf(n))
		}
	}
	c.nodes.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { seen(t, obj) },
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			// A range is never changed, and heartbeats are many.
			if len(obj.(*corev1.Node).Spec.PodCIDRs) == 0 || len(old.(*corev1.Node).Spec.PodCIDRs) == 0 {
				seen(t, obj)
			}
		},
		Delete: func(_ *sim.Task, obj runtime.Object, _ trace.ID) { c.release(obj.(*corev1.Node)) },
	})
	return c
}

// Start starts the worker.
func (c *Controller) Start() { c.loop.Start(c.nodes) }

// sync gives a node without a range one, or takes the one that it has (syncNode, AllocateOrOccupyCIDR).
func (c *Controller) sync(run *reconcile.Run) error {
	obj, ok := c.nodes.Get(run.Key)
	if !ok {
		run.Gone()
		return nil
	}
	n := obj.(*corev1.Node)
	switch {
	case !n.DeletionTimestamp.IsZero():
		return nil
	case len(n.Spec.PodCIDRs) > 0:
		return c.occupy(n)
	}
	free, all := c.ranges.Free()
	p, err := c.ranges.Allocate()
	if err != nil {
		c.tell(run, n, "CIDRNotAvailable")
		return fmt.Errorf("failed to allocate cidr from cluster cidr at idx:%d: %v", 0, err)
	}
	run.Act("patch", client.RefOf(n), p, "none", "%s has no range of addresses for its pods: give it %s, the next free piece of %s (%d of %d were free)", n.Name, p, c.ranges.cluster, free, all)
	return c.assign(run, n, p)
}

// assign writes a node's range (updateCIDRsAllocation).
func (c *Controller) assign(run *reconcile.Run, n *corev1.Node, p netip.Prefix) error {
	type spec struct { // component-helpers/node/util PatchNodeCIDRs
		PodCIDR  string   `json:"podCIDR"`
		PodCIDRs []string `json:"podCIDRs"`
	}
	patch, err := json.Marshal(struct {
		Spec spec `json:"spec"`
	}{spec{p.String(), []string{p.String()}}})
	if err != nil {
		return fmt.Errorf("failed to json.Marshal CIDR: %v", err)
	}
	for range updateTries {
		if _, err = c.Client.Patch(run.T, client.Nodes, "", n.Name, types.StrategicMergePatchType, patch, ""); err == nil {
			return nil
		}
	}
	c.tell(run, n, "CIDRAssignmentFailed")
	// Of one whose answer came too late nobody knows whether it was written.
	if !apierrors.IsServerTimeout(err) {
		_ = c.ranges.Release(p) // it is one of them
	}
	return fmt.Errorf("failed to patch node CIDR: %w", err)
}

// tell is controller/util/node RecordNodeStatusChange.
func (c *Controller) tell(run *reconcile.Run, n *corev1.Node, what string) {
	c.Events.Event(run.T, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: n.UID}}, corev1.EventTypeNormal, what, "Node %s status is now: %s", n.Name, what)
}

// occupy takes the range that a node has (occupyCIDRs).
func (c *Controller) occupy(n *corev1.Node) error {
	for i, s := range n.Spec.PodCIDRs {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return fmt.Errorf("failed to parse node %s, CIDR %s", n.Name, n.Spec.PodCIDR)
		}
		if i > 0 {
			return fmt.Errorf("node:%s has an allocated cidr: %v at index:%v that does not exist in cluster cidrs configuration", n.Name, s, i)
		}
		if err := c.ranges.Occupy(p); err != nil {
			return fmt.Errorf("failed to mark cidr[%v] at idx [%v] as occupied for node: %v: %v", p, i, n.Name, err)
		}
	}
	return nil
}

// release gives back the range of a node that is gone (ReleaseCIDR).
func (c *Controller) release(n *corev1.Node) {
	for _, s := range n.Spec.PodCIDRs[:min(1, len(n.Spec.PodCIDRs))] {
		if p, err := netip.ParsePrefix(s); err == nil {
			_ = c.ranges.Release(p) // of one that is not the cluster's there is nothing to give back
		}
	}
}

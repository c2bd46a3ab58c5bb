package nodelifecycle

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// health is what is remembered of one node (nodeHealthData).
type health struct {
	seen  time.Time             // the last sign of life, by this controller's clock
	ready *corev1.NodeCondition // Ready as last seen or written
	lease *coordinationv1.Lease
}

var errStaleLease = errors.New("the lease in the cache is older than the one in the store")

// judge sets a node's conditions to Unknown if it has been silent for too long
// (tryUpdateNodeHealth). It gives the Ready condition as found, and the node as
// it is now. wait means that nothing can be said yet.
func (c *Controller) judge(t *sim.Task, node *corev1.Node) (observed corev1.NodeCondition, out *corev1.Node, wait bool, err error) {
	grace := GracePeriod
	ready := condition(node, corev1.NodeReady)
	if ready != nil {
		observed = *ready
	} else {
		// No status yet: a new node gets a little longer.
		grace = StartupGrace
		observed = corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastHeartbeatTime: node.CreationTimestamp, LastTransitionTime: node.CreationTimestamp}
	}
	h := c.note(t, node, ready)
	silent := t.Now().Sub(h.seen)
	if silent <= grace {
		return observed, node, false, nil
	}
	if wait, err := c.leaseIsStale(t, node.Name, h); err != nil {
		return observed, node, wait, err
	}
	changed := silence(node, client.Now(t))
	if changed == nil || reflect.DeepEqual(condition(changed, corev1.NodeReady), &observed) {
		return observed, node, false, nil
	}
	// All it goes by is that nothing came after the last it heard. What ended
	// that is known to the simulation only.
	t.SetCauses(c.heard[node.Name], t.Kernel().Silenced(trace.Lane{Component: trace.CompKubelet, Instance: node.Name}))
	c.Act(t, node.Name, client.RefOf(node), "update", client.RefOf(node), corev1.ConditionUnknown, observed.Status,
		fmt.Sprintf("node %s has not reported for %s, more than %s: set its conditions to Unknown", node.Name, silent.Round(time.Second), grace))
	t.Emit(trace.Event{Kind: trace.NodeStatus, Object: client.RefOf(node), Payload: &trace.NodeReport{
		Node: node.Name, By: c.Name(), Ready: string(corev1.ConditionUnknown),
		Note: fmt.Sprintf("silent for %s", silent.Round(time.Second)),
	}})
	updated, err := client.UpdateStatus(t, c.Client, client.Nodes, "", changed)
	if err != nil {
		return observed, node, false, err
	}
	h.ready = condition(updated, corev1.NodeReady)
	return observed, updated, false, nil
}

// note takes in what is new of a node: a heartbeat in its status, or a renewed
// Lease.
func (c *Controller) note(t *sim.Task, node *corev1.Node, ready *corev1.NodeCondition) *health {
	h := c.health[node.Name]
	switch {
	case h == nil && ready == nil:
		h = &health{seen: node.CreationTimestamp.Time}
	case h == nil, (h.ready == nil) != (ready == nil):
		lease := (*coordinationv1.Lease)(nil)
		if h != nil {
			lease = h.lease
		}
		h = &health{seen: t.Now(), lease: lease}
	case ready != nil && !h.ready.LastHeartbeatTime.Equal(&ready.LastHeartbeatTime):
		h.seen = t.Now()
	}
	h.ready = ready
	c.health[node.Name] = h
	if obj, ok := c.leases.Get(informer.Key(corev1.NamespaceNodeLease, node.Name)); ok {
		lease := obj.(*coordinationv1.Lease)
		if h.lease == nil || h.lease.Spec.RenewTime.Before(lease.Spec.RenewTime) {
			h.lease, h.seen = lease, t.Now()
		}
	}
	return h
}

// leaseIsStale asks the API server for the Lease before a node is given up: the
// cache itself may be late (feature NodeControllerLeaseCircuitBreaker).
func (c *Controller) leaseIsStale(t *sim.Task, node string, h *health) (wait bool, err error) {
	live, err := client.Get[*coordinationv1.Lease](t, c.Client, client.Leases, corev1.NamespaceNodeLease, node)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return true, fmt.Errorf("error looking up lease to verify node %s: %w", node, err)
	case h.lease == nil || live.ResourceVersion != h.lease.ResourceVersion:
		return true, errStaleLease
	}
	return false, nil
}

// silence gives the node with its conditions set to Unknown.
func silence(node *corev1.Node, now metav1.Time) *corev1.Node {
	node = node.DeepCopy()
	for _, t := range []corev1.NodeConditionType{corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		cond := condition(node, t)
		switch {
		case cond == nil:
			node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
				Type: t, Status: corev1.ConditionUnknown, Reason: "NodeStatusNeverUpdated", Message: "Kubelet never posted node status.",
				LastHeartbeatTime: node.CreationTimestamp, LastTransitionTime: now,
			})
		case cond.Status != corev1.ConditionUnknown:
			cond.Status, cond.Reason, cond.Message = corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status."
			cond.LastTransitionTime = now
		}
	}
	return node
}

func condition(node *corev1.Node, t corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == t {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

package cloudnodelifecycle

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/sim"
)

// monitor queues the nodes about which there is something to ask the cloud, or to do
// (MonitorNodes).
func (c *Controller) monitor(t *sim.Task) {
	for _, obj := range c.nodes.List() {
		if n := obj.(*corev1.Node); ready(n) != corev1.ConditionTrue || has(n, shutdown()) {
			t.SetCauses(c.told[n.Name])
			c.loop.Add(t, n.Name)
		}
	}
	t.SetCauses()
}

// ready is the status of a node's condition Ready, Unknown where it has none.
func ready(n *corev1.Node) corev1.ConditionStatus {
	for _, cond := range n.Status.Conditions {
		if cond.Type == corev1.NodeReady {
			return cond.Status
		}
	}
	return corev1.ConditionUnknown
}

// shutdown is the taint (ShutdownTaint).
func shutdown() corev1.Taint {
	return corev1.Taint{Key: Taint, Effect: corev1.TaintEffectNoSchedule}
}

// sync asks the cloud about the machine of one node, and does what follows (processNode).
func (c *Controller) sync(run *reconcile.Run) error {
	obj, ok := c.nodes.Get(run.Key)
	if !ok {
		run.Gone()
		return nil
	}
	node := obj.(*corev1.Node)
	if ready(node) == corev1.ConditionTrue {
		return c.untaint(run, node)
	}
	exists, err := c.instances.Exists(run.T, node)
	if err != nil {
		run.Waits("Node %s is not Ready (%s), and the cloud does not say whether its instance exists: it is asked again in %v", node.Name, ready(node), MonitorPeriod)
		return fmt.Errorf("error checking if node %s exists: %w", node.Name, err)
	}
	if !exists {
		return c.delete(run, node)
	}
	off, err := c.instances.Shutdown(run.T, node)
	if err != nil {
		run.Waits("Node %s is not Ready (%s), and the cloud does not say whether its instance is shut down: it is asked again in %v", node.Name, ready(node), MonitorPeriod)
		return fmt.Errorf("error checking if node %s is shutdown: %w", node.Name, err)
	}
	if !off {
		run.Waits("Node %s is not Ready (%s), but its instance exists and is not shut down: the node stays, and the cloud is asked again in %v", node.Name, ready(node), MonitorPeriod)
		return nil
	}
	return c.taint(run, node)
}

// delete deletes a node whose instance is gone.
func (c *Controller) delete(run *reconcile.Run, node *corev1.Node) error {
	c.Events.Event(run.T, node, corev1.EventTypeNormal, "DeletingNode", "Deleting node %s because it does not exist in the cloud provider", node.Name)
	run.Act("delete", client.RefOf(node), 0, 1, "Node %s is not Ready (%s), and the cloud has no instance of it any more: delete the node", node.Name, ready(node))
	if err := c.Client.Delete(run.T, client.Nodes, "", node.Name, metav1.DeleteOptions{}); err != nil {
		c.Events.Event(run.T, node, corev1.EventTypeWarning, "DeletingNodeFailed", "Failed deleting node %s: %v", node.Name, err)
		return fmt.Errorf("unable to delete node %q: %w", node.Name, err)
	}
	return nil
}

// taintTries are the waits between tries of a taint that meets a conflict (updateTaintBackoff).
var taintTries = slices.Repeat([]time.Duration{100 * time.Millisecond}, 4)

// taint keeps pods away from a node whose instance is shut down (AddOrUpdateTaintOnNode).
func (c *Controller) taint(run *reconcile.Run, seen *corev1.Node) error {
	taint := shutdown()
	return c.change(run, seen.Name, func(n *corev1.Node) bool {
		if slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) && equality.Semantic.DeepEqual(t, taint) }) {
			run.Waits("Node %s is not Ready (%s), its instance is shut down, and it has the taint %s already: the cloud is asked again in %v", n.Name, ready(n), Taint, MonitorPeriod)
			return false
		}
		run.Act("patch", client.RefOf(n), taint.ToString(), nil, "Node %s is not Ready (%s), and its instance is shut down: add the taint %s, so that no pod is sent there", n.Name, ready(n), taint.ToString())
		i := slices.IndexFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
		if i >= 0 {
			n.Spec.Taints[i] = taint
		} else {
			n.Spec.Taints = append(n.Spec.Taints, taint)
		}
		return true
	})
}

// untaint lets pods come back to a node that is Ready (RemoveTaintOffNode).
func (c *Controller) untaint(run *reconcile.Run, seen *corev1.Node) error {
	taint := shutdown()
	if !has(seen, taint) {
		return nil
	}
	return c.change(run, seen.Name, func(n *corev1.Node) bool {
		if !has(n, taint) {
			return false
		}
		run.Act("patch", client.RefOf(n), nil, taint.ToString(), "Node %s is Ready, so its instance runs again: remove the taint %s", n.Name, taint.ToString())
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
		return true
	})
}

func has(n *corev1.Node, taint corev1.Taint) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
}

// change patches the taints of a node as the API server has it, again where somebody else
// changed it meanwhile.
func (c *Controller) change(run *reconcile.Run, name string, do func(*corev1.Node) bool) error {
	return reconcile.OnConflict(run.T, taintTries, func() error {
		old, err := client.Get[*corev1.Node](run.T, c.Client, client.Nodes, "", name)
		if err != nil {
			return err
		}
		updated := old.DeepCopy()
		if !do(updated) {
			return nil
		}
		return c.patchTaints(run.T, old, updated)
	})
}

// patchTaints is PatchNodeTaints: the revision in the patch has it refused where the taints may
// have changed meanwhile, since all of them are replaced.
func (c *Controller) patchTaints(t *sim.Task, old, updated *corev1.Node) error {
	base := old.DeepCopy()
	base.ResourceVersion = ""
	was, errWas := json.Marshal(base)
	now, errNow := json.Marshal(updated)
	if err := errors.Join(errWas, errNow); err != nil {
		return fmt.Errorf("failed to marshal node %q: %w", old.Name, err)
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(was, now, corev1.Node{})
	if err != nil {
		return fmt.Errorf("failed to create patch for node %q: %w", old.Name, err)
	}
	_, err = c.Client.Patch(t, client.Nodes, "", old.Name, types.StrategicMergePatchType, patch, "")
	return err
}

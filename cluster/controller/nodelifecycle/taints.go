package nodelifecycle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// conditionTaints says which condition in which status makes which NoSchedule
// taint (nodeConditionToTaintKeyStatusMap).
var conditionTaints = []struct {
	condition corev1.NodeConditionType
	status    corev1.ConditionStatus
	key       string
}{
	{corev1.NodeReady, corev1.ConditionFalse, corev1.TaintNodeNotReady},
	{corev1.NodeReady, corev1.ConditionUnknown, corev1.TaintNodeUnreachable},
	{corev1.NodeMemoryPressure, corev1.ConditionTrue, corev1.TaintNodeMemoryPressure},
	{corev1.NodeDiskPressure, corev1.ConditionTrue, corev1.TaintNodeDiskPressure},
	{corev1.NodeNetworkUnavailable, corev1.ConditionTrue, corev1.TaintNodeNetworkUnavailable},
	{corev1.NodePIDPressure, corev1.ConditionTrue, corev1.TaintNodePIDPressure},
}

// taintDiff compares a node's NoSchedule taints with what its conditions and
// spec.unschedulable ask for.
func taintDiff(node *corev1.Node) (add, remove []corev1.Taint) {
	want := map[string]bool{}
	for _, ct := range conditionTaints {
		if cond := condition(node, ct.condition); cond != nil && cond.Status == ct.status {
			want[ct.key] = true
		}
	}
	want[corev1.TaintNodeUnschedulable] = node.Spec.Unschedulable
	keys := []string{corev1.TaintNodeUnschedulable}
	for _, ct := range conditionTaints {
		keys = append(keys, ct.key)
	}
	for _, key := range keys {
		taint := corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule}
		switch has := hasTaint(node, key, taint.Effect); {
		case want[key] && !has:
			add = append(add, taint)
		case !want[key] && has:
			remove = append(remove, taint)
		}
	}
	return add, remove
}

// syncTaints keeps a node's NoSchedule taints (doNoScheduleTaintingPass).
func (c *Controller) syncTaints(run *reconcile.Run) error {
	obj, ok := c.nodes.Get(run.Name)
	if !ok {
		return nil
	}
	node := obj.(*corev1.Node)
	add, remove := taintDiff(node)
	if len(add)+len(remove) == 0 {
		return nil
	}
	return c.changeTaints(run.T, node, add, remove, fmt.Sprintf("%s: %s", standing(node), changeText(add, remove)))
}

// standing is what a node's taints follow from: "node node-1 has Ready=Unknown,
// MemoryPressure=True".
func standing(node *corev1.Node) string {
	var parts []string
	for _, ct := range conditionTaints {
		if cond := condition(node, ct.condition); cond != nil && (cond.Status == ct.status || ct.condition == corev1.NodeReady) {
			parts = append(parts, fmt.Sprintf("%s=%s", ct.condition, cond.Status))
		}
	}
	if node.Spec.Unschedulable {
		parts = append(parts, "spec.unschedulable=true")
	}
	slices.Sort(parts)
	return "node " + node.Name + " has " + strings.Join(slices.Compact(parts), ", ")
}

func changeText(add, remove []corev1.Taint) string {
	switch {
	case len(remove) == 0:
		return "add " + texts(add)
	case len(add) == 0:
		return "remove " + texts(remove)
	}
	return "add " + texts(add) + " and remove " + texts(remove)
}

func texts(taints []corev1.Taint) string {
	out := make([]string, len(taints))
	for i := range taints {
		out[i] = taints[i].ToString()
	}
	return strings.Join(out, ", ")
}

func hasTaint(node *corev1.Node, key string, effect corev1.TaintEffect) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key && t.Effect == effect })
}

// swapNoExecute puts one NoExecute taint in the place of the other.
func (c *Controller) swapNoExecute(t *sim.Task, node *corev1.Node, key, opposite string) error {
	add := []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoExecute}}
	remove := []corev1.Taint{{Key: opposite, Effect: corev1.TaintEffectNoExecute}}
	if !hasTaint(node, opposite, corev1.TaintEffectNoExecute) {
		remove = nil
	}
	return c.changeTaints(t, node, add, remove, fmt.Sprintf("%s: %s", standing(node), changeText(add, remove)))
}

// changeTaints adds and removes taints, on top of the newest node only
// (SwapNodeControllerTaint, PatchNodeTaints).
func (c *Controller) changeTaints(t *sim.Task, node *corev1.Node, add, remove []corev1.Taint, why string) error {
	c.Act(t, node.Name, client.RefOf(node), "patch", client.RefOf(node), nil, texts(node.Spec.Taints), why)
	for try := 1; ; try++ {
		taints := apply(node.Spec.Taints, add, remove, client.Now(t))
		data, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"resourceVersion": node.ResourceVersion}, "spec": map[string]any{"taints": taints},
		})
		if err != nil {
			return err
		}
		_, err = c.Client.Patch(t, client.Nodes, "", node.Name, types.MergePatchType, data, "")
		if err == nil {
			c.report(t, node, taints)
			return nil
		}
		if !apierrors.IsConflict(err) || try == updateTries {
			return err
		}
		if node, err = client.Get[*corev1.Node](t, c.Client, client.Nodes, "", node.Name); err != nil {
			return err
		}
	}
}

func apply(have, add, remove []corev1.Taint, now metav1.Time) []corev1.Taint {
	out := []corev1.Taint{}
	for _, taint := range have {
		same := func(o corev1.Taint) bool { return o.Key == taint.Key && o.Effect == taint.Effect }
		if !slices.ContainsFunc(remove, same) && !slices.ContainsFunc(add, same) {
			out = append(out, taint)
		}
	}
	for _, taint := range add {
		taint.TimeAdded = &now
		out = append(out, taint)
	}
	return out
}

func (c *Controller) report(t *sim.Task, node *corev1.Node, taints []corev1.Taint) {
	ready := ""
	if cond := condition(node, corev1.NodeReady); cond != nil {
		ready = string(cond.Status)
	}
	names := make([]string, len(taints))
	for i := range taints {
		names[i] = taints[i].ToString()
	}
	t.Emit(trace.Event{Kind: trace.NodeStatus, Object: client.RefOf(node), Payload: &trace.NodeReport{
		Node: node.Name, By: c.Name(), Ready: ready, Taints: names, Note: "taints changed",
	}})
}

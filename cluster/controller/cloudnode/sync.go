package cloudnode

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"kviz/cluster/client"
	"kviz/cluster/controller/cloudprovider"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/sim"
)

// sync initializes a node that has the taint, or reconciles the labels of one that has not
// (syncNode).
func (c *Controller) sync(run *reconcile.Run) error {
	obj, ok := c.nodes.Get(run.Key)
	if !ok {
		run.Gone()
		return nil
	}
	node := obj.(*corev1.Node)
	if !tainted(node) {
		return c.reconcileLabels(run, node)
	}
	m, err := c.metadata(run.T, node)
	if err != nil {
		run.Waits("Node %s keeps the taint %s: the cloud knows no instance of it (%v)", node.Name, Taint, err)
		return fmt.Errorf("failed to get instance metadata for node %s: %v", node.Name, err)
	}
	if m == nil {
		run.Waits("Node %s keeps the taint %s: the cloud says nothing of it", node.Name, Taint)
		return nil
	}
	change, says, err := changes(node, m)
	if err != nil {
		run.Waits("Node %s keeps the taint %s: its kubelet asks for an address (--node-ip) that the cloud does not give it", node.Name, Taint)
		return fmt.Errorf("failed to get node modifiers from cloud provider: %v", err)
	}
	// As often as upstream tries it, 20 times (UpdateNodeSpecBackoff).
	if err := reconcile.OnConflict(run.T, specTries, func() error { return c.initialize(run, m, change, says) }); err != nil {
		return err
	}
	c.Events.Event(run.T, node, corev1.EventTypeNormal, "Synced", "Node synced successfully")
	return nil
}

// specTries are the waits between tries of a write that meets a conflict (UpdateNodeSpecBackoff),
// labelTries those of a patch of labels (updateLabelBackoff).
var (
	specTries  = slices.Repeat([]time.Duration{50 * time.Millisecond}, 19)
	labelTries = slices.Repeat([]time.Duration{100 * time.Millisecond}, 4)
)

// initialize writes what the cloud says into the node as the cache has it now.
func (c *Controller) initialize(run *reconcile.Run, m *cloudprovider.Metadata, change func(*corev1.Node), says string) error {
	obj, ok := c.nodes.Get(run.Key)
	if !ok {
		return apierrors.NewNotFound(corev1.Resource("node"), run.Key)
	}
	old := obj.(*corev1.Node)
	updated := old.DeepCopy()
	change(updated)
	run.Act("update", client.RefOf(old), taints(updated), taints(old), "Node %s registered with the taint %s, and the cloud knows its machine: write %s, and take the taint off", old.Name, Taint, says)
	if _, err := client.Update(run.T, c.Client, client.Nodes, "", updated); err != nil {
		return err
	}
	// So that nobody waits for the addresses until the next look at all nodes.
	c.updateAddresses(run.T, updated, m)
	return nil
}

func taints(n *corev1.Node) string {
	if len(n.Spec.Taints) == 0 {
		return "no taint"
	}
	var list []string
	for _, t := range n.Spec.Taints {
		list = append(list, t.ToString())
	}
	return strings.Join(list, ", ")
}

// tainted reports whether a node is not initialized (getCloudTaint).
func tainted(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == Taint })
}

// metadata is what the cloud says of a node's instance, with the provider ID that the node
// has already (getInstanceMetadata).
func (c *Controller) metadata(t *sim.Task, node *corev1.Node) (*cloudprovider.Metadata, error) {
	m, err := c.instances.Metadata(t, node)
	if err != nil {
		return nil, err
	}
	if m != nil && m.ProviderID == "" {
		if node.Spec.ProviderID == "" {
			return m, fmt.Errorf("cloud provider does not set node provider ID for node %s", node.Name)
		}
		m.ProviderID = node.Spec.ProviderID
	}
	return m, nil
}

// kubernetes are the labels that no cloud may set besides those that mean something
// (k8sNamespaceRegex).
var kubernetes = regexp.MustCompile(`(^|\.)(kubernetes|k8s)\.io/`)

// changes is how a node changes with what the cloud says, and the same in words
// (getNodeModifiersFromCloudProvider).
func changes(node *corev1.Node, m *cloudprovider.Metadata) (change func(*corev1.Node), says string, err error) {
	if _, err := addressesOf(node, m.Addresses); err != nil {
		return nil, "", fmt.Errorf("provided node ip for node %q is not valid: %w", node.Name, err)
	}
	set := map[string]string{}
	var parts []string
	label := func(value, what string, keys ...string) {
		if value == "" {
			return
		}
		for _, k := range keys {
			set[k] = value
		}
		parts = append(parts, what+" "+value)
	}
	if node.Spec.ProviderID == "" && m.ProviderID != "" {
		parts = append(parts, "its provider ID "+m.ProviderID)
	}
	label(m.Type, "the instance type", corev1.LabelInstanceType, corev1.LabelInstanceTypeStable)
	label(m.Zone, "the zone", corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyZone)
	label(m.Region, "the region", corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyRegion)
	if len(parts) == 0 {
		parts = append(parts, "nothing")
	}
	hasID := node.Spec.ProviderID != ""
	return func(n *corev1.Node) {
		if !hasID && m.ProviderID != "" {
			n.Spec.ProviderID = m.ProviderID
		}
		if n.Labels == nil && len(set)+len(m.Labels) > 0 {
			n.Labels = map[string]string{}
		}
		maps.Copy(n.Labels, set)
		for _, k := range slices.Sorted(maps.Keys(m.Labels)) {
			if _, has := n.Labels[k]; !has && !kubernetes.MatchString(k) {
				n.Labels[k] = m.Labels[k]
			}
		}
		n.Spec.Taints = slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t corev1.Taint) bool { return t.Key == Taint })
	}, strings.Join(parts, ", "), nil
}

// twice are the labels that have an old spelling and a new one, which follows it
// (labelReconcileInfo).
var twice = []struct{ old, now string }{
	{corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyZone},
	{corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyRegion},
	{corev1.LabelInstanceType, corev1.LabelInstanceTypeStable},
}

// reconcileLabels has the labels in the new spelling follow those in the old one
// (reconcileNodeLabels).
func (c *Controller) reconcileLabels(run *reconcile.Run, node *corev1.Node) error {
	set := map[string]string{}
	for _, l := range twice {
		v, ok := node.Labels[l.old]
		if now, has := node.Labels[l.now]; ok && (!has || now != v) {
			set[l.now] = v
		}
	}
	if len(set) == 0 {
		return nil
	}
	var says []string
	for _, l := range twice {
		if v, ok := set[l.now]; ok {
			says = append(says, fmt.Sprintf("%s is %s, and %s has to be the same", l.old, orNothing(v), l.now))
		}
	}
	run.Act("patch", client.RefOf(node), nil, nil, "Of node %s, %s", node.Name, strings.Join(says, "; "))
	if err := reconcile.OnConflict(run.T, labelTries, func() error { return c.label(run.T, node.Name, set) }); err != nil {
		return fmt.Errorf("failed update labels for node %s: %w", node.Name, err)
	}
	return nil
}

func orNothing(v string) string {
	if v == "" {
		return "empty"
	}
	return v
}

// label is cloudnodeutil.AddOrUpdateLabelsOnNode.
func (c *Controller) label(t *sim.Task, name string, set map[string]string) error {
	node, err := client.Get[*corev1.Node](t, c.Client, client.Nodes, "", name)
	if err != nil {
		return err
	}
	updated := node.DeepCopy()
	if updated.Labels == nil {
		updated.Labels = map[string]string{}
	}
	maps.Copy(updated.Labels, set)
	patch, err := difference(node, updated)
	if err != nil {
		return err
	}
	if _, err := c.Client.Patch(t, client.Nodes, "", name, types.StrategicMergePatchType, patch, ""); err != nil {
		return fmt.Errorf("failed to patch the node: %w", err)
	}
	return nil
}

// difference is the strategic merge patch from one node to another.
func difference(old, now *corev1.Node) ([]byte, error) {
	a, errA := json.Marshal(old)
	b, errB := json.Marshal(now)
	if err := errors.Join(errA, errB); err != nil {
		return nil, err
	}
	return strategicpatch.CreateTwoWayMergePatch(a, b, corev1.Node{})
}

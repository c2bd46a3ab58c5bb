package volumebinding

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/storage/volume"
	csitrans "k8s.io/csi-translation-lib"
	csiplugins "k8s.io/csi-translation-lib/plugins"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"kviz/cluster/scheduler/framework"
)

var translator = csitrans.New()

// find is what would be done for the pod's claims on a node, or why the node will not do.
//
// Mirrors binder.go FindPodVolumes.
func (pl *VolumeBinding) find(s *state, node *corev1.Node) (c *choice, reasons []string, err error) {
	c = &choice{}
	if len(s.bound) > 0 {
		reason, err := pl.reachable(s.bound, node)
		if err != nil {
			return nil, nil, err
		}
		if reason != "" {
			reasons = append(reasons, reason)
		}
	}
	var match, provide []*corev1.PersistentVolumeClaim
	for _, claim := range s.waiting {
		switch selected, ok := claim.Annotations[volume.AnnSelectedNode]; {
		case !ok:
			match = append(match, claim)
		case selected != node.Name:
			return nil, ordered(append(reasons, ErrReasonBindConflict)), nil
		default:
			provide = append(provide, claim)
		}
	}
	more, err := c.match(s, match, node, pl.affinities)
	if err != nil {
		return nil, nil, err
	}
	if provide = append(provide, more...); len(provide) > 0 {
		reason, err := pl.provide(c, provide, node)
		if err != nil {
			return nil, nil, err
		}
		if reason != "" {
			reasons = append(reasons, reason)
		}
	}
	return c, ordered(reasons), nil
}

// ordered puts reasons into upstream's order.
func ordered(reasons []string) []string {
	rank := []string{ErrReasonNodeConflict, ErrReasonBindConflict, ErrReasonNotEnoughSpace, ErrReasonPVNotExist}
	slices.SortFunc(reasons, func(a, b string) int { return slices.Index(rank, a) - slices.Index(rank, b) })
	return reasons
}

// reachable says why one of the bound claims' volumes cannot be reached from the node.
//
// Mirrors binder.go checkBoundClaims.
func (pl *VolumeBinding) reachable(claims []*corev1.PersistentVolumeClaim, node *corev1.Node) (reason string, err error) {
	csiNode := pl.Storage.CSINode(node.Name)
	for _, claim := range claims {
		v, err := pl.volumes.get(claim.Spec.VolumeName)
		if apierrors.IsNotFound(err) {
			return ErrReasonPVNotExist, nil
		}
		if err != nil {
			return "", err
		}
		if v, err = translated(v, csiNode); err != nil {
			return "", err
		}
		if !pl.affinities.reaches(v, node.Labels) {
			return ErrReasonNodeConflict, nil
		}
	}
	return "", nil
}

// match chooses volumes for claims, the smallest claim first; more are the claims that none was found for.
//
// Mirrors binder.go findMatchingVolumes.
func (c *choice) match(s *state, claims []*corev1.PersistentVolumeClaim, node *corev1.Node, known affinities) (more []*corev1.PersistentVolumeClaim, err error) {
	slices.SortStableFunc(claims, func(a, b *corev1.PersistentVolumeClaim) int {
		x, y := a.Spec.Resources.Requests[corev1.ResourceStorage], b.Spec.Resources.Requests[corev1.ResourceStorage]
		return x.Cmp(y)
	})
	chosen := map[string]*corev1.PersistentVolume{}
	for _, claim := range claims {
		list := s.candidates[volume.GetPersistentVolumeClaimClass(claim)]
		judged := known.judged(list, node.Labels)
		v, err := volume.FindMatchingVolume(claim, judged, node, chosen, true, true)
		switch {
		case err != nil:
			return nil, err
		case v == nil:
			more = append(more, claim)
		default:
			v = whole(v, list, judged)
			chosen[v.Name] = v
			c.bindings = append(c.bindings, binding{claim, v})
		}
	}
	return more, nil
}

// provide has new volumes made for claims, or says why that is not possible on the node.
//
// Mirrors binder.go checkVolumeProvisions.
func (pl *VolumeBinding) provide(c *choice, claims []*corev1.PersistentVolumeClaim, node *corev1.Node) (reason string, err error) {
	for _, claim := range claims {
		name := volume.GetPersistentVolumeClaimClass(claim)
		if name == "" {
			return "", fmt.Errorf("no class for claim %q", claim.Namespace+"/"+claim.Name)
		}
		class, err := pl.Storage.Classes().Get(name)
		if err != nil {
			return "", fmt.Errorf("failed to find storage class %q", name)
		}
		if class.Provisioner == "" || class.Provisioner == volume.NotSupportedProvisioner ||
			!v1helper.MatchTopologySelectorTerms(class.AllowedTopologies, labels.Set(node.Labels)) {
			c.provisions = nil
			return ErrReasonBindConflict, nil
		}
		enough, capacity := pl.enough(claim, class, node)
		if !enough {
			c.provisions = nil
			return ErrReasonNotEnoughSpace, nil
		}
		c.provisions = append(c.provisions, provision{claim, capacity})
	}
	return "", nil
}

// enough reports whether the driver has room for the claim that the node can reach, and where, if
// the driver says so at all.
//
// Mirrors binder.go hasEnoughCapacity.
func (pl *VolumeBinding) enough(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, node *corev1.Node) (bool, *storagev1.CSIStorageCapacity) {
	size, asked := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if !asked {
		return true, nil
	}
	driver := pl.Storage.CSIDriver(class.Provisioner)
	if driver == nil || driver.Spec.StorageCapacity == nil || !*driver.Spec.StorageCapacity {
		return true, nil
	}
	for _, c := range pl.Storage.Capacities() {
		if limit := limitOf(c); c.StorageClassName == class.Name && limit != nil && limit.Value() >= size.Value() && near(c, node) {
			return true, c
		}
	}
	return false, nil
}

func near(c *storagev1.CSIStorageCapacity, node *corev1.Node) bool {
	if c.NodeTopology == nil {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(c.NodeTopology)
	return err == nil && selector.Matches(labels.Set(node.Labels))
}

// translated is the volume as the driver sees it that has replaced one of Kubernetes' own
// volume plugins on the node; others stay as they are.
//
// Mirrors binder.go tryTranslatePVToCSI.
func translated(v *corev1.PersistentVolume, csiNode *storagev1.CSINode) (*corev1.PersistentVolume, error) {
	if !translator.IsPVMigratable(v) {
		return v, nil
	}
	plugin, err := translator.GetInTreePluginNameFromSpec(v, nil)
	if err != nil {
		return nil, fmt.Errorf("could not get plugin name from pv: %w", err)
	}
	if !migrated(csiNode, plugin) {
		return v, nil
	}
	csi, err := translator.TranslateInTreePVToCSI(logr.Discard(), v)
	if err != nil {
		return nil, fmt.Errorf("could not translate pv: %w", err)
	}
	return csi, nil
}

func migrated(csiNode *storagev1.CSINode, plugin string) bool {
	switch plugin {
	case csiplugins.AWSEBSInTreePluginName, csiplugins.GCEPDInTreePluginName, csiplugins.AzureDiskInTreePluginName,
		csiplugins.CinderInTreePluginName, csiplugins.PortworxVolumePluginName:
	default:
		return false
	}
	return csiNode != nil && slices.Contains(strings.Split(csiNode.Annotations[corev1.MigratedPluginsAnnotationKey], ","), plugin)
}

const maxUtilization = 100

// line is the shape's score of a percentage, between its points on a straight line.
//
// Mirrors framework/plugins/helper/shape_score.go BuildBrokenLinearFunction.
func (pl *VolumeBinding) line(used int64) int64 {
	const scale = framework.MaxNodeScore / config.MaxCustomPriorityScore
	for i, p := range pl.shape {
		x, y := int64(p.Utilization), int64(p.Score)*scale
		switch {
		case used > x:
			continue
		case i == 0:
			return y
		}
		x0, y0 := int64(pl.shape[i-1].Utilization), int64(pl.shape[i-1].Score)*scale
		return y0 + (y-y0)*(used-x0)/(x-x0)
	}
	return int64(pl.shape[len(pl.shape)-1].Score) * scale
}

// PreScore skips a pod that has nothing to bind: it would have 0 on every node.
func (*VolumeBinding) PreScore(cs *framework.CycleState, _ *corev1.Pod, _ []*framework.NodeInfo) *framework.Status {
	if s := framework.Read[*state](cs, Name); s == nil || !s.toScore {
		return skip
	}
	return nil
}

// Score rates nodes by the percentage that is used, of their volumes or of the room that their
// drivers have for new ones: by default by 100 less it, averaged over classes.
//
// Mirrors volume_binding.go Score and scorer.go.
func (pl *VolumeBinding) Score(cs *framework.CycleState, _ *corev1.Pod, node *framework.NodeInfo) int64 {
	c := framework.Read[*state](cs, Name).nodes[node.Node.Name]
	if c == nil {
		return 0
	}
	type amounts struct{ requested, capacity int64 }
	classes := map[string]amounts{}
	for _, b := range c.bindings {
		requested, capacity := b.claim.Spec.Resources.Requests[corev1.ResourceStorage], b.volume.Spec.Capacity[corev1.ResourceStorage]
		a := classes[b.volume.Spec.StorageClassName]
		classes[b.volume.Spec.StorageClassName] = amounts{a.requested + requested.Value(), a.capacity + capacity.Value()}
	}
	for _, p := range c.provisions {
		if len(c.bindings) > 0 || p.capacity == nil {
			continue
		}
		requested := p.claim.Spec.Resources.Requests[corev1.ResourceStorage]
		// All claims of a class take from the same room.
		class, room := volume.GetPersistentVolumeClaimClass(p.claim), int64(0)
		if p.capacity.Capacity != nil {
			room = p.capacity.Capacity.Value()
		}
		classes[class] = amounts{classes[class].requested + requested.Value(), room}
	}
	if len(classes) == 0 {
		return 0
	}
	var sum int64
	for _, a := range classes {
		used := int64(maxUtilization)
		if a.capacity > 0 && a.requested <= a.capacity {
			used = a.requested * maxUtilization / a.capacity
		}
		sum += pl.line(used)
	}
	n := int64(len(classes))
	return (2*sum + n) / (2 * n) // rounded
}

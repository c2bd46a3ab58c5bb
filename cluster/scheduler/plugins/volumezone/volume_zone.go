// Package volumezone is the VolumeZone plugin: a volume with the label of a zone or region is
// only to be had on the nodes there. Drivers of today say the same by the volume's node
// affinity, which VolumeBinding looks at.
//
// Mirrors pkg/scheduler/framework/plugins/volumezone.
// Start reading at [VolumeZone.PreFilter].
package volumezone

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/storage/volume"

	"kviz/cluster/scheduler/framework"
)

const (
	// Name is the plugin's name.
	Name = "VolumeZone"
	// ErrReasonConflict is why a node is rejected.
	ErrReasonConflict = "node(s) had no available volume zone"
)

// Storage is what the plugin needs to know of claims and volumes.
type Storage interface {
	Claim(namespace, name string) (*corev1.PersistentVolumeClaim, error)
	Volume(name string) (*corev1.PersistentVolume, error)
	Class(name string) (*storagev1.StorageClass, error)
}

// VolumeZone is the plugin.
type VolumeZone struct{ Storage Storage }

var (
	conflict = framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, ErrReasonConflict)
	skip     = framework.NewStatus(Name, framework.Skip)
)

// topology is a label of a volume, and which values of it a node may have.
type topology struct {
	key    string
	values []string
}

var topologyLabels = []string{
	corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyZone, corev1.LabelTopologyRegion,
}

// ofToday is the label that an old one was replaced with.
var ofToday = map[string]string{
	corev1.LabelFailureDomainBetaZone: corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaRegion: corev1.LabelTopologyRegion,
}

// Name is [Name].
func (*VolumeZone) Name() string { return Name }

// SignPod: the volumes.
func (*VolumeZone) SignPod(pod *corev1.Pod) ([]framework.SignFragment, *framework.Status) {
	return framework.SignVolumes(pod), nil
}

// PreFilter gathers the labels of the pod's volumes, and skips a pod whose volumes have none.
func (pl *VolumeZone) PreFilter(cs *framework.CycleState, pod *corev1.Pod, _ []*framework.NodeInfo) (*framework.PreFilterResult, *framework.Status) {
	var all []topology
	for i := range pod.Spec.Volumes {
		c := pod.Spec.Volumes[i].PersistentVolumeClaim
		if c == nil {
			continue
		}
		more, st := pl.topologies(pod.Namespace, c.ClaimName)
		if st != nil {
			return nil, st
		}
		all = append(all, more...)
	}
	if len(all) == 0 {
		return nil, skip
	}
	cs.Write(Name, all)
	return nil, nil
}

func rejected(reason string) *framework.Status {
	return framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, reason)
}

func failed(err error) *framework.Status {
	if apierrors.IsNotFound(err) {
		return rejected(err.Error())
	}
	return framework.AsStatus(Name, err)
}

// topologies are those of a claim's volume, none while the claim waits for its first pod.
func (pl *VolumeZone) topologies(namespace, name string) ([]topology, *framework.Status) {
	if name == "" {
		return nil, rejected("PersistentVolumeClaim had no name")
	}
	claim, err := pl.Storage.Claim(namespace, name)
	if err != nil {
		return nil, failed(err)
	}
	if claim.Spec.VolumeName == "" {
		return nil, pl.waits(claim)
	}
	v, err := pl.Storage.Volume(claim.Spec.VolumeName)
	if err != nil {
		return nil, failed(err)
	}
	return topologiesOf(v), nil
}

// waits is nil for a claim that waits for its first pod.
func (pl *VolumeZone) waits(claim *corev1.PersistentVolumeClaim) *framework.Status {
	name := volume.GetPersistentVolumeClaimClass(claim)
	if name == "" {
		return rejected("PersistentVolumeClaim had no pv name and storageClass name")
	}
	class, err := pl.Storage.Class(name)
	switch {
	case err != nil:
		return failed(err)
	case class.VolumeBindingMode == nil:
		return rejected(fmt.Sprintf("VolumeBindingMode not set for StorageClass %q", name))
	case *class.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer:
		return rejected("PersistentVolume had no name")
	}
	return nil
}

func topologiesOf(v *corev1.PersistentVolume) (all []topology) {
	for _, key := range topologyLabels {
		if value, ok := v.Labels[key]; ok {
			if zones := zones(value); zones != nil {
				all = append(all, topology{key, zones})
			}
		}
	}
	return all
}

// zones reads "a__b"; nil if one of them is empty.
//
// Mirrors k8s.io/cloud-provider/volume/helpers LabelZonesToSet.
func zones(value string) []string {
	list := strings.Split(value, "__")
	for i, z := range list {
		if list[i] = strings.TrimSpace(z); list[i] == "" {
			return nil
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Filter rejects a node that is elsewhere. A node without any label of a place passes.
func (*VolumeZone) Filter(cs *framework.CycleState, _ *corev1.Pod, node *framework.NodeInfo) *framework.Status {
	labels := node.Node.Labels
	if !slices.ContainsFunc(topologyLabels, func(key string) bool { _, ok := labels[key]; return ok }) {
		return nil
	}
	for _, t := range framework.Read[[]topology](cs, Name) {
		v, ok := labels[t.key]
		if key := ofToday[t.key]; !ok && key != "" {
			v, ok = labels[key]
		}
		if !ok || !slices.Contains(t.values, v) {
			return conflict
		}
	}
	return nil
}

// EventsToRegister: a class whose claims wait for their first pod, a node with other labels, a claim, a volume
// with other labels.
func (*VolumeZone) EventsToRegister() []framework.ClusterEventWithHint {
	return []framework.ClusterEventWithHint{
		{Event: framework.ClusterEvent{Resource: framework.StorageClass, Action: framework.Add}, Hint: afterClass},
		{Event: framework.ClusterEvent{Resource: framework.Node, Action: framework.Add | framework.UpdateNodeLabel}},
		{Event: framework.ClusterEvent{Resource: framework.PersistentVolumeClaim, Action: framework.Add | framework.Update}, Hint: afterClaim},
		{Event: framework.ClusterEvent{Resource: framework.PersistentVolume, Action: framework.Add | framework.Update}, Hint: afterVolume},
	}
}

func afterClass(_ *corev1.Pod, _, new runtime.Object) bool {
	class, ok := new.(*storagev1.StorageClass)
	return !ok || class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

func afterClaim(pod *corev1.Pod, _, new runtime.Object) bool {
	claim, ok := new.(*corev1.PersistentVolumeClaim)
	if !ok {
		return true
	}
	return claim.Namespace == pod.Namespace && slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.Name
	})
}

func afterVolume(_ *corev1.Pod, old, new runtime.Object) bool {
	was, before := old.(*corev1.PersistentVolume)
	is, ok := new.(*corev1.PersistentVolume)
	if !ok || !before {
		return true
	}
	return !slices.EqualFunc(topologiesOf(was), topologiesOf(is), func(a, b topology) bool {
		return a.key == b.key && slices.Equal(a.values, b.values)
	})
}

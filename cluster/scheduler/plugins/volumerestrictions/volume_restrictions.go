// Package volumerestrictions is the VolumeRestrictions plugin: a claim with the access mode
// ReadWriteOncePod is for one pod at a time in the whole cluster, and some disks that a pod
// names itself are for one pod on a node.
//
// Mirrors pkg/scheduler/framework/plugins/volumerestrictions.
// Start reading at [VolumeRestrictions.PreFilter].
package volumerestrictions

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/scheduler/framework"
)

const (
	// Name is the plugin's name.
	Name = "VolumeRestrictions"
	// ErrReasonDiskConflict is why a node is rejected where another pod has the disk.
	ErrReasonDiskConflict = "node(s) had no available disk"
	// ErrReasonReadWriteOncePodConflict is why all nodes are rejected while another pod
	// has the claim.
	ErrReasonReadWriteOncePodConflict = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)

// Claims is what the plugin needs to know of claims.
type Claims interface {
	Claim(namespace, name string) (*corev1.PersistentVolumeClaim, error)
	// ClaimInUse reports whether a pod on a node names the claim.
	ClaimInUse(namespace, name string) bool
}

// VolumeRestrictions is the plugin.
type VolumeRestrictions struct{ Claims Claims }

var (
	diskConflict  = framework.NewStatus(Name, framework.Unschedulable, ErrReasonDiskConflict)
	claimConflict = framework.NewStatus(Name, framework.Unschedulable, ErrReasonReadWriteOncePodConflict)
	skip          = framework.NewStatus(Name, framework.Skip)
)

// state is the pod's claims with the access mode ReadWriteOncePod, and how often pods on
// nodes name them.
type state struct {
	exclusive []string
	uses      int
}

// CloneState implements [framework.StateCloner].
func (s *state) CloneState() any {
	c := *s
	return &c
}

// count adds the pod's uses of the claims. As in upstream, a claim of the same name in another
// namespace counts as well.
func (s *state) count(pod *corev1.Pod, sign int) {
	for i := range pod.Spec.Volumes {
		if c := pod.Spec.Volumes[i].PersistentVolumeClaim; c != nil && slices.Contains(s.exclusive, c.ClaimName) {
			s.uses += sign
		}
	}
}

// Name is [Name].
func (*VolumeRestrictions) Name() string { return Name }

// SignPod: the volumes.
func (*VolumeRestrictions) SignPod(pod *corev1.Pod) ([]framework.SignFragment, *framework.Status) {
	return framework.SignVolumes(pod), nil
}

// PreFilter skips pods whose claims nobody else has, and that name no disks.
func (pl *VolumeRestrictions) PreFilter(cs *framework.CycleState, pod *corev1.Pod, _ []*framework.NodeInfo) (*framework.PreFilterResult, *framework.Status) {
	s, disks := &state{}, false
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		disks = disks || restricted(v)
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim, err := pl.Claims.Claim(pod.Namespace, v.PersistentVolumeClaim.ClaimName)
		switch {
		case apierrors.IsNotFound(err):
			return nil, framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, err.Error())
		case err != nil:
			return nil, framework.AsStatus(Name, err)
		case slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod) && !slices.Contains(s.exclusive, claim.Name):
			s.exclusive = append(s.exclusive, claim.Name)
			if pl.Claims.ClaimInUse(pod.Namespace, claim.Name) {
				s.uses++ // only one pod can have it
			}
		}
	}
	if !disks && s.uses == 0 {
		return nil, skip
	}
	cs.Write(Name, s)
	return nil, nil
}

// AddPod implements [framework.PreFilterExtensions].
func (*VolumeRestrictions) AddPod(cs *framework.CycleState, _ *corev1.Pod, added *framework.PodInfo, _ *framework.NodeInfo) {
	if s := framework.Read[*state](cs, Name); s != nil {
		s.count(added.Pod, 1)
	}
}

// RemovePod implements [framework.PreFilterExtensions].
func (*VolumeRestrictions) RemovePod(cs *framework.CycleState, _ *corev1.Pod, removed *framework.PodInfo, _ *framework.NodeInfo) {
	if s := framework.Read[*state](cs, Name); s != nil {
		s.count(removed.Pod, -1)
	}
}

// ReplaceNode implements [framework.PreFilterExtensions].
func (*VolumeRestrictions) ReplaceNode(cs *framework.CycleState, _ *corev1.Pod, was, is *framework.NodeInfo) {
	s := framework.Read[*state](cs, Name)
	if s == nil {
		return
	}
	for key, p := range was.Pods {
		if is.Pods[key] == nil {
			s.count(p.Pod, -1)
		}
	}
	for key, p := range is.Pods {
		if was.Pods[key] == nil {
			s.count(p.Pod, 1)
		}
	}
}

// Filter rejects a node whose pods have the pod's disks, and any node while another pod has its claims.
func (*VolumeRestrictions) Filter(cs *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) *framework.Status {
	for i := range pod.Spec.Volumes {
		if !restricted(&pod.Spec.Volumes[i]) {
			continue
		}
		for _, p := range node.Pods {
			if conflict(&pod.Spec.Volumes[i], p.Pod) {
				return diskConflict
			}
		}
	}
	if s := framework.Read[*state](cs, Name); s != nil && s.uses > 0 {
		return claimConflict
	}
	return nil
}

// restricted reports whether a volume is a disk of those that one pod has at a time.
func restricted(v *corev1.Volume) bool {
	return v.GCEPersistentDisk != nil || v.AWSElasticBlockStore != nil || v.RBD != nil || v.ISCSI != nil
}

// conflict reports whether a pod has the same disk, unless both only read it.
func conflict(v *corev1.Volume, pod *corev1.Pod) bool {
	for i := range pod.Spec.Volumes {
		if sameDisk(v, &pod.Spec.Volumes[i]) {
			return true
		}
	}
	return false
}

func sameDisk(a, b *corev1.Volume) bool {
	if a, b := a.GCEPersistentDisk, b.GCEPersistentDisk; a != nil && b != nil && a.PDName == b.PDName && !(a.ReadOnly && b.ReadOnly) {
		return true
	}
	if a, b := a.AWSElasticBlockStore, b.AWSElasticBlockStore; a != nil && b != nil && a.VolumeID == b.VolumeID {
		return true
	}
	if a, b := a.ISCSI, b.ISCSI; a != nil && b != nil && a.IQN == b.IQN && !(a.ReadOnly && b.ReadOnly) {
		return true
	}
	if a, b := a.RBD, b.RBD; a != nil && b != nil && a.RBDPool == b.RBDPool && a.RBDImage == b.RBDImage && !(a.ReadOnly && b.ReadOnly) {
		return slices.ContainsFunc(a.CephMonitors, func(m string) bool { return slices.Contains(b.CephMonitors, m) })
	}
	return false
}

// EventsToRegister: a pod that had the disk or the claim goes, a node comes, the claim comes.
func (*VolumeRestrictions) EventsToRegister() []framework.ClusterEventWithHint {
	return []framework.ClusterEventWithHint{
		{Event: framework.ClusterEvent{Resource: framework.AssignedPod, Action: framework.Delete}, Hint: afterPod},
		{Event: framework.ClusterEvent{Resource: framework.Node, Action: framework.Add}},
		{Event: framework.ClusterEvent{Resource: framework.PersistentVolumeClaim, Action: framework.Add}, Hint: afterClaim},
	}
}

func afterPod(pod *corev1.Pod, old, _ runtime.Object) bool {
	gone, ok := old.(*corev1.Pod)
	if !ok || gone.Namespace != pod.Namespace {
		return !ok
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if restricted(v) && conflict(v, gone) {
			return true
		}
		if c := v.PersistentVolumeClaim; c != nil && names(gone, c.ClaimName) {
			return true
		}
	}
	return false
}

func afterClaim(pod *corev1.Pod, _, new runtime.Object) bool {
	claim, ok := new.(*corev1.PersistentVolumeClaim)
	return !ok || claim.Namespace == pod.Namespace && names(pod, claim.Name)
}

// names reports whether a pod names a claim of its namespace.
func names(pod *corev1.Pod, claim string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim
	})
}

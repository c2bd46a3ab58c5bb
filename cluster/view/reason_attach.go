package view

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// attachDetach is the controller that has volumes attached and detached.
const attachDetach = "persistentvolume-attach-detach-controller"

// attaching says of a pod on a node which of its volumes is not attached there yet, and why not; nil
// where none is missing. is begins the sentence.
func (s *State) attaching(o *Object, pod *corev1.Pod, is string) *Reason {
	if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil }) {
		return nil
	}
	node := valueOf[*corev1.Node](s, "nodes", "", pod.Spec.NodeName)
	if node == nil {
		return nil
	}
	for i := range pod.Spec.Volumes {
		claim, pv := s.volumeOf(pod, &pod.Spec.Volumes[i])
		if pv == nil || !s.attachable(pv) || has(node.Status.VolumesAttached, pv) {
			continue
		}
		a := s.notAttached(pv, node.Name)
		a.Says = fmt.Sprintf("%sits volume %s (claim %s) is not attached to %s yet: %s", is, pv.Name, claim, node.Name, a.Says)
		a.From = append(a.From, s.warnings(o)...)
		return a
	}
	return nil
}

// notAttached says why a volume is not attached to a node where a pod wants it.
func (s *State) notAttached(pv *corev1.PersistentVolume, node string) *Reason {
	if va, o := s.attachmentTo(pv, node); va != nil {
		a := &Reason{From: []Keeper{{What: "volumeattachment " + va.Name, Why: "asks " + va.Spec.Attacher + " for it", Ref: o.Ref, Event: o.Changed}}}
		switch st := &va.Status; {
		case va.DeletionTimestamp != nil:
			a.Says = "it is being detached from there first" + tail(": ", said(st.DetachError))
		case st.Attached:
			a.Says = "its driver has attached it, and the node's status.volumesAttached does not say so yet"
			a.From = append(a.From, s.attachDetachStands()...)
		case st.AttachError != nil:
			a.Says = "its driver cannot attach it: " + said(st.AttachError)
		default:
			a.Says = "its driver " + va.Spec.Attacher + " has not attached it yet"
		}
		return a
	}
	if other := s.holder(pv, node); other != nil {
		return s.heldBy(pv, other)
	}
	a := &Reason{Says: "no VolumeAttachment asks its driver for it", From: s.attachDetachStands()}
	if st := s.Standing(attachDetach); !st.Works {
		a.Says += ", and the " + attachDetach + ", which would create it, " + st.Why
	}
	return a
}

// heldBy says what keeps a volume on another node, which alone can have it.
func (s *State) heldBy(pv *corev1.PersistentVolume, node *corev1.Node) *Reason {
	a := sentence("it is attached to %s, and to one node at a time only (%s)", node.Name, pv.Spec.AccessModes[0])
	users := s.usersOn(pv, node.Name)
	for _, user := range users {
		if len(a.From) == 0 {
			a.Says += ", where pod " + user.Name() + " uses it"
		}
		a.From = append(a.From, Keeper{What: "pods " + user.Name(), Why: "uses it on " + node.Name, Ref: user.Ref, Event: user.Changed})
	}
	if va, o := s.attachmentTo(pv, node.Name); va != nil {
		a.From = append(a.From, Keeper{What: "volumeattachment " + va.Name, Why: "has it on " + node.Name, Ref: o.Ref, Event: o.Changed})
	}
	switch mounted := slices.Contains(node.Status.VolumesInUse, uniqueName(pv)); {
	case len(users) > 0:
	case mounted && nodeReady(node):
		a.Says += ", where it is still mounted (status.volumesInUse): its kubelet unmounts it first"
	case mounted:
		a.Says += ", which is not ready and has not said that it has unmounted it: it is detached by force after 6 minutes"
		a.From = append(a.From, Keeper{What: "by hand", Good: true, Why: "if the machine is off, kubectl taint node " + node.Name + " " + corev1.TaintNodeOutOfService + "=nodeshutdown:NoExecute has it detached at once"})
	default:
		a.Says += ", from where it is being detached"
	}
	return a
}

// attachDetachStands is a line for the controller, where it does not work.
func (s *State) attachDetachStands() []Keeper {
	st := s.Standing(attachDetach)
	if st.Works {
		return nil
	}
	return []Keeper{{What: "controller " + attachDetach, Why: st.Why, Event: st.Event}}
}

// volumeAttachment says what has become of what a VolumeAttachment asks for.
func (s *State) volumeAttachment(o *Object) *Reason {
	va, ok := o.Value.(*storagev1.VolumeAttachment)
	if !ok || va.Spec.Source.PersistentVolumeName == nil {
		return nil
	}
	volume, node := *va.Spec.Source.PersistentVolumeName, va.Spec.NodeName
	a := &Reason{}
	switch st := &va.Status; {
	case va.DeletionTimestamp != nil && st.DetachError != nil:
		a.Says = fmt.Sprintf("%s cannot detach volume %s from %s: %s", va.Spec.Attacher, volume, node, said(st.DetachError))
	case va.DeletionTimestamp != nil:
		a.Says = fmt.Sprintf("%s has not detached volume %s from %s yet, and then takes its finalizer off", va.Spec.Attacher, volume, node)
	case st.Attached:
		a.Says = fmt.Sprintf("Volume %s is attached to %s", volume, node)
	case st.AttachError != nil:
		a.Says = fmt.Sprintf("%s cannot attach volume %s to %s: %s", va.Spec.Attacher, volume, node, said(st.AttachError))
	default:
		a.Says = fmt.Sprintf("%s has not attached volume %s to %s yet", va.Spec.Attacher, volume, node)
	}
	pv := valueOf[*corev1.PersistentVolume](s, "persistentvolumes", "", volume)
	if pv == nil {
		return a
	}
	users := s.usersOn(pv, node)
	for _, user := range users {
		a.From = append(a.From, Keeper{What: "pods " + user.Name(), Why: "wants it there", Good: true, Ref: user.Ref, Event: user.Changed})
	}
	on := valueOf[*corev1.Node](s, "nodes", "", node)
	switch {
	case len(users) > 0 || !va.Status.Attached || va.DeletionTimestamp != nil:
	case on != nil && slices.Contains(on.Status.VolumesInUse, uniqueName(pv)):
		a.Says += ", where no pod wants it any more: it is detached when " + node + " does not have it in status.volumesInUse any more"
		if !nodeReady(on) {
			a.Says += ", and, since the node is not ready, after 6 minutes in any case"
		}
	default:
		a.Says += ", where no pod wants it any more"
	}
	a.From = append(a.From, s.attachDetachStands()...)
	return a
}

// volumeOf is the claim behind a volume of a pod, and the PersistentVolume that it is bound to; nil for
// none.
func (s *State) volumeOf(pod *corev1.Pod, v *corev1.Volume) (claim string, pv *corev1.PersistentVolume) {
	switch {
	case v.PersistentVolumeClaim != nil:
		claim = v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		claim = pod.Name + "-" + v.Name
	default:
		return "", nil
	}
	pvc := valueOf[*corev1.PersistentVolumeClaim](s, "persistentvolumeclaims", pod.Namespace, claim)
	if pvc == nil || pvc.Status.Phase != corev1.ClaimBound {
		return claim, nil
	}
	return claim, valueOf[*corev1.PersistentVolume](s, "persistentvolumes", "", pvc.Spec.VolumeName)
}

// attachable reports whether a volume has to be attached before it is mounted.
func (s *State) attachable(pv *corev1.PersistentVolume) bool {
	if pv.Spec.CSI == nil {
		return false
	}
	driver := valueOf[*storagev1.CSIDriver](s, "csidrivers", "", pv.Spec.CSI.Driver)
	return driver == nil || driver.Spec.AttachRequired == nil || *driver.Spec.AttachRequired
}

// attachmentTo is the VolumeAttachment of a volume to a node; nil for none. Its name is a hash
// (csi_attacher.go getAttachmentName).
func (s *State) attachmentTo(pv *corev1.PersistentVolume, node string) (*storagev1.VolumeAttachment, *Object) {
	if pv.Spec.CSI == nil {
		return nil, nil
	}
	name := fmt.Sprintf("csi-%x", sha256.Sum256([]byte(pv.Spec.CSI.VolumeHandle+pv.Spec.CSI.Driver+node)))
	va := valueOf[*storagev1.VolumeAttachment](s, "volumeattachments", "", name)
	if va == nil {
		return nil, nil
	}
	return va, s.Object("volumeattachments", "", name)
}

// holder is another node that has a volume which only one can have; nil for none.
func (s *State) holder(pv *corev1.PersistentVolume, node string) *corev1.Node {
	if len(pv.Spec.AccessModes) == 0 || slices.ContainsFunc(pv.Spec.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool {
		return m == corev1.ReadWriteMany || m == corev1.ReadOnlyMany
	}) {
		return nil
	}
	for _, o := range s.Objects("volumeattachments", "") {
		va, ok := o.Value.(*storagev1.VolumeAttachment)
		if !ok || va.Spec.NodeName == node || va.Spec.Source.PersistentVolumeName == nil || *va.Spec.Source.PersistentVolumeName != pv.Name {
			continue
		}
		if other := valueOf[*corev1.Node](s, "nodes", "", va.Spec.NodeName); other != nil {
			return other
		}
		gone := &corev1.Node{}
		gone.Name = va.Spec.NodeName
		gone.Status.VolumesInUse = []corev1.UniqueVolumeName{uniqueName(pv)} // nobody says that it is not
		return gone
	}
	return nil
}

// usersOn are the pods on a node that want a volume.
func (s *State) usersOn(pv *corev1.PersistentVolume, node string) (users []*Object) {
	if pv.Spec.ClaimRef == nil {
		return nil
	}
	for _, o := range s.Objects("pods", pv.Spec.ClaimRef.Namespace) {
		pod, ok := o.Value.(*corev1.Pod)
		if !ok || pod.Spec.NodeName != node || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		if slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			claim, of := s.volumeOf(pod, &v)
			return of != nil && of.Name == pv.Name && claim == pv.Spec.ClaimRef.Name
		}) {
			users = append(users, o)
		}
	}
	return users
}

// uniqueName is a volume as nodes' statuses call it.
func uniqueName(pv *corev1.PersistentVolume) corev1.UniqueVolumeName {
	if pv.Spec.CSI == nil {
		return ""
	}
	return corev1.UniqueVolumeName("kubernetes.io/csi/" + pv.Spec.CSI.Driver + "^" + pv.Spec.CSI.VolumeHandle)
}

func has(attached []corev1.AttachedVolume, pv *corev1.PersistentVolume) bool {
	return slices.ContainsFunc(attached, func(a corev1.AttachedVolume) bool { return a.Name == uniqueName(pv) })
}

func nodeReady(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// said is what a driver says went wrong.
func said(err *storagev1.VolumeError) string {
	if err == nil {
		return ""
	}
	return strings.TrimSuffix(err.Message, ".")
}

// valueOf is an object's value; nil if there is none of it.
func valueOf[T any](s *State, kind, namespace, name string) (none T) {
	if o := s.Object(kind, namespace, name); o != nil && !o.Deleted {
		if v, ok := o.Value.(T); ok {
			return v
		}
	}
	return none
}

package view

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/component-helpers/storage/volume"
)

// VolumeStanding is how a claim and its volume stand, all along the chain: whether there is a volume, where it is
// attached, and which pods use it.
type VolumeStanding struct {
	Claim  string // namespace/name; "" of a volume that no claim has
	Volume string // the PersistentVolume; "" while there is none
	Phase  string // the claim's: Pending, Bound, Lost; else the volume's: Available, Released, Failed
	State  string // where in the chain it is: one of the Volume constants
	Size   string // as much as there is; of a claim without a volume what it asks for
	Class  string
	Nodes  []string // that it is attached to, is being attached to or detached from; of one without attachments where pods have it
	Pods   []string // namespace/name of those that use it
	Why    string   // what it waits for, or why it failed; "" where it stands well

	of *Object // the claim, or else the volume
}

// What a [VolumeStanding] can be.
const (
	VolumePending   = "pending"   // no volume yet
	VolumeBound     = "bound"     // nothing uses it now
	VolumeAttaching = "attaching" // to a node
	VolumeAttached  = "attached"
	VolumeDetaching = "detaching"
	VolumeMounted   = "mounted"   // by pods, and not attached by any driver
	VolumeFailed    = "failed"    // made, attached, detached or reclaimed in vain
	VolumeLost      = "lost"      // the claim's volume is gone
	VolumeAvailable = "available" // no claim has it
	VolumeReleased  = "released"  // its claim is gone
)

// Object is the claim, or else the volume.
func (v *VolumeStanding) Object() *Object { return v.of }

// Attention reports whether somebody has to look at it, or it is on its way.
func (v *VolumeStanding) Attention() bool {
	switch v.State {
	case VolumeBound, VolumeAttached, VolumeMounted, VolumeAvailable:
		return false
	}
	return true
}

// Claims are the claims of a namespace, or of all, with what stands behind each, by name.
func (s *State) Claims(namespace string) (all []*VolumeStanding) {
	attached := s.attachments()
	users := s.users(namespace)
	s.EachObject("persistentvolumeclaims", namespace, func(o *Object) bool {
		if v := s.claimStanding(o, attached, users[o.Ref.Key()]); v != nil {
			all = append(all, v)
		}
		return true
	})
	return all
}

// Volumes are all claims, and the volumes that no claim has, given by claim the pods that use it.
func (s *State) Volumes(users func(claim string) []*Object) (all []*VolumeStanding) {
	attached := s.attachments()
	had := map[string]bool{}
	s.EachObject("persistentvolumeclaims", "", func(o *Object) bool {
		if v := s.claimStanding(o, attached, users(o.Ref.Key())); v != nil {
			had[v.Volume] = v.Volume != ""
			all = append(all, v)
		}
		return true
	})
	s.EachObject("persistentvolumes", "", func(o *Object) bool {
		if pv, ok := o.Value.(*corev1.PersistentVolume); ok && !had[pv.Name] {
			all = append(all, s.volumeStanding(o, pv, attached))
		}
		return true
	})
	return all
}

// Users are the pods that use each claim of a namespace, or of all.
func (s *State) Users(namespace string) func(claim string) []*Object {
	all := s.users(namespace)
	return func(claim string) []*Object { return all[claim] }
}

func (s *State) users(namespace string) map[string][]*Object {
	all := map[string][]*Object{}
	s.EachObject("pods", namespace, func(o *Object) bool {
		if pod, ok := o.Value.(*corev1.Pod); ok {
			for _, name := range ClaimNames(pod) {
				all[o.Namespace()+"/"+name] = append(all[o.Namespace()+"/"+name], o)
			}
		}
		return true
	})
	return all
}

// attachments are the VolumeAttachments of each volume.
func (s *State) attachments() map[string][]*Object {
	all := map[string][]*Object{}
	s.EachObject("volumeattachments", "", func(o *Object) bool {
		if v, ok := o.Value.(*storagev1.VolumeAttachment); ok && v.Spec.Source.PersistentVolumeName != nil {
			all[*v.Spec.Source.PersistentVolumeName] = append(all[*v.Spec.Source.PersistentVolumeName], o)
		}
		return true
	})
	return all
}

// ClaimStanding is how a claim stands; nil of what is none.
func (s *State) ClaimStanding(o *Object) *VolumeStanding {
	if o == nil || o.Deleted {
		return nil
	}
	return s.claimStanding(o, s.attachments(), s.users(o.Namespace())[o.Ref.Key()])
}

// VolumeStanding is how a volume stands, with its claim where one has it; nil of what is none.
func (s *State) VolumeStanding(o *Object) *VolumeStanding {
	if o == nil || o.Deleted {
		return nil
	}
	pv, ok := o.Value.(*corev1.PersistentVolume)
	if !ok {
		return nil
	}
	if c := s.chainOfVolume(o, pv); c.Claim != nil {
		if v := s.ClaimStanding(c.Claim); v != nil && v.Volume == pv.Name {
			return v
		}
	}
	return s.volumeStanding(o, pv, s.attachments())
}

func (s *State) claimStanding(o *Object, attached map[string][]*Object, users []*Object) *VolumeStanding {
	claim, ok := o.Value.(*corev1.PersistentVolumeClaim)
	if !ok {
		return nil
	}
	asks := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	v := &VolumeStanding{
		Claim: o.Ref.Key(), Volume: claim.Spec.VolumeName, Phase: orElse(string(claim.Status.Phase), string(corev1.ClaimPending)), Size: asks.String(),
		Class: volume.GetPersistentVolumeClaimClass(claim), of: o,
	}
	if has, ok := claim.Status.Capacity[corev1.ResourceStorage]; ok {
		v.Size = has.String()
	}
	for _, pod := range users {
		v.Pods = append(v.Pods, pod.Ref.Key())
	}
	switch v.Phase {
	case string(corev1.ClaimLost):
		v.State, v.Why = VolumeLost, "its volume "+v.Volume+" is gone"
	case string(corev1.ClaimBound):
		s.along(v, attached[v.Volume], users)
	default:
		v.State = VolumePending
		c := ClaimChain{Name: v.Claim, Claim: o, Pods: users}
		if v.Volume != "" {
			c.Volume = s.Object("persistentvolumes", "", v.Volume)
		}
		v.Why = s.unbound(c, claim)
		if d := s.DiskOf(o); d != nil && d.ID == "" { // the driver has tried
			v.State = VolumeFailed
		}
	}
	return v
}

func (s *State) volumeStanding(o *Object, pv *corev1.PersistentVolume, attached map[string][]*Object) *VolumeStanding {
	v := &VolumeStanding{
		Volume: pv.Name, Phase: orElse(string(pv.Status.Phase), string(corev1.VolumePending)), Size: sizeOf(pv).String(), Class: pv.Spec.StorageClassName,
		of: o,
	}
	switch pv.Status.Phase {
	case corev1.VolumeAvailable:
		v.State = VolumeAvailable
	case corev1.VolumeReleased:
		v.State, v.Why = VolumeReleased, "its claim is gone"
		if pv.Spec.ClaimRef != nil {
			v.Why = "its claim " + claimOf(pv) + " is gone"
		}
	case corev1.VolumeFailed:
		v.State, v.Why = VolumeFailed, pv.Status.Message
	default:
		v.State = VolumePending
	}
	if list := attached[pv.Name]; len(list) > 0 { // it outlives the claim
		s.along(v, list, nil)
	}
	return v
}

// along says where a volume that is bound is attached, and by whom it is used.
func (s *State) along(v *VolumeStanding, attached, users []*Object) {
	v.State = VolumeBound
	worst := -1
	for _, o := range attached {
		l := attachmentLink(o)
		v.Nodes = append(v.Nodes, l.Name)
		state, rank := VolumeAttached, 0
		switch {
		case strings.HasSuffix(l.Phase, "fails"):
			state, rank = VolumeFailed, 3
		case o.Deleting():
			state, rank = VolumeDetaching, 2
		case !l.Good:
			state, rank = VolumeAttaching, 1
		}
		if rank > worst {
			worst, v.State, v.Why = rank, state, l.Detail
		}
	}
	if len(attached) > 0 {
		return
	}
	for _, o := range users {
		if pod, ok := o.Value.(*corev1.Pod); ok && pod.Status.Phase == corev1.PodRunning && pod.Spec.NodeName != "" && !slices.Contains(v.Nodes, pod.Spec.NodeName) {
			v.State, v.Nodes = VolumeMounted, append(v.Nodes, pod.Spec.NodeName)
		}
	}
}

package view

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// claimWaits says why a claim is Pending, and what is against each volume that there is; of one that is bound, the
// volume, where that is attached, and which pods use it.
func (s *State) claimWaits(o *Object) *Reason {
	claim, ok := o.Value.(*corev1.PersistentVolumeClaim)
	if !ok || o.Deleting() {
		return nil
	}
	c := s.ChainsOf(o)[0]
	if claim.Status.Phase != corev1.ClaimPending && claim.Status.Phase != "" {
		a := &Reason{Says: fmt.Sprintf("%s is %s", o.Ref, claim.Status.Phase)}
		switch {
		case c.Volume != nil:
			a.Says += fmt.Sprintf(" to volume %s", c.Volume.Name())
		case claim.Status.Phase == corev1.ClaimLost:
			a.Says += fmt.Sprintf(": its volume %s is gone, and with it what was written to it", claim.Spec.VolumeName)
		}
		a.From = keepers(s.Links(c)[1:])
		return a
	}
	a := &Reason{Says: fmt.Sprintf("%s is Pending: %s", o.Ref, s.unbound(c, claim))}
	s.EachObject("persistentvolumes", "", func(v *Object) bool {
		pv, ok := v.Value.(*corev1.PersistentVolume)
		if !ok {
			return true
		}
		k := Keeper{What: "volume " + v.Name(), Why: rejects(claim, pv), Ref: v.Ref, Event: v.Changed}
		if k.Good = k.Why == ""; k.Good {
			k.Why = "fits it (" + sizeOf(pv).String() + ")"
		}
		a.From = append(a.From, k)
		return true
	})
	a.From = told(a.From)
	for _, l := range s.Links(c) {
		if l.What == "pod" {
			a.From = append(a.From, keepers([]ClaimLink{l})...)
		}
	}
	return s.idle(a, "persistentvolume-binder")
}

// keepers are the links of a chain in a list of what an answer comes from.
func keepers(links []ClaimLink) (all []Keeper) {
	for _, l := range links {
		all = append(all, Keeper{What: l.What + tail(" ", l.Name), Why: l.Phase + tail(": ", l.Detail), Good: l.Good, Ref: l.Ref, Event: l.Event})
	}
	return all
}

// volumePhase says for whom a volume is, and what becomes of it.
func (s *State) volumePhase(o *Object) *Reason {
	v, ok := o.Value.(*corev1.PersistentVolume)
	if !ok || o.Deleting() {
		return nil
	}
	a := &Reason{Says: fmt.Sprintf("%s is %s", o.Ref, orElse(string(v.Status.Phase), "new"))}
	switch v.Status.Phase {
	case corev1.VolumeAvailable:
		a.Says += fmt.Sprintf(": no claim has it; it has %s, class %s", sizeOf(v), orElse(v.Spec.StorageClassName, "none"))
	case corev1.VolumeBound:
		a.Says += " to claim " + claimOf(v)
	case corev1.VolumeReleased:
		a.Says += fmt.Sprintf(": its claim %s is gone, and ", claimOf(v))
		switch v.Spec.PersistentVolumeReclaimPolicy {
		case corev1.PersistentVolumeReclaimDelete:
			a.Says += "its provisioner has to delete it (reclaim policy Delete)"
			if e := s.warned(o, "VolumeFailedDelete", 0); e != nil {
				a.Says += "; the last try failed: " + e.Message
			} else if p, down := s.down(provisioner); down && v.Spec.CSI != nil && v.Spec.CSI.Driver == simulatedDriver {
				a.Says += "; " + p.Name + " is not running: " + p.Reason
			}
		default:
			a.Says += fmt.Sprintf("its data are kept (reclaim policy Retain): no claim gets it before its claimRef is taken off: kubectl patch pv %s --type=merge -p '{\"spec\":{\"claimRef\":null}}'", v.Name)
		}
	case corev1.VolumeFailed:
		a.Says += ": " + orElse(v.Status.Message, "it could not be reclaimed")
	}
	for _, l := range s.Links(s.ChainsOf(o)[0]) {
		if l.What != "volume" && l.Name != "" && l.Ref.Name != "" {
			a.From = append(a.From, keepers([]ClaimLink{l})...)
		}
	}
	return a
}

// podClaims says which claim a pod waits for, and what that waits for.
func (s *State) podClaims(o *Object) *Reason {
	pod, ok := o.Value.(*corev1.Pod)
	if !ok || o.Deleting() || pod.Status.Phase != corev1.PodPending {
		return nil
	}
	var a *Reason
	for _, c := range s.ChainsOf(o) {
		why := s.notBound(c)
		if why == "" {
			continue
		}
		if a == nil {
			a = &Reason{}
		}
		a.From = append(a.From, Keeper{What: "claim " + c.Name, Why: why})
		if c.Claim != nil {
			last := &a.From[len(a.From)-1]
			last.Ref, last.Event = c.Claim.Ref, c.Claim.Changed
		}
		for _, l := range s.Links(c) {
			if l.What == "volume" && l.Name != "" || l.What == "attachment" {
				a.From = append(a.From, keepers([]ClaimLink{l})...)
			}
		}
	}
	if a != nil {
		a.Says = fmt.Sprintf("%s waits for %s: %s", o.Ref, a.From[0].What, a.From[0].Why)
		a.From = a.From[1:]
	}
	return a
}

// notBound says why a pod's claim has no volume; "" where it has one.
func (s *State) notBound(c ClaimChain) string {
	if c.Claim == nil {
		return "it does not exist"
	}
	claim, ok := c.Claim.Value.(*corev1.PersistentVolumeClaim)
	switch {
	case !ok:
		return ""
	case c.Claim.Deleting():
		return "it is being deleted, and no further pod may use it"
	case claim.Status.Phase != corev1.ClaimBound:
		return "it is " + orElse(string(claim.Status.Phase), "Pending") + ": " + s.unbound(c, claim)
	}
	return "" // whether it is attached, [State.attaching] tells
}

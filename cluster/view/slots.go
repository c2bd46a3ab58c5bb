package view

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Slot is one ordinal of a StatefulSet: the pod of that name, its revision and its claims.
type Slot struct {
	Ordinal int
	Name    string
	Pod     *Object // nil if it is not there
	Stage   Stage   // of the pod
	New     bool    // its pod is of the newest template
	Kept    bool    // the partition keeps it on the old one
	Claims  []Claim
	Waits   string // the pod that must be Ready before this one is made; "" for none
}

// Claim is a claim of a slot. It stays when the pod goes.
type Claim struct {
	Name  string
	Claim *Object // nil if it is not there
	Bound bool
}

// slotsLooked is how many pods on their way are looked at to find the one that others wait for.
const slotsLooked = 64

// Ordinals are the first ordinal of a StatefulSet and the one after its last.
func Ordinals(v *appsv1.StatefulSet) (from, end int) {
	if v.Spec.Ordinals != nil {
		from = int(v.Spec.Ordinals.Start)
	}
	return from, from + podsWanted(v)
}

// Slots lists n slots of a StatefulSet in order, from an ordinal on.
func (s *State) Slots(o *Object, from, n int) []Slot {
	v, ok := o.Value.(*appsv1.StatefulSet)
	if !ok {
		return nil
	}
	_, end := Ordinals(v)
	waitsFor := s.firstUnready(o, v)
	out := make([]Slot, 0, max(min(n, end-from), 0))
	for i := from; i < end && len(out) < n; i++ {
		slot := s.slot(o, v, i)
		switch {
		case slot.Pod == nil && waitsFor == "" && v.Spec.PodManagementPolicy != appsv1.ParallelPodManagement:
			waitsFor = slot.Name
		case slot.Pod == nil && waitsFor != slot.Name:
			slot.Waits = waitsFor
		}
		out = append(out, slot)
	}
	return out
}

// SlotOf is the slot of an ordinal.
func (s *State) SlotOf(o *Object, ordinal int) Slot {
	if list := s.Slots(o, ordinal, 1); len(list) > 0 {
		return list[0]
	}
	return Slot{Ordinal: ordinal}
}

// firstUnready is the pod of the lowest ordinal that is there and not Ready, of those looked at: with OrderedReady
// the slots above wait for it.
func (s *State) firstUnready(o *Object, v *appsv1.StatefulSet) string {
	if v.Spec.PodManagementPolicy == appsv1.ParallelPodManagement {
		return ""
	}
	lowest, name := -1, ""
	for _, p := range s.Unsettled(o.UID, "pods", slotsLooked) {
		if i := OrdinalOf(p.Name()); i >= 0 && (lowest < 0 || i < lowest) {
			lowest, name = i, p.Name()
		}
	}
	return name
}

// OrdinalOf is the number at the end of a pod's name, -1 if there is none.
func OrdinalOf(name string) int {
	at, n := len(name), 0
	for scale := 1; at > 0 && name[at-1] >= '0' && name[at-1] <= '9' && scale < 1e9; scale *= 10 {
		at--
		n += int(name[at]-'0') * scale
	}
	if at == len(name) || at == 0 || name[at-1] != '-' {
		return -1
	}
	return n
}

func (s *State) slot(o *Object, v *appsv1.StatefulSet, ordinal int) Slot {
	slot := Slot{Ordinal: ordinal, Name: fmt.Sprintf("%s-%d", v.Name, ordinal)}
	if ru := v.Spec.UpdateStrategy.RollingUpdate; ru != nil && ru.Partition != nil {
		slot.Kept = ordinal < int(*ru.Partition)
	}
	if p := s.Object("pods", v.Namespace, slot.Name); p != nil {
		slot.Pod, slot.Stage = p, StageOf(p.Value)
		if m := p.Meta(); m != nil {
			slot.New = m.GetLabels()[appsv1.ControllerRevisionHashLabelKey] == v.Status.UpdateRevision
		}
	}
	for i := range v.Spec.VolumeClaimTemplates {
		c := Claim{Name: v.Spec.VolumeClaimTemplates[i].Name + "-" + slot.Name}
		if c.Claim = s.Object("persistentvolumeclaims", v.Namespace, c.Name); c.Claim != nil {
			pvc, ok := c.Claim.Value.(*corev1.PersistentVolumeClaim)
			c.Bound = ok && pvc.Status.Phase == corev1.ClaimBound
		}
		slot.Claims = append(slot.Claims, c)
	}
	return slot
}

// Worth lists the ordinals of a StatefulSet that one wants to see of many: the first, the last, and those
// whose pod is on its way, at most n of them in order.
func (s *State) Worth(o *Object, n int) []int {
	v, ok := o.Value.(*appsv1.StatefulSet)
	if !ok {
		return nil
	}
	from, end := Ordinals(v)
	if end-from <= n {
		all := make([]int, 0, max(end-from, 0))
		for i := from; i < end; i++ {
			all = append(all, i)
		}
		return all
	}
	all := []int{from, end - 1}
	for _, p := range s.Unsettled(o.UID, "pods", n-2) {
		if i := OrdinalOf(p.Name()); i > from && i < end-1 && p.Name() == fmt.Sprintf("%s-%d", v.Name, i) {
			all = append(all, i)
		}
	}
	for i := end - 2; i > from && len(all) < n && s.Object("pods", v.Namespace, fmt.Sprintf("%s-%d", v.Name, i)) == nil; i-- {
		all = append(all, i) // the next ones to be made are below these
	}
	for i := from + 1; i < end-1 && len(all) < n; i++ {
		all = append(all, i)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

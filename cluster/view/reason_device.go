package view

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// deviceEviction is the controller that deletes pods because of their devices' taints.
const deviceEviction = "device-taint-eviction-controller"

// deviceTaint is a taint of a device that a claim has.
type deviceTaint struct {
	claim     string
	has       *resourcev1.DeviceRequestAllocationResult
	is        *resourcev1.DeviceTaint
	by        *Object // the DeviceTaintRule or the ResourceSlice
	tolerated bool
	limit     *int64 // how many seconds it is tolerated; nil: for ever
}

// drives reports whether the pods of the claim must go because of the taint.
func (t *deviceTaint) drives() bool {
	return t.is.Effect == resourcev1.DeviceTaintEffectNoExecute && (!t.tolerated || t.limit != nil)
}

// due is when they must.
func (t *deviceTaint) due() (at time.Time) {
	if t.is.TimeAdded != nil {
		at = t.is.TimeAdded.Time
	}
	if t.limit != nil {
		at = at.Add(time.Duration(*t.limit) * time.Second)
	}
	return at
}

// says tells of the device, its taint, and what that means for the claim.
func (t *deviceTaint) says() string {
	by := "by its driver, in the " + t.by.Ref.String()
	if t.by.Resource == "devicetaintrules" {
		by = "by the " + t.by.Ref.String()
	}
	text := fmt.Sprintf("claim %s has the device %s/%s of %s, which is tainted %s %s", t.claim, t.has.Pool, t.has.Device, t.has.Driver, taintText(t.is), by)
	switch {
	case t.is.Effect != resourcev1.DeviceTaintEffectNoExecute:
		return text + ": such a taint drives no pod away"
	case !t.tolerated:
		return text + ", and does not tolerate that"
	case t.limit != nil:
		return fmt.Sprintf("%s, and tolerates that for %d s", text, *t.limit)
	}
	return text + ", and tolerates that"
}

func taintText(t *resourcev1.DeviceTaint) string {
	return t.Key + tail("=", t.Value) + ":" + string(t.Effect)
}

// deviceTaints are the taints of the devices that a claim has, those of rules last.
func (s *State) deviceTaints(claim *resourcev1.ResourceClaim) (all []deviceTaint) {
	if claim.Status.Allocation == nil {
		return nil
	}
	for i := range claim.Status.Allocation.Devices.Results {
		has := &claim.Status.Allocation.Devices.Results[i]
		found := func(is *resourcev1.DeviceTaint, by *Object) {
			t := deviceTaint{claim: claim.Name, has: has, is: is, by: by}
			t.tolerated, t.limit = toleratedFor(has.Tolerations, is)
			all = append(all, t)
		}
		var device *resourcev1.Device
		var in *Object
		newest := int64(math.MinInt64)
		s.EachObject("resourceslices", "", func(o *Object) bool {
			slice, ok := o.Value.(*resourcev1.ResourceSlice)
			if !ok || o.Deleted || slice.Spec.Driver != has.Driver || slice.Spec.Pool.Name != has.Pool || slice.Spec.Pool.Generation < newest {
				return true
			}
			if slice.Spec.Pool.Generation > newest {
				newest, device = slice.Spec.Pool.Generation, nil
			}
			if i := slices.IndexFunc(slice.Spec.Devices, func(d resourcev1.Device) bool { return d.Name == has.Device }); i >= 0 && device == nil {
				device, in = &slice.Spec.Devices[i], o
			}
			return true
		})
		if device != nil {
			for i := range device.Taints {
				found(&device.Taints[i], in)
			}
		}
		s.EachObject("devicetaintrules", "", func(o *Object) bool {
			if rule, ok := o.Value.(*resourcev1.DeviceTaintRule); ok && !o.Deleted && selectsDevice(rule, has.Driver, has.Pool, has.Device) {
				found(&rule.Spec.Taint, o)
			}
			return true
		})
	}
	return all
}

func selectsDevice(rule *resourcev1.DeviceTaintRule, driver, pool, device string) bool {
	is := func(want *string, is string) bool { return want == nil || *want == is }
	d := rule.Spec.DeviceSelector
	return d != nil && is(d.Driver, driver) && is(d.Pool, pool) && is(d.Device, device)
}

// toleratedFor reports whether a NoExecute taint is tolerated, and for how many seconds; nil: for ever.
func toleratedFor(list []resourcev1.DeviceToleration, t *resourcev1.DeviceTaint) (tolerated bool, limit *int64) {
	for i := range list {
		if list[i].Effect != resourcev1.DeviceTaintEffectNoExecute || !resourceclaim.ToleratesTaint(list[i], *t) {
			continue
		}
		if list[i].TolerationSeconds == nil {
			return true, nil
		}
		if seconds := max(*list[i].TolerationSeconds, 0); limit == nil || seconds < *limit {
			tolerated, limit = true, &seconds
		}
	}
	return tolerated, limit
}

// devicesOf are the taints of a pod's devices, of the claims that are reserved for it; those that drive
// it away first, and the first of them first.
func (s *State) devicesOf(pod *corev1.Pod) (all []deviceTaint) {
	for i := range pod.Spec.ResourceClaims {
		name, own, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err != nil || name == nil {
			continue
		}
		claim := valueOf[*resourcev1.ResourceClaim](s, "resourceclaims", pod.Namespace, *name)
		if claim == nil || own && resourceclaim.IsForPod(pod, claim, false) != nil || !resourceclaim.IsReservedForPod(pod, claim, false) {
			continue
		}
		all = append(all, s.deviceTaints(claim)...)
	}
	slices.SortStableFunc(all, func(a, b deviceTaint) int {
		switch {
		case a.drives() && b.drives():
			return a.due().Compare(b.due())
		case a.drives():
			return -1
		case b.drives():
			return 1
		}
		return 0
	})
	return all
}

// podDevices says why a pod goes, or does not, whose devices are tainted.
func (s *State) podDevices(o *Object) *Reason {
	pod, ok := o.Value.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return nil
	}
	all := s.devicesOf(pod)
	drives := len(all) > 0 && all[0].drives()
	evicted := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == "DeletionByDeviceTaintManager"
	})
	var a *Reason
	switch {
	case o.Deleting() && !evicted, len(all) == 0 && !evicted:
		return nil
	case evicted && !drives:
		a = sentence("%s was evicted by the %s: a device of its claims had a taint that they did not tolerate", o.Ref, deviceEviction)
	case evicted:
		a = sentence("%s was evicted by the %s: its %s", o.Ref, deviceEviction, all[0].says())
	case drives:
		when := "now"
		if all[0].due().After(s.Now()) {
			when = s.due(all[0].due())
		}
		a = sentence("%s is to go %s: its %s", o.Ref, when, all[0].says())
		if st := s.Standing(deviceEviction); !st.Works {
			a.Says += "; but the " + deviceEviction + ", which would delete it, " + st.Why
			a.From = append(a.From, Keeper{What: "controller " + deviceEviction, Why: st.Why, Event: st.Event})
		}
	default:
		a = sentence("%s stays though a device is tainted: its %s", o.Ref, all[0].says())
	}
	a.From = append(a.From, taintKeepers(all)...)
	return a
}

// taintKeepers say who gave each of the taints, and since when.
func taintKeepers(all []deviceTaint) (from []Keeper) {
	for _, t := range all {
		k := Keeper{What: t.by.Ref.String(), Good: !t.drives(), Ref: t.by.Ref, Event: t.by.Changed}
		k.Why = fmt.Sprintf("taints %s/%s with %s", t.has.Pool, t.has.Device, taintText(t.is))
		if t.is.TimeAdded != nil {
			k.Why += " since " + clockTime(t.is.TimeAdded.Time)
		}
		if k.Good && t.is.Effect == resourcev1.DeviceTaintEffectNoExecute {
			k.Why += ", which the claim tolerates"
		}
		from = append(from, k)
	}
	return told(from)
}

// claimDevices says which devices of a claim are tainted.
func (s *State) claimDevices(o *Object) *Reason {
	claim, ok := o.Value.(*resourcev1.ResourceClaim)
	if !ok {
		return nil
	}
	all := s.deviceTaints(claim)
	if len(all) == 0 {
		return nil
	}
	return &Reason{Says: upper(all[0].says()), From: taintKeepers(all)}
}

// deviceTaintRule says which devices a rule taints, and what that does to the pods that have them.
func (s *State) deviceTaintRule(o *Object) *Reason {
	rule, ok := o.Value.(*resourcev1.DeviceTaintRule)
	if !ok {
		return nil
	}
	devices := 0
	s.EachObject("resourceslices", "", func(o *Object) bool {
		if slice, ok := o.Value.(*resourcev1.ResourceSlice); ok && !o.Deleted {
			for i := range slice.Spec.Devices {
				if selectsDevice(rule, slice.Spec.Driver, slice.Spec.Pool.Name, slice.Spec.Devices[i].Name) {
					devices++
				}
			}
		}
		return true
	})
	var goes, stays []Keeper
	s.EachObject("pods", "", func(p *Object) bool {
		pod, ok := p.Value.(*corev1.Pod)
		if !ok || p.Deleted || pod.Spec.NodeName == "" {
			return true
		}
		for _, t := range s.devicesOf(pod) {
			if t.by.Ref.Key() != o.Ref.Key() || t.by.Resource != o.Resource {
				continue
			}
			k := Keeper{What: "pod " + p.Ref.Key(), Why: t.says(), Good: !t.drives(), Ref: p.Ref, Event: p.Changed}
			if k.Good {
				stays = append(stays, k)
			} else {
				goes = append(goes, k)
			}
			break
		}
		return true
	})
	says := []string{fmt.Sprintf("%s gives the taint %s to %s", o.Ref, taintText(&rule.Spec.Taint), count(devices, "published device"))}
	if n := len(goes); n > 0 {
		says = append(says, fmt.Sprintf("%s with such a device %s to go", count(n, "pod"), isAre(n)))
	}
	if n := len(stays); n > 0 {
		says = append(says, fmt.Sprintf("%s with such a device may stay", count(n, "pod")))
	}
	if len(goes)+len(stays) == 0 {
		says = append(says, "no pod has one of them")
	}
	a := &Reason{Says: strings.Join(says, "; "), From: told(append(goes, stays...))}
	for _, c := range rule.Status.Conditions {
		if c.Type == resourcev1.DeviceTaintConditionEvictionInProgress {
			a.From = append(a.From, Keeper{What: fmt.Sprintf("condition %s=%s", c.Type, c.Status), Why: c.Reason + tail(": ", c.Message), Good: c.Status != "True", Ref: o.Ref, Event: o.Changed})
		}
	}
	return a
}

package devicetainteviction

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"kviz/cluster/informer"
)

// judge says which pods must go because of their devices, and when. It has what the informers
// have told.
type judge struct {
	pools  map[poolID]*pool
	rules  map[string]*resourcev1.DeviceTaintRule // by name, those with the effect NoExecute (evictingRules)
	claims map[string]allocated                   // by key (allocatedClaims)
}

func newJudge() judge {
	return judge{map[poolID]*pool{}, map[string]*resourcev1.DeviceTaintRule{}, map[string]allocated{}}
}

// allocated is a claim that has devices, and when its pods must go because of them; nil: never.
type allocated struct {
	*resourcev1.ResourceClaim
	goes *eviction
}

// eviction is when a pod must go, and because of which taints (evictionAndReason).
type eviction struct {
	when    metav1.Time
	because []taint // in the order of [taint.compare]
	says    string  // of the one that decides when
	limited bool    // that one is tolerated for a time
}

// equal is upstream's: no eviction is equal to none.
func (e *eviction) equal(other *eviction) bool {
	return e != nil && other != nil && e.when.Equal(&other.when) && slices.Equal(e.because, other.because)
}

// taint is one that a rule gives to devices, or that a device has in its slice (trackedTaint).
type taint struct {
	rule   *resourcev1.DeviceTaintRule
	slice  *resourcev1.ResourceSlice
	device string
	index  int
}

func (t taint) of() *resourcev1.DeviceTaint {
	if t.rule != nil {
		return &t.rule.Spec.Taint
	}
	i := slices.IndexFunc(t.slice.Spec.Devices, func(d resourcev1.Device) bool { return d.Name == t.device })
	return &t.slice.Spec.Devices[i].Taints[t.index]
}

// by says who gave the taint.
func (t taint) by() string {
	if t.rule != nil {
		return "the DeviceTaintRule " + t.rule.Name
	}
	return "its driver, in the ResourceSlice " + t.slice.Name
}

// compare orders rules by their names, then slices by driver, pool, device and the place of the
// taint.
func (t taint) compare(u taint) int {
	switch {
	case t.rule != nil && u.rule != nil:
		return strings.Compare(t.rule.Name, u.rule.Name)
	case t.rule != nil:
		return -1
	case u.rule != nil:
		return 1
	}
	return cmp.Or(
		strings.Compare(t.slice.Spec.Driver, u.slice.Spec.Driver), strings.Compare(t.slice.Spec.Pool.Name, u.slice.Spec.Pool.Name),
		strings.Compare(t.device, u.device), t.index-u.index,
	)
}

// text is a taint as it is written: key=value:effect.
func text(t *resourcev1.DeviceTaint) string {
	if t.Value == "" {
		return fmt.Sprintf("%s:%s", t.Key, t.Effect)
	}
	return fmt.Sprintf("%s=%s:%s", t.Key, t.Value, t.Effect)
}

// keys are those of all allocated claims, in order.
func (j *judge) keys() []string { return slices.Sorted(maps.Keys(j.claims)) }

// allocated takes note of a claim's allocation.
func (j *judge) allocated(claim *resourcev1.ResourceClaim) {
	j.claims[informer.KeyOf(claim)] = allocated{claim, j.claim(claim)}
}

// claim is when the pods of a claim must go: when the first of the taints of its devices is not,
// or not any longer, tolerated (claimEvictionTime).
func (j *judge) claim(claim *resourcev1.ResourceClaim) *eviction {
	var found *eviction
	var when *metav1.Time
	for i := range claim.Status.Allocation.Devices.Results {
		has := &claim.Status.Allocation.Devices.Results[i]
		for _, by := range j.taints(has) {
			tolerated, limit := tolerates(has.Tolerations, by.of())
			if tolerated && limit == nil {
				continue // for ever
			}
			at := by.of().TimeAdded
			if limit != nil && at != nil {
				at = &metav1.Time{Time: at.Add(time.Duration(*limit) * time.Second)}
			}
			if found == nil {
				found = &eviction{}
			}
			if !slices.Contains(found.because, by) {
				found.because = append(found.because, by)
			}
			if when == nil || at.Before(when) {
				when, found.says, found.limited = at, sentence(claim.Name, has, by, limit), limit != nil
			}
		}
	}
	if when == nil {
		return nil
	}
	found.when = *when
	slices.SortFunc(found.because, taint.compare)
	return found
}

// sentence says why a taint drives pods away; limit is for how many seconds it is tolerated, nil for not at all.
func sentence(claim string, has *resourcev1.DeviceRequestAllocationResult, by taint, limit *int64) string {
	since, tolerated := "", "does not tolerate that"
	if at := by.of().TimeAdded; at != nil {
		since = " since " + clock(*at)
	}
	if limit != nil {
		tolerated = fmt.Sprintf("tolerates that for %d s", *limit)
	}
	return fmt.Sprintf("its claim %s has the device %s/%s of %s, which is tainted %s by %s%s, and %s", claim, has.Pool, has.Device, has.Driver, text(by.of()), by.by(), since, tolerated)
}

// tolerates reports whether one of the tolerations is for a NoExecute taint, and for how many
// seconds the shortest of them; nil: for ever.
func tolerates(list []resourcev1.DeviceToleration, t *resourcev1.DeviceTaint) (tolerated bool, limit *int64) {
	least := int64(math.MaxInt64)
	for _, is := range list {
		if is.Effect != resourcev1.DeviceTaintEffectNoExecute || !resourceclaim.ToleratesTaint(is, *t) {
			continue
		}
		if is.TolerationSeconds == nil {
			return true, nil
		}
		least, tolerated = min(least, max(*is.TolerationSeconds, 0)), true
	}
	if !tolerated {
		return false, nil
	}
	return true, &least
}

// taints are the NoExecute taints of an allocated device, those in its slice and those of rules,
// which it has whether it is still published or not (allEvictingDeviceTaints).
func (j *judge) taints(has *resourcev1.DeviceRequestAllocationResult) (all []taint) {
	if slice, device := j.pools[poolID{has.Driver, has.Pool}].device(has.Device); device != nil {
		for i := range device.Taints {
			if device.Taints[i].Effect == resourcev1.DeviceTaintEffectNoExecute {
				all = append(all, taint{slice: slice, device: device.Name, index: i})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(j.rules)) {
		if rule := j.rules[name]; selects(rule, has.Driver, has.Pool, has.Device) {
			all = append(all, taint{rule: rule})
		}
	}
	return all
}

// selects reports whether a rule is about a device (ruleMatchesDevice).
func selects(rule *resourcev1.DeviceTaintRule, driver, pool, device string) bool {
	is := func(want *string, is string) bool { return want == nil || *want == is }
	s := rule.Spec.DeviceSelector
	return s != nil && is(s.Driver, driver) && is(s.Pool, pool) && is(s.Device, device)
}

// pod is when a pod must go because of any of its claims; nil: never (podEvictionTime).
func (j *judge) pod(pod *corev1.Pod) *eviction {
	if pod.Spec.NodeName == "" {
		return nil
	}
	var goes *eviction
	for i := range pod.Spec.ResourceClaims {
		name, own, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err != nil || name == nil {
			continue // it is not made yet, or not needed
		}
		claim, ok := j.claims[informer.Key(pod.Namespace, *name)]
		if !ok || own && resourceclaim.IsForPod(pod, claim.ResourceClaim, false) != nil ||
			!resourceclaim.IsReservedForPod(pod, claim.ResourceClaim, false) || claim.goes == nil {
			continue
		}
		if goes == nil {
			goes = claim.goes
		} else {
			goes = claim.goes.and(goes)
		}
	}
	return goes
}

// and is the earlier of two evictions, because of both.
func (e *eviction) and(other *eviction) *eviction {
	both := &eviction{when: e.when, says: e.says, limited: e.limited, because: slices.Clone(e.because)}
	for _, by := range other.because {
		if i, found := slices.BinarySearchFunc(both.because, by, taint.compare); !found {
			both.because = slices.Insert(both.because, i, by)
		}
	}
	if other.when.Before(&both.when) {
		both.when, both.says, both.limited = other.when, other.says, other.limited
	}
	return both
}

func sameSpec(a, b *resourcev1.DeviceTaintRule) bool {
	return equality.Semantic.DeepEqual(&a.Spec, &b.Spec)
}

func sameClaims(a, b *corev1.Pod) bool {
	return equality.Semantic.DeepEqual(a.Status.ResourceClaimStatuses, b.Status.ResourceClaimStatuses)
}

package persistentvolume

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/storage/volume"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"

	"kviz/cluster/informer"
)

// Why a volume is not a claim's, in the order in which it is told.
const (
	tooSmall      = "too small"
	larger        = "larger than needed"
	noSmaller     = "as large, and later by name"
	moreModes     = "with access modes that come later"
	fewModes      = "without the access mode"
	otherClass    = "of another class"
	otherLabels   = "without the labels of the selector"
	otherMode     = "of another volume mode"
	otherVAC      = "of another VolumeAttributesClass"
	notAvailable  = "not Available"
	leaving       = "being deleted"
	ofOther       = "of another claim"
	notReserved   = "not reserved for the claim"
	namesInReason = 3 // as many volumes are named for a reason; the others are counted
)

var reasons = []string{tooSmall, larger, noSmaller, moreModes, fewModes, otherClass, otherLabels, otherMode, otherVAC, notAvailable, leaving, ofOther, notReserved}

// asks is what a claim asks for, in words.
func asks(claim *corev1.PersistentVolumeClaim) string {
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	class := "without a class"
	if name := volume.GetPersistentVolumeClaimClass(claim); name != "" {
		class = "of class " + name
	}
	words := fmt.Sprintf("claim %s asks for %s %s, %s", keyOf(claim), size.String(), class, v1helper.GetAccessModesAsString(claim.Spec.AccessModes))
	if mode := modeOf(claim.Spec.VolumeMode); mode != corev1.PersistentVolumeFilesystem {
		words += ", " + string(mode)
	}
	if claim.Spec.Selector != nil {
		words += ", with the labels " + short(metav1.FormatLabelSelector(claim.Spec.Selector))
	}
	return words
}

// longest is how much of a selector or of labels a sentence says: a claim's selector may be a megabyte.
const longest = 200

func short(text string) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + fmt.Sprintf("… (%d bytes)", len(text))
}

// chosen says why a claim gets a volume, and why not one of the others.
func (c *Controller) chosen(claim *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) string {
	size := v.Spec.Capacity[corev1.ResourceStorage]
	how := fmt.Sprintf("of %s the smallest that fits is %s (%s)", volumes(len(c.cache.byName)), v.Name, size.String())
	if volume.IsVolumeBoundToClaim(v, claim) {
		how = fmt.Sprintf("%s (%s) is reserved for it", v.Name, size.String())
	}
	return sentence(asks(claim)+": "+how, c.others(claim, v))
}

// rejected says why a claim gets none of the volumes that there are.
func (c *Controller) rejected(claim *corev1.PersistentVolumeClaim) string {
	if len(c.cache.byName) == 0 {
		return asks(claim) + ", and there are no volumes"
	}
	return sentence(fmt.Sprintf("%s: of %s none fits", asks(claim), volumes(len(c.cache.byName))), c.others(claim, nil))
}

func sentence(begin, others string) string {
	if others == "" {
		return begin
	}
	return begin + "; " + others
}

func volumes(n int) string {
	if n == 1 {
		return "1 volume"
	}
	return fmt.Sprintf("%d volumes", n)
}

// others names the volumes that are not the chosen one, by why not.
func (c *Controller) others(claim *corev1.PersistentVolumeClaim, chosen *corev1.PersistentVolume) string {
	names, counts := map[string][]string{}, map[string]int{}
	selects := selection(claim)
	for _, name := range slices.Sorted(maps.Keys(c.cache.byName)) {
		v := c.cache.byName[name]
		if chosen != nil && name == chosen.Name {
			continue
		}
		why, detail := against(claim, selects, v, chosen)
		if counts[why]++; counts[why] <= namesInReason {
			names[why] = append(names[why], fmt.Sprintf("%s (%s)", name, detail))
		}
	}
	var parts []string
	for _, why := range reasons {
		if n := counts[why]; n > namesInReason {
			names[why] = append(names[why], fmt.Sprintf("%d more", n-namesInReason))
		}
		if counts[why] > 0 {
			parts = append(parts, why+": "+strings.Join(names[why], ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// against says why a volume is not the claim's: the first of what FindMatchingVolume has
// against it, or that the chosen one is nearer to what the claim asks for.
func against(claim *corev1.PersistentVolumeClaim, selects func(*corev1.PersistentVolume) bool, v, chosen *corev1.PersistentVolume) (why, detail string) {
	size, asked := v.Spec.Capacity[corev1.ResourceStorage], claim.Spec.Resources.Requests[corev1.ResourceStorage]
	switch {
	case v.Spec.ClaimRef != nil && !volume.IsVolumeBoundToClaim(v, claim):
		return ofOther, claimKey(v)
	case size.Cmp(asked) < 0:
		return tooSmall, size.String()
	case !volume.CheckAccessModes(claim, v):
		return fewModes, modesOf(v)
	case volume.CheckVolumeModeMismatches(&claim.Spec, &v.Spec):
		return otherMode, string(modeOf(v.Spec.VolumeMode))
	case attributes(claim.Spec.VolumeAttributesClassName) != attributes(v.Spec.VolumeAttributesClassName):
		return otherVAC, attributes(v.Spec.VolumeAttributesClassName)
	case v.DeletionTimestamp != nil:
		return leaving, informer.KeyOf(v)
	case v.Status.Phase != corev1.VolumeAvailable:
		return notAvailable, string(v.Status.Phase)
	case !selects(v):
		return otherLabels, short(labels.FormatLabels(v.Labels))
	case volume.GetPersistentVolumeClass(v) != volume.GetPersistentVolumeClaimClass(claim):
		if class := volume.GetPersistentVolumeClass(v); class != "" {
			return otherClass, class
		}
		return otherClass, "none"
	case chosen == nil || volume.IsVolumeBoundToClaim(chosen, claim):
		return notReserved, size.String()
	case modesOf(v) != modesOf(chosen):
		return moreModes, modesOf(v)
	}
	if has := chosen.Spec.Capacity[corev1.ResourceStorage]; size.Cmp(has) > 0 {
		return larger, size.String()
	}
	return noSmaller, size.String()
}

// selection reports of volumes whether a claim selects them. It parses the claim's selector once,
// and not before it is asked.
func selection(claim *corev1.PersistentVolumeClaim) func(*corev1.PersistentVolume) bool {
	if claim.Spec.Selector == nil {
		return func(*corev1.PersistentVolume) bool { return true }
	}
	parse := sync.OnceValues(func() (labels.Selector, error) { return metav1.LabelSelectorAsSelector(claim.Spec.Selector) })
	return func(v *corev1.PersistentVolume) bool {
		selector, err := parse()
		return err == nil && selector.Matches(labels.Set(v.Labels))
	}
}

func modeOf(mode *corev1.PersistentVolumeMode) corev1.PersistentVolumeMode {
	if mode == nil {
		return corev1.PersistentVolumeFilesystem
	}
	return *mode
}

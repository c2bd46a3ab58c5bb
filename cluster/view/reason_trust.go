package view

import (
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// withoutBundle says of a pod on a node which ClusterTrustBundle a volume of its mounts that is not
// there; nil where none is missing, or where a container has begun. is begins the sentence.
func (s *State) withoutBundle(o *Object, pod *corev1.Pod, is string) *Reason {
	if begun(pod) {
		return nil
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Projected == nil {
			continue
		}
		for j := range v.Projected.Sources {
			src := v.Projected.Sources[j].ClusterTrustBundle
			if src == nil || src.Optional != nil && *src.Optional {
				continue
			}
			if a := s.missingBundle(src); a != nil {
				a.Says = fmt.Sprintf("%sits volume %s mounts %s, and is not optional; the kubelet of %s tries again, at most 2m2s later each time", is, v.Name, a.Says, pod.Spec.NodeName)
				a.From = append(a.From, s.warnings(o)...)
				return a
			}
		}
	}
	return nil
}

// missingBundle says what a volume's source asks for in vain; nil where it is there.
func (s *State) missingBundle(src *corev1.ClusterTrustBundleProjection) *Reason {
	if src.Name != nil {
		if s.bundle(*src.Name) != nil {
			return nil
		}
		return sentence("the ClusterTrustBundle %s, which is not there", *src.Name)
	}
	if src.SignerName == nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(src.LabelSelector)
	if err != nil {
		return sentence("ClusterTrustBundles by a selector that cannot be read: %v", err)
	}
	a := &Reason{}
	found, of := false, 0
	s.EachObject("clustertrustbundles", "", func(b *Object) bool {
		is, ok := b.Value.(*certificatesv1.ClusterTrustBundle)
		if !ok || b.Deleted || is.Spec.SignerName != *src.SignerName {
			return true
		}
		of++
		found = selector.Matches(labels.Set(is.Labels))
		a.From = append(a.From, Keeper{What: "bundle " + is.Name, Why: "has the labels " + orElse(labels.FormatLabels(is.Labels), "<none>") + ", which the volume does not select", Ref: b.Ref, Event: b.Changed})
		return !found
	})
	switch a.From = told(a.From); {
	case found:
		return nil
	case of == 0:
		a.Says = fmt.Sprintf("the ClusterTrustBundles of signer %s, which has none", *src.SignerName)
	case src.LabelSelector == nil:
		a.Says = fmt.Sprintf("none of the %d ClusterTrustBundles of signer %s: without a labelSelector it selects nothing", of, *src.SignerName)
	default:
		a.Says = fmt.Sprintf("those ClusterTrustBundles of signer %s that have %s, which none of its %d has", *src.SignerName, selector, of)
	}
	return a
}

func (s *State) bundle(name string) *certificatesv1.ClusterTrustBundle {
	return valueOf[*certificatesv1.ClusterTrustBundle](s, "clustertrustbundles", "", name)
}

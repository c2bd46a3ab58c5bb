package registry

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core/validation"
)

// syncAppArmor brings what old clients say in annotations into the containers' fields,
// and warns of it (pkg/registry/core/pod/strategy.go applyAppArmorVersionSkew).
func syncAppArmor(w *Write, p *corev1.Pod) {
	const prefix = corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix
	if len(p.Annotations) == 0 || p.Spec.OS != nil && p.Spec.OS.Name == corev1.Windows || !strings.Contains(strings.Join(slices.Sorted(maps.Keys(p.Annotations)), " "), prefix) {
		return
	}
	var ofPod *corev1.AppArmorProfile
	if p.Spec.SecurityContext != nil {
		ofPod = p.Spec.SecurityContext.AppArmorProfile
	}
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			ctr := &list[i]
			said, ok := p.Annotations[prefix+ctr.Name]
			if !ok || ctr.SecurityContext != nil && ctr.SecurityContext.AppArmorProfile != nil {
				continue
			}
			var profile *corev1.AppArmorProfile
			if f := podutil.ApparmorFieldForAnnotation(said); f != nil && len(validation.ValidateAppArmorProfileField(f, &field.Path{})) == 0 {
				profile = &corev1.AppArmorProfile{Type: corev1.AppArmorProfileType(f.Type), LocalhostProfile: f.LocalhostProfile}
			}
			if profile != nil && reflect.DeepEqual(profile, ofPod) {
				continue
			}
			if profile != nil {
				if ctr.SecurityContext == nil {
					ctr.SecurityContext = &corev1.SecurityContext{}
				}
				ctr.SecurityContext.AppArmorProfile = profile
			}
			if !w.System {
				at := field.NewPath("metadata", "annotations").Key(prefix + ctr.Name)
				w.Warnings = append(w.Warnings, at.String()+`: deprecated since v1.30; use the "appArmorProfile" field instead`)
			}
		}
	}
}

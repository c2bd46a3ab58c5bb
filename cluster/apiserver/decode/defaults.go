package decode

import (
	"maps"
	"slices"

	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/registry"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	coredefaults "k8s.io/kubernetes/pkg/apis/core/v1"
)

// Defaults sets what the writer left open, and brings fields that say the
// same thing into line, as Kubernetes' conversion to the internal version
// does.
func Defaults(of Of, obj runtime.Object) {
	switch o := obj.(type) {
	case *corev1.Pod:
		if of.Component && of.Subresource == "status" {
			coredefaults.SetDefaults_PodStatus(&o.Status) // the spec will be the stored one
			return
		}
	case *unstructured.Unstructured:
		crd.Of(of.Kind).Fill(o)
		return
	case *corev1.Secret:
		for _, k := range slices.Sorted(maps.Keys(o.StringData)) {
			if o.Data == nil {
				o.Data = map[string][]byte{}
			}
			o.Data[k] = []byte(o.StringData[k])
		}
		o.StringData = nil
	case *appsv1.DaemonSet:
		// The internal version has a field for it, so its writer is noted as writing it.
		if _, ok := o.Annotations[appsv1.DeprecatedTemplateGeneration]; !ok && !of.Component {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, appsv1.DeprecatedTemplateGeneration, "0")
		}
	case *autoscalingv1.HorizontalPodAutoscaler: // the internal version has metrics by default, which its writer is noted as writing
		v := registry.Versioned{Resource: of.Kind.Resource, Subresource: of.Subresource}
		registry.Scheme.Default(o)
		v.Back(v.Internal(o), o)
	case *corev1.Node:
		switch s := &o.Spec; {
		case s.PodCIDR != "" && (len(s.PodCIDRs) == 0 || s.PodCIDRs[0] != s.PodCIDR):
			s.PodCIDRs = []string{s.PodCIDR}
		case s.PodCIDR == "" && len(s.PodCIDRs) > 0:
			s.PodCIDR = s.PodCIDRs[0]
		}
	case *resourcev1.DeviceTaintRule, *resourcev1.ResourceSlice:
		registry.NoteTaints(o, of.Now)
	}
	registry.Scheme.Default(obj)
}

package podtopologyspread

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Objects are the Services and controllers that a pod may belong to; nil where there is
// no such controller.
type Objects interface {
	Services(namespace string) []*corev1.Service
	ReplicationController(namespace, name string) *corev1.ReplicationController
	ReplicaSet(namespace, name string) *appsv1.ReplicaSet
	StatefulSet(namespace, name string) *appsv1.StatefulSet
}

// defaultSelector matches the pods that belong together with the pod: those of its Services
// and of its controller. It is empty for a pod on its own.
//
// Mirrors framework/plugins/helper/spread.go DefaultSelector.
func defaultSelector(o Objects, pod *corev1.Pod) labels.Selector {
	together := labels.Set{}
	for _, s := range o.Services(pod.Namespace) {
		// A Service without a selector selects nothing, and not everything.
		if s.Spec.Selector != nil && labels.Set(s.Spec.Selector).AsSelectorPreValidated().Matches(labels.Set(pod.Labels)) {
			together = labels.Merge(together, s.Spec.Selector)
		}
	}
	selector := together.AsSelector()
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return selector
	}
	switch schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind) {
	case corev1.SchemeGroupVersion.WithKind("ReplicationController"):
		if rc := o.ReplicationController(pod.Namespace, owner.Name); rc != nil {
			return labels.Merge(together, rc.Spec.Selector).AsSelector()
		}
	case appsv1.SchemeGroupVersion.WithKind("ReplicaSet"):
		if rs := o.ReplicaSet(pod.Namespace, owner.Name); rs != nil {
			return and(selector, rs.Spec.Selector)
		}
	case appsv1.SchemeGroupVersion.WithKind("StatefulSet"):
		if set := o.StatefulSet(pod.Namespace, owner.Name); set != nil {
			return and(selector, set.Spec.Selector)
		}
	}
	return selector
}

func and(selector labels.Selector, more *metav1.LabelSelector) labels.Selector {
	if s, err := metav1.LabelSelectorAsSelector(more); err == nil {
		if requirements, ok := s.Requirements(); ok {
			return selector.Add(requirements...)
		}
	}
	return selector
}

package framework

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	"pgregory.net/rapid"

	"kviz/raftstore/steady"
)

// What is added up by hand is what upstream's helper adds up.
func TestRequestsAreUpstreams(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		list := func(label string) corev1.ResourceList {
			l := corev1.ResourceList{}
			for _, name := range []corev1.ResourceName{"cpu", "memory", "ephemeral-storage", "example.com/gpu"} {
				if q := rapid.SampledFrom([]string{"", "0", "1", "250m", "1500u", "64Mi"}).Draw(r, label+string(name)); q != "" {
					l[name] = resource.MustParse(q)
				}
			}
			if len(l) == 0 {
				return nil
			}
			return l
		}
		pod := &corev1.Pod{}
		for range rapid.IntRange(0, 2).Draw(r, "containers") {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "c", Resources: corev1.ResourceRequirements{Requests: list("requests")}})
		}
		switch rapid.IntRange(0, 7).Draw(r, "more") {
		case 0:
			pod.Spec.InitContainers = []corev1.Container{{Name: "i", Resources: corev1.ResourceRequirements{Requests: list("init")}}}
		case 1:
			pod.Spec.Overhead = list("overhead")
		case 2:
			pod.Spec.Resources = &corev1.ResourceRequirements{Requests: list("pod")}
		case 3:
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", AllocatedResources: list("allocated")}}
		case 4:
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", Resources: &corev1.ResourceRequirements{Requests: list("actual")}}}
		case 5:
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Reason: corev1.PodReasonInfeasible}}
		}
		opts := resourcehelper.PodResourcesOptions{UseStatusResources: true}
		if got, want := PodRequests(pod), NewResource(resourcehelper.PodRequests(pod, opts)); !reflect.DeepEqual(got, want) {
			r.Fatalf("%+v\ngot  %+v\nwant %+v", pod, got, want)
		}
		opts.NonMissingContainerRequests = defaultRequests
		if got, want := NonZeroRequests(pod), NewResource(resourcehelper.PodRequests(pod, opts)); !reflect.DeepEqual(got, want) {
			r.Fatalf("not zero: %+v\ngot  %+v\nwant %+v", pod, got, want)
		}
	})
}

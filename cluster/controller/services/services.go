// Package services answers the questions that the controllers of EndpointSlices and
// Endpoints ask about Services and the pods behind them: which pods does a Service
// select, which changes of a pod matter to it, which number does a named port have,
// when did something last change, are these slices as I wrote them.
//
// Mirrors k8s.io/endpointslice/util. Simplified: the Services of a pod are looked up at
// once instead of through a queue of their own. Start reading at [Follow].
package services

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kviz/cluster/controller/pods"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "for EndpointSlices and Endpoints the Services of a pod are looked up at once instead of through a queue of their own",
})

// Follow calls add with the key of each Service that selects a pod, whenever the pod comes,
// goes or changes in what endpoints tell (endpointslice/util GetPodUpdateProjectionKey).
// Upstream does so for a pod without an address too, and finds nothing to do.
func Follow(services, behind *informer.Informer, add func(t *sim.Task, key string, why ...trace.ID)) {
	wake := func(t *sim.Task, pod, was *corev1.Pod) {
		for _, obj := range services.ListNamespace(pod.Namespace) {
			svc := obj.(*corev1.Service)
			if Selects(svc, pod) || was != nil && Selects(svc, was) {
				add(t, informer.KeyOf(svc))
			}
		}
	}
	cameOrWent := func(t *sim.Task, obj runtime.Object, _ trace.ID) {
		if pod := obj.(*corev1.Pod); Addressed(pod) {
			wake(t, pod, nil)
		}
	}
	behind.AddHandler(informer.Handler{
		Add: cameOrWent,
		Update: func(t *sim.Task, oldObj, obj runtime.Object, _ trace.ID) {
			old, pod := oldObj.(*corev1.Pod), obj.(*corev1.Pod)
			switch {
			case !Addressed(old) && !Addressed(pod):
			case relabelled(old, pod):
				wake(t, pod, old)
			case changed(old, pod):
				wake(t, pod, nil)
			}
		},
		Delete: cameOrWent,
	})
}

// relabelled reports whether other Services may select the pod now.
func relabelled(old, pod *corev1.Pod) bool {
	return !maps.Equal(old.Labels, pod.Labels) || old.Spec.Hostname != pod.Spec.Hostname || old.Spec.Subdomain != pod.Spec.Subdomain
}

// changed reports whether an endpoint of the pod is another one now (podEndpointsChanged).
func changed(old, pod *corev1.Pod) bool {
	return (old.DeletionTimestamp == nil) != (pod.DeletionTimestamp == nil) ||
		pods.Ready(old) != pods.Ready(pod) || pods.Terminal(old) != pods.Terminal(pod) ||
		!slices.Equal(old.Status.PodIPs, pod.Status.PodIPs)
}

// Selects reports whether the Service's selector matches the pod. (A map of
// labels, compared directly: this runs for every pod in every sync.)
func Selects(svc *corev1.Service, pod *corev1.Pod) bool {
	for k, v := range svc.Spec.Selector {
		if have, ok := pod.Labels[k]; !ok || have != v {
			return false
		}
	}
	return svc.Spec.Selector != nil
}

// Behind are the pods that a Service selects.
func Behind(svc *corev1.Service, all *informer.Informer) []*corev1.Pod {
	var behind []*corev1.Pod
	for _, obj := range all.ListNamespace(svc.Namespace) {
		if pod := obj.(*corev1.Pod); Selects(svc, pod) {
			behind = append(behind, pod)
		}
	}
	return behind
}

// Addressed reports whether a pod can be an endpoint at all.
func Addressed(pod *corev1.Pod) bool { return pod.Status.PodIP != "" || len(pod.Status.PodIPs) > 0 }

// Hostname is the name that the pod has at the Service; "" for most
// (ShouldSetHostname).
func Hostname(pod *corev1.Pod, svc *corev1.Service) string {
	if pod.Spec.Subdomain != svc.Name {
		return ""
	}
	return pod.Spec.Hostname
}

// Port is the number that a port of a Service has at a pod; false if it names one that
// the pod does not have (k8s.io/endpointslice FindPort).
func Port(pod *corev1.Pod, sp *corev1.ServicePort) (int32, bool) {
	if sp.TargetPort.Type == intstr.Int {
		return sp.TargetPort.IntVal, true
	}
	containers := slices.Clone(pod.Spec.Containers)
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			containers = append(containers, c) // a sidecar
		}
	}
	for _, c := range containers {
		for _, p := range c.Ports {
			if p.Name == sp.TargetPort.StrVal && p.Protocol == sp.Protocol {
				return p.ContainerPort, true
			}
		}
	}
	return 0, false
}

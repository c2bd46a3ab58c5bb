package endpoint

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	endpointsv1 "k8s.io/kubernetes/pkg/api/v1/endpoints"
	netutils "k8s.io/utils/net"

	"kviz/cluster/controller/pods"
	"kviz/cluster/controller/services"
)

// maxCapacity is how many addresses an object has at most.
const maxCapacity = 1000

// subsetsOf are the addresses of the pods, packed: addresses with the same ports
// together.
func subsetsOf(svc *corev1.Service, behind []*corev1.Pod) []corev1.EndpointSubset {
	var subsets []corev1.EndpointSubset
	for _, pod := range behind {
		if pods.Terminal(pod) || !services.Addressed(pod) || pod.DeletionTimestamp != nil && !svc.Spec.PublishNotReadyAddresses {
			continue
		}
		address, ok := addressOf(svc, pod)
		if !ok {
			continue
		}
		add := func(ports []corev1.EndpointPort) {
			s := corev1.EndpointSubset{Ports: ports}
			if svc.Spec.PublishNotReadyAddresses || pods.Ready(pod) {
				s.Addresses = []corev1.EndpointAddress{address}
			} else {
				s.NotReadyAddresses = []corev1.EndpointAddress{address}
			}
			subsets = append(subsets, s)
		}
		if len(svc.Spec.Ports) == 0 && svc.Spec.ClusterIP == corev1.ClusterIPNone {
			add([]corev1.EndpointPort{}) // a headless Service needs no ports
		}
		for i := range svc.Spec.Ports {
			sp := &svc.Spec.Ports[i]
			if number, ok := services.Port(pod, sp); ok {
				add([]corev1.EndpointPort{{Name: sp.Name, Port: number, Protocol: sp.Protocol, AppProtocol: sp.AppProtocol}})
			}
		}
	}
	return endpointsv1.RepackSubsets(subsets)
}

// addressOf is the pod's address in the Service's first family
// (podToEndpointAddressForService); false if it has none.
func addressOf(svc *corev1.Service, pod *corev1.Pod) (corev1.EndpointAddress, bool) {
	want6 := netutils.IsIPv6String(pod.Status.PodIP)
	switch {
	case len(svc.Spec.IPFamilies) > 0:
		want6 = svc.Spec.IPFamilies[0] == corev1.IPv6Protocol
	case svc.Spec.ClusterIP != "" && svc.Spec.ClusterIP != corev1.ClusterIPNone:
		want6 = netutils.IsIPv6String(svc.Spec.ClusterIP)
	}
	for _, ip := range pod.Status.PodIPs {
		if a := netutils.ParseIPSloppy(ip.IP); netutils.IsIPv6(a) == want6 {
			node := pod.Spec.NodeName
			return corev1.EndpointAddress{
				IP: a.String(), NodeName: &node, Hostname: services.Hostname(pod, svc),
				TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
			}, true
		}
	}
	return corev1.EndpointAddress{}, false
}

// count is how many addresses there are.
func count(subsets []corev1.EndpointSubset) int {
	n := 0
	for _, s := range subsets {
		n += len(s.Addresses) + len(s.NotReadyAddresses)
	}
	return n
}

// truncate takes addresses out of an object that has too many: those that are not ready
// first, from each subset its share (truncateEndpoints).
func truncate(e *corev1.Endpoints) bool {
	ready, unready := 0, 0
	for _, s := range e.Subsets {
		ready, unready = ready+len(s.Addresses), unready+len(s.NotReadyAddresses)
	}
	if ready+unready <= maxCapacity {
		return false
	}
	cutReady := ready > maxCapacity
	room, total := maxCapacity-ready, unready
	if cutReady {
		room, total = maxCapacity, ready
	}
	left := room
	for i := range e.Subsets {
		s := &e.Subsets[i]
		list := &s.NotReadyAddresses
		if cutReady {
			list, s.NotReadyAddresses = &s.Addresses, []corev1.EndpointAddress{}
		}
		share := int(math.Ceil(float64(len(*list)) / float64(total) * float64(room))) // the last may get less
		*list = (*list)[:min(len(*list), share, left)]
		left -= len(*list)
	}
	return true
}

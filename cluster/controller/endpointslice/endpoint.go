package endpointslice

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"kviz/cluster/controller/pods"
	"kviz/cluster/controller/services"
)

// endpointOf is a pod as an endpoint (utils.go podToEndpoint):
//
//	pod                        ready  serving  terminating
//	Ready                      true   true     false
//	not Ready                  false  false    false
//	Ready, being deleted       false  true     true
//	not Ready, being deleted   false  false    true
//
// With publishNotReadyAddresses, ready is always true.
func endpointOf(pod *corev1.Pod, node *corev1.Node, svc *corev1.Service, family discoveryv1.AddressType) discoveryv1.Endpoint {
	serving, terminating := pods.Ready(pod), pod.DeletionTimestamp != nil
	ready := svc.Spec.PublishNotReadyAddresses || serving && !terminating
	e := discoveryv1.Endpoint{
		Addresses:  addresses(pod, family),
		Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &terminating},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
	}
	if pod.Spec.NodeName != "" {
		name := pod.Spec.NodeName
		e.NodeName = &name
	}
	if node != nil {
		if zone := node.Labels[corev1.LabelTopologyZone]; zone != "" {
			e.Zone = &zone
		}
	}
	if name := services.Hostname(pod, svc); name != "" {
		e.Hostname = &name
	}
	return e
}

func addresses(pod *corev1.Pod, family discoveryv1.AddressType) []string {
	out := []string{}
	for _, ip := range pod.Status.PodIPs {
		a, err := netip.ParseAddr(ip.IP)
		if err == nil && a.Is6() == (family == discoveryv1.AddressTypeIPv6) {
			out = append(out, a.String())
		}
	}
	return out
}

// addressTypes are the families a Service has addresses in, IPv4 first
// (getAddressTypesForService).
func addressTypes(svc *corev1.Service) []discoveryv1.AddressType {
	var out []discoveryv1.AddressType
	for _, f := range []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol} {
		if slices.Contains(svc.Spec.IPFamilies, f) {
			out = append(out, discoveryv1.AddressType(f))
		}
	}
	if len(out) > 0 {
		return out
	}
	if a, err := netip.ParseAddr(svc.Spec.ClusterIP); err == nil && a.Is6() {
		return []discoveryv1.AddressType{discoveryv1.AddressTypeIPv6}
	}
	return []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4}
}

func supported(families []discoveryv1.AddressType, t discoveryv1.AddressType) bool {
	return slices.Contains(families, t)
}

// endpointPorts are a Service's ports as this pod has them; a named target port
// that the pod does not have is left out (getEndpointPorts).
func endpointPorts(svc *corev1.Service, pod *corev1.Pod) []discoveryv1.EndpointPort {
	out := []discoveryv1.EndpointPort{}
	for i := range svc.Spec.Ports {
		sp := &svc.Spec.Ports[i]
		number, ok := services.Port(pod, sp)
		if !ok {
			continue
		}
		name, protocol := sp.Name, sp.Protocol
		out = append(out, discoveryv1.EndpointPort{Name: &name, Port: &number, Protocol: &protocol, AppProtocol: sp.AppProtocol})
	}
	return out
}

package endpointslice

import (
	"fmt"
	"net/netip"
	"slices"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kviz/cluster/controller/pods"
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
	if pod.Spec.Hostname != "" && pod.Spec.Subdomain == svc.Name {
		name := pod.Spec.Hostname
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
		number, ok := findPort(pod, sp)
		if !ok {
			continue
		}
		name, protocol := sp.Name, sp.Protocol
		out = append(out, discoveryv1.EndpointPort{Name: &name, Port: &number, Protocol: &protocol, AppProtocol: sp.AppProtocol})
	}
	return out
}

func findPort(pod *corev1.Pod, sp *corev1.ServicePort) (int32, bool) {
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

// portKey is the same for the same ports in any order.
func portKey(ports []discoveryv1.EndpointPort) string {
	keys := make([]string, len(ports))
	for i, p := range ports {
		keys[i] = fmt.Sprintf("%s/%d/%s/%s", deref(p.Name), deref(p.Port), deref(p.Protocol), deref(p.AppProtocol))
	}
	sort.Strings(keys)
	return strings.Join(keys, ",")
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// endpointKey is what makes two endpoints the same one (endpointset.go
// hashEndpoint).
func endpointKey(e *discoveryv1.Endpoint) string {
	a := slices.Sorted(slices.Values(e.Addresses))
	key := strings.Join(a, ",") + " " + deref(e.Hostname)
	if e.TargetRef != nil {
		key += " " + e.TargetRef.Namespace + "/" + e.TargetRef.Name
	}
	return key
}

// sameBeyondKey compares the rest (EndpointsEqualBeyondHash).
func sameBeyondKey(a, b *discoveryv1.Endpoint) bool {
	return equal(a.NodeName, b.NodeName) && equal(a.Zone, b.Zone) &&
		equal(a.Conditions.Ready, b.Conditions.Ready) && equal(a.Conditions.Serving, b.Conditions.Serving) &&
		equal(a.Conditions.Terminating, b.Conditions.Terminating) && equal(a.TargetRef, b.TargetRef)
}

func equal[T comparable](a, b *T) bool {
	return (a == nil) == (b == nil) && (a == nil || *a == *b)
}

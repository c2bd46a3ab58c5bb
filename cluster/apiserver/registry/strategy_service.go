package registry

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/apiserver/object"
)

// NormalizeClusterIPs brings the field and the list of cluster IPs into line
// (pkg/registry/core/service/storage/storage.go).
func NormalizeClusterIPs(svc, was *corev1.Service) {
	s := &svc.Spec
	if was == nil {
		if s.ClusterIP != "" && len(s.ClusterIPs) == 0 {
			s.ClusterIPs = []string{s.ClusterIP}
		}
		return
	}
	o := &was.Spec
	if len(o.ClusterIPs) > 0 && len(s.ClusterIPs) == 0 && o.ClusterIP == s.ClusterIP {
		s.ClusterIPs = slices.Clone(o.ClusterIPs)
	}
	switch {
	case o.ClusterIP == s.ClusterIP || !slices.Equal(o.ClusterIPs, s.ClusterIPs):
	case s.ClusterIP == "":
		s.ClusterIPs = nil
	default:
		s.ClusterIPs = []string{s.ClusterIP}
	}
}

func Balanced(svc *corev1.Service) bool {
	return svc.Spec.Type == corev1.ServiceTypeLoadBalancer && (svc.Spec.AllocateLoadBalancerNodePorts == nil || *svc.Spec.AllocateLoadBalancerNodePorts)
}

func NeedsHealthPort(svc *corev1.Service) bool {
	return svc.Spec.Type == corev1.ServiceTypeLoadBalancer && svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// keepAllocated carries over what an update leaves out
// (pkg/registry/core/service/storage/storage.go patchAllocatedValues).
func keepAllocated(svc, old *corev1.Service) {
	if svc.Spec.Type != corev1.ServiceTypeExternalName && old.Spec.Type != corev1.ServiceTypeExternalName {
		if svc.Spec.ClusterIP == "" {
			svc.Spec.ClusterIP = old.Spec.ClusterIP
		}
		if len(svc.Spec.ClusterIPs) == 0 {
			svc.Spec.ClusterIPs = slices.Clone(old.Spec.ClusterIPs)
		}
	}
	if usesNodePorts(svc) && usesNodePorts(old) {
		keepNodePorts(svc, old)
	}
	if NeedsHealthPort(svc) && NeedsHealthPort(old) && svc.Spec.HealthCheckNodePort == 0 {
		svc.Spec.HealthCheckNodePort = old.Spec.HealthCheckNodePort
	}
}

// keepNodePorts gives ports that have no number the one that the port of their name
// had, unless another port has it now.
func keepNodePorts(svc, old *corev1.Service) {
	for i := range svc.Spec.Ports {
		p := &svc.Spec.Ports[i]
		if p.NodePort != 0 {
			continue
		}
		for _, o := range old.Spec.Ports {
			if o.Name == p.Name && !slices.ContainsFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return p.NodePort == o.NodePort }) {
				p.NodePort = o.NodePort
			}
		}
	}
}

func usesNodePorts(svc *corev1.Service) bool {
	return svc.Spec.Type == corev1.ServiceTypeNodePort || svc.Spec.Type == corev1.ServiceTypeLoadBalancer
}

// dropTypeDependentFields clears what a change of type makes meaningless
// (pkg/registry/core/service/strategy.go).
func dropTypeDependentFields(svc, old *corev1.Service) {
	external := corev1.ServiceTypeExternalName
	if old.Spec.Type != external && svc.Spec.Type == external {
		if svc.Spec.ClusterIP == old.Spec.ClusterIP && slices.Equal(svc.Spec.ClusterIPs, old.Spec.ClusterIPs) {
			svc.Spec.ClusterIP, svc.Spec.ClusterIPs = "", nil
		}
		if slices.Equal(svc.Spec.IPFamilies, old.Spec.IPFamilies) {
			svc.Spec.IPFamilies = nil
		}
		if object.Equal(svc.Spec.IPFamilyPolicy, old.Spec.IPFamilyPolicy) {
			svc.Spec.IPFamilyPolicy = nil
		}
	}
	if usesNodePorts(old) && !usesNodePorts(svc) && sameNodePorts(old, svc) {
		for i := range svc.Spec.Ports {
			svc.Spec.Ports[i].NodePort = 0
		}
	}
	if NeedsHealthPort(old) && !NeedsHealthPort(svc) && svc.Spec.HealthCheckNodePort == old.Spec.HealthCheckNodePort {
		svc.Spec.HealthCheckNodePort = 0
	}
	if old.Spec.Type == corev1.ServiceTypeLoadBalancer && svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		if object.Equal(svc.Spec.AllocateLoadBalancerNodePorts, old.Spec.AllocateLoadBalancerNodePorts) {
			svc.Spec.AllocateLoadBalancerNodePorts = nil
		}
		if object.Equal(svc.Spec.LoadBalancerClass, old.Spec.LoadBalancerClass) {
			svc.Spec.LoadBalancerClass = nil
		}
	}
	if reachable(old) && !reachable(svc) && svc.Spec.ExternalTrafficPolicy == old.Spec.ExternalTrafficPolicy {
		svc.Spec.ExternalTrafficPolicy = ""
	}
	if svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		svc.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	}
}

// reachable is pkg/api/service ExternallyAccessible.
func reachable(svc *corev1.Service) bool {
	return usesNodePorts(svc) || svc.Spec.Type == corev1.ServiceTypeClusterIP && len(svc.Spec.ExternalIPs) > 0
}

// sameNodePorts reports whether svc has no node port that old has not.
func sameNodePorts(old, svc *corev1.Service) bool {
	for _, p := range svc.Spec.Ports {
		if p.NodePort != 0 && !slices.ContainsFunc(old.Spec.Ports, func(o corev1.ServicePort) bool { return o.NodePort == p.NodePort }) {
			return false
		}
	}
	return true
}

package servicelb

import (
	"reflect"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Wants reports whether a Service wants a load balancer of the cloud's, and not one of a
// class that somebody else makes (wantsLoadBalancer).
func Wants(svc *corev1.Service) bool {
	return svc.Spec.Type == corev1.ServiceTypeLoadBalancer && svc.Spec.LoadBalancerClass == nil
}

func finalized(svc *corev1.Service) bool { return slices.Contains(svc.Finalizers, Finalizer) }

// needsCleanup reports whether a load balancer is to go: of a Service that goes, or that
// wants none any more.
func needsCleanup(svc *corev1.Service) bool {
	return finalized(svc) && (svc.DeletionTimestamp != nil || svc.Spec.Type != corev1.ServiceTypeLoadBalancer)
}

// changed reports whether a Service asks for another load balancer than before (needsUpdate).
func changed(old, svc *corev1.Service) bool {
	if !Wants(old) && !Wants(svc) {
		return false
	}
	a, b := &old.Spec, &svc.Spec
	return Wants(old) != Wants(svc) ||
		Wants(svc) && !reflect.DeepEqual(a.LoadBalancerSourceRanges, b.LoadBalancerSourceRanges) ||
		!samePorts(a.Ports, b.Ports) || a.SessionAffinity != b.SessionAffinity ||
		!reflect.DeepEqual(a.SessionAffinityConfig, b.SessionAffinityConfig) ||
		a.LoadBalancerIP != b.LoadBalancerIP || !slices.Equal(a.ExternalIPs, b.ExternalIPs) ||
		!reflect.DeepEqual(old.Annotations, svc.Annotations) || old.UID != svc.UID ||
		a.ExternalTrafficPolicy != b.ExternalTrafficPolicy || a.HealthCheckNodePort != b.HealthCheckNodePort ||
		len(a.IPFamilies) != len(b.IPFamilies)
}

// samePorts is portSlicesEqualForLB.
func samePorts(a, b []corev1.ServicePort) bool {
	return slices.EqualFunc(a, b, func(x, y corev1.ServicePort) bool {
		return x.Name == y.Name && x.Protocol == y.Protocol && x.Port == y.Port && x.NodePort == y.NodePort &&
			x.TargetPort == y.TargetPort && reflect.DeepEqual(x.AppProtocol, y.AppProtocol)
	})
}

// sameStatus is service/helpers LoadBalancerStatusEqual.
func sameStatus(a, b *corev1.LoadBalancerStatus) bool {
	return equality.Semantic.DeepEqual(a.Ingress, b.Ingress)
}

// toBeDeleted is the taint of a node that the cluster autoscaler is about to delete.
const toBeDeleted = "ToBeDeletedByClusterAutoscaler"

// included reports whether a node is not left out by its label (nodeIncludedPredicate).
func included(n *corev1.Node) bool {
	v, labelled := n.Labels[corev1.LabelNodeExcludeBalancers]
	if !labelled {
		return true
	}
	out, err := strconv.ParseBool(v)
	return err == nil && !out
}

// stable reports whether a load balancer forwards to a node (stableNodeSetPredicates): to
// one that is not Ready, too.
func stable(n *corev1.Node) bool {
	return n.DeletionTimestamp.IsZero() && included(n) && !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == toBeDeleted })
}

// matters reports whether a change of a node is one for load balancers (shouldSyncUpdatedNode).
func matters(old, n *corev1.Node) bool {
	return included(old) != included(n) || old.Spec.ProviderID != n.Spec.ProviderID
}

// sameNodes reports whether a load balancer would not see a difference (nodesSufficientlyEqual).
func sameNodes(old, now []*corev1.Node) bool {
	if len(old) != len(now) {
		return false
	}
	was := make(map[string]string, len(old))
	for _, n := range old {
		was[n.Name] = n.Spec.ProviderID
	}
	for _, n := range now {
		if id, had := was[n.Name]; !had || id != n.Spec.ProviderID {
			return false
		}
	}
	return true
}

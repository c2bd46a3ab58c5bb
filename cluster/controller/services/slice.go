package services

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	upstream "k8s.io/endpointslice/util"
)

// SlicePrefix is what the names of a Service's slices begin with.
func SlicePrefix(service string) string {
	prefix := service + "-"
	if len(validation.IsDNS1123Subdomain(prefix+"x")) > 0 {
		return service
	}
	return prefix
}

// InOrder sorts ports as Kubernetes writes them into slices: by their hashes.
func InOrder(ports []discoveryv1.EndpointPort) []discoveryv1.EndpointPort {
	if len(ports) > 1 {
		upstream.NewPortMapKey(ports) // sorts them
	}
	return ports
}

// PortKey is the same for the same ports in any order.
func PortKey(ports []discoveryv1.EndpointPort) string {
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

// EndpointKey is what makes two endpoints the same one (endpointset.go
// hashEndpoint).
func EndpointKey(e *discoveryv1.Endpoint) string {
	a := slices.Sorted(slices.Values(e.Addresses))
	key := strings.Join(a, ",") + " " + deref(e.Hostname)
	if e.TargetRef != nil {
		key += " " + e.TargetRef.Namespace + "/" + e.TargetRef.Name
	}
	return key
}

// SameEndpoint reports whether two endpoints with the same key say the same (EndpointsEqualBeyondHash).
func SameEndpoint(a, b *discoveryv1.Endpoint) bool {
	return equal(a.NodeName, b.NodeName) && equal(a.Zone, b.Zone) &&
		equal(a.Conditions.Ready, b.Conditions.Ready) && equal(a.Conditions.Serving, b.Conditions.Serving) &&
		equal(a.Conditions.Terminating, b.Conditions.Terminating) && equal(a.TargetRef, b.TargetRef)
}

func equal[T comparable](a, b *T) bool {
	return (a == nil) == (b == nil) && (a == nil || *a == *b)
}

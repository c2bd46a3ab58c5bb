package endpointslicemirroring

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	endpointsv1 "k8s.io/kubernetes/pkg/api/v1/endpoints"
	netutils "k8s.io/utils/net"

	"kviz/cluster/client"
	"kviz/cluster/controller/services"
)

// group is what one slice is to hold: a subset's addresses of one family.
type group struct {
	family    discoveryv1.AddressType
	ports     []discoveryv1.EndpointPort
	endpoints []discoveryv1.Endpoint
}

func (g *group) key() string { return string(g.family) + " " + services.PortKey(g.ports) }

// add adds an endpoint, or has it take the place of the one that it is.
func (g *group) add(e discoveryv1.Endpoint) {
	for i := range g.endpoints {
		if services.EndpointKey(&g.endpoints[i]) == services.EndpointKey(&e) {
			g.endpoints[i] = e
			return
		}
	}
	g.endpoints = append(g.endpoints, e)
}

// groupsOf are the groups of all subsets, of each both families; with how many addresses
// are none, and how many of all are left out.
func groupsOf(e *corev1.Endpoints) (out []*group, invalid, skipped int) {
	byKey := map[string]*group{}
	for _, subset := range endpointsv1.RepackSubsets(e.Subsets) {
		family := map[discoveryv1.AddressType]*group{}
		for _, t := range []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6} {
			g := &group{family: t, ports: portsOf(subset.Ports)}
			if byKey[g.key()] == nil {
				byKey[g.key()] = g
				out = append(out, g)
			}
			family[t] = byKey[g.key()]
		}
		added := 0
		add := func(list []corev1.EndpointAddress, ready bool) {
			for i := range list {
				if added >= MaxEndpoints {
					return
				}
				one, t, ok := endpointOf(&list[i], ready)
				if !ok {
					invalid++
					continue
				}
				family[t].add(one)
				added++
			}
		}
		add(subset.Addresses, true)
		add(subset.NotReadyAddresses, false)
		skipped += len(subset.Addresses) + len(subset.NotReadyAddresses) - added
	}
	return out, invalid, skipped
}

func portsOf(ports []corev1.EndpointPort) []discoveryv1.EndpointPort {
	out := []discoveryv1.EndpointPort{}
	for i := range ports {
		p := ports[i].DeepCopy()
		out = append(out, discoveryv1.EndpointPort{Name: &p.Name, Port: &p.Port, Protocol: &p.Protocol, AppProtocol: p.AppProtocol})
	}
	return services.InOrder(out)
}

// endpointOf is an address as an endpoint, and its family; false if it is none
// (addressToEndpoint).
func endpointOf(a *corev1.EndpointAddress, ready bool) (discoveryv1.Endpoint, discoveryv1.AddressType, bool) {
	ip := netutils.ParseIPSloppy(a.IP)
	if ip == nil {
		return discoveryv1.Endpoint{}, "", false
	}
	e := discoveryv1.Endpoint{Addresses: []string{ip.String()}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}, TargetRef: a.TargetRef, NodeName: a.NodeName}
	if a.Hostname != "" {
		e.Hostname = &a.Hostname
	}
	if ip.To4() == nil {
		return e, discoveryv1.AddressTypeIPv6, true
	}
	return e, discoveryv1.AddressTypeIPv4, true
}

// plan is which slices to create, update and delete, and which are right.
type plan struct {
	create, update, remove, keep []*discoveryv1.EndpointSlice
}

// planOf compares what is wanted with what there is (reconcileByPortMapping): one slice a
// group, in the first one that has its ports, others of them go.
func planOf(e *corev1.Endpoints, want []*group, have []*discoveryv1.EndpointSlice) *plan {
	byKey := map[string][]*discoveryv1.EndpointSlice{}
	for _, s := range have {
		key := (&group{family: s.AddressType, ports: s.Ports}).key()
		byKey[key] = append(byKey[key], s)
	}
	p := &plan{}
	for _, g := range want {
		existing := byKey[g.key()]
		if len(g.endpoints) == 0 {
			continue // what there is of it goes below
		}
		delete(byKey, g.key())
		switch {
		case len(existing) == 0:
			p.create = append(p.create, newSlice(e, g, ""))
		case isRight(existing[0], e, g):
			p.keep = append(p.keep, existing[0])
		default:
			p.update = append(p.update, newSlice(e, g, existing[0].Name))
		}
		if len(existing) > 1 {
			p.remove = append(p.remove, existing[1:]...)
		}
	}
	for _, s := range have { // nobody has these ports any more
		key := (&group{family: s.AddressType, ports: s.Ports}).key()
		p.remove = append(p.remove, byKey[key]...)
		delete(byKey, key)
	}
	p.recycle()
	return p
}

// recycle turns creations into updates of slices that would be deleted (recycleSlices).
func (p *plan) recycle() {
	var create, remove []*discoveryv1.EndpointSlice
	used := map[*discoveryv1.EndpointSlice]bool{}
	for _, s := range p.create {
		name := ""
		for _, old := range p.remove {
			if !used[old] && old.AddressType == s.AddressType {
				used[old], name = true, old.Name
				break
			}
		}
		if name == "" {
			create = append(create, s)
			continue
		}
		s.Name = name
		p.update = append(p.update, s)
	}
	for _, old := range p.remove {
		if !used[old] {
			remove = append(remove, old)
		}
	}
	p.create, p.remove = create, remove
}

// isRight reports whether the slice says what the group and the Endpoints do.
func isRight(s *discoveryv1.EndpointSlice, e *corev1.Endpoints, g *group) bool {
	for _, o := range s.OwnerReferences {
		if o.Kind == "Endpoints" && o.Name == e.Name && o.UID != e.UID {
			return false // of others, of the same name
		}
	}
	want := map[string]*discoveryv1.Endpoint{}
	for i := range g.endpoints {
		want[services.EndpointKey(&g.endpoints[i])] = &g.endpoints[i]
	}
	for i := range s.Endpoints {
		key := services.EndpointKey(&s.Endpoints[i])
		if want[key] == nil || !services.SameEndpoint(want[key], &s.Endpoints[i]) {
			return false
		}
		delete(want, key)
	}
	labels := maps.Clone(s.Labels)
	delete(labels, discoveryv1.LabelManagedBy)
	delete(labels, discoveryv1.LabelServiceName)
	return len(want) == 0 && maps.Equal(labels, e.Labels) && maps.Equal(s.Annotations, annotationsOf(e))
}

// annotationsOf are the annotations of Endpoints that their slices have too.
func annotationsOf(e *corev1.Endpoints) map[string]string {
	out := maps.Clone(e.Annotations)
	delete(out, corev1.EndpointsLastChangeTriggerTime)
	delete(out, corev1.LastAppliedConfigAnnotation)
	return out
}

// newSlice is a group as a slice (newEndpointSlice); without a name the API server gives
// it one.
func newSlice(e *corev1.Endpoints, g *group, name string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: e.Namespace, Name: name, Labels: maps.Clone(e.Labels), Annotations: annotationsOf(e),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(e, client.Endpoints.GVK())},
		},
		AddressType: g.family, Ports: g.ports, Endpoints: g.endpoints,
	}
	if s.Labels == nil {
		s.Labels = map[string]string{}
	}
	s.Labels[discoveryv1.LabelServiceName], s.Labels[discoveryv1.LabelManagedBy] = e.Name, ManagedBy
	if name == "" {
		s.GenerateName = services.SlicePrefix(e.Name)
	}
	return s
}

package endpointslice

import (
	"maps"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/services"
)

// pack fits the endpoints of a group into slices with as few changes as
// possible (reconcileByPortMapping):
//
//  1. an endpoint that is in a slice stays there; what is not wanted goes
//  2. slices that change anyway are filled up, the fullest first
//  3. what is left goes into the unchanged slice it fills best, else into
//     new slices
func pack(svc *corev1.Service, g *group, existing []*discoveryv1.EndpointSlice, family discoveryv1.AddressType) *plan {
	left := map[string]*discoveryv1.Endpoint{}
	for i := range g.endpoints {
		left[services.EndpointKey(&g.endpoints[i])] = &g.endpoints[i]
	}
	p := &plan{}
	var unchanged []*discoveryv1.EndpointSlice
	for _, s := range existing {
		kept, changed := keep(s, left)
		lbls, relabelled := sliceLabels(s.Labels, svc)
		switch {
		case changed && len(kept) == 0:
			p.remove = append(p.remove, s)
		case changed || relabelled:
			u := s.DeepCopy()
			u.Endpoints, u.Labels = kept, lbls
			p.update = append(p.update, u)
		default:
			unchanged = append(unchanged, s)
		}
	}
	// In the order of the pods, not of the map.
	var rest []discoveryv1.Endpoint
	for i := range g.endpoints {
		if left[services.EndpointKey(&g.endpoints[i])] == &g.endpoints[i] {
			rest = append(rest, g.endpoints[i])
		}
	}
	fill := func(s *discoveryv1.EndpointSlice) {
		n := min(len(rest), MaxEndpoints-len(s.Endpoints))
		s.Endpoints = append(s.Endpoints, rest[:n]...)
		rest = rest[n:]
	}
	sort.SliceStable(p.update, func(i, j int) bool { return len(p.update[i].Endpoints) > len(p.update[j].Endpoints) })
	for _, s := range p.update {
		fill(s)
	}
	for len(rest) > 0 {
		if best := fits(unchanged, len(rest)); best >= 0 {
			s := unchanged[best].DeepCopy()
			unchanged = append(unchanged[:best:best], unchanged[best+1:]...)
			fill(s)
			p.update = append(p.update, s)
			continue
		}
		s := newSlice(svc, g.ports, family)
		fill(s)
		p.create = append(p.create, s)
	}
	return p
}

// keep gives the endpoints of a slice that are still wanted, as they are now,
// and takes them out of left.
func keep(s *discoveryv1.EndpointSlice, left map[string]*discoveryv1.Endpoint) (kept []discoveryv1.Endpoint, changed bool) {
	for i := range s.Endpoints {
		old := &s.Endpoints[i]
		key := services.EndpointKey(old)
		want := left[key]
		if want == nil {
			changed = true
			continue
		}
		kept = append(kept, *want)
		changed = changed || !services.SameEndpoint(want, old)
		delete(left, key)
	}
	return kept, changed
}

// fits gives the slice that n more endpoints fill best, or -1 (getSliceToFill).
func fits(list []*discoveryv1.EndpointSlice, n int) int {
	best, room := -1, MaxEndpoints
	if n >= MaxEndpoints {
		return -1
	}
	for i, s := range list {
		if over := MaxEndpoints - n - len(s.Endpoints); over >= 0 && over < room {
			best, room = i, over
		}
	}
	return best
}

// newSlice is an empty slice of a Service; the API server completes its name.
func newSlice(svc *corev1.Service, ports []discoveryv1.EndpointPort, family discoveryv1.AddressType) *discoveryv1.EndpointSlice {
	if ports == nil {
		ports = []discoveryv1.EndpointPort{}
	}
	lbls, _ := sliceLabels(nil, svc)
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: svc.Namespace, GenerateName: services.SlicePrefix(svc.Name), Labels: lbls,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(svc, client.Services.GVK())},
		},
		AddressType: family, Ports: ports, Endpoints: []discoveryv1.Endpoint{},
	}
}

// sliceLabels are the Service's labels and the reserved ones; changed says
// whether the Service's are not those of have (setEndpointSliceLabels).
func sliceLabels(have map[string]string, svc *corev1.Service) (out map[string]string, changed bool) {
	free := func(m map[string]string) map[string]string {
		c := maps.Clone(m)
		for _, k := range []string{discoveryv1.LabelServiceName, discoveryv1.LabelManagedBy, corev1.IsHeadlessService} {
			delete(c, k)
		}
		return c
	}
	out = free(svc.Labels)
	changed = !maps.Equal(free(have), out)
	if out == nil {
		out = map[string]string{}
	}
	if svc.Spec.ClusterIP == "" || svc.Spec.ClusterIP == corev1.ClusterIPNone {
		out[corev1.IsHeadlessService] = ""
	}
	out[discoveryv1.LabelServiceName], out[discoveryv1.LabelManagedBy] = svc.Name, ManagedBy
	return out, changed
}

// isPlaceholder reports whether a slice is the empty one already. As upstream
// compares them, a label without a value is as good as none
// (placeholderSliceCompare).
func isPlaceholder(s, placeholder *discoveryv1.EndpointSlice) bool {
	covers := func(a, b map[string]string) bool {
		for k, v := range b {
			if a[k] != v {
				return false
			}
		}
		return true
	}
	return len(s.Endpoints) == 0 && len(s.Ports) == 0 && covers(s.Labels, placeholder.Labels) && covers(placeholder.Labels, s.Labels)
}

func ownedBy(s *discoveryv1.EndpointSlice, svc *corev1.Service) bool {
	for _, o := range s.OwnerReferences {
		if o.UID == svc.UID && o.Kind == "Service" && o.APIVersion == "v1" {
			return true
		}
	}
	return false
}

// stamp notes when the change happened that this slice tells of; kube-proxy
// measures from there (addTriggerTimeAnnotation).
func stamp(s *discoveryv1.EndpointSlice, changed time.Time) {
	if changed.IsZero() {
		delete(s.Annotations, corev1.EndpointsLastChangeTriggerTime)
		return
	}
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[corev1.EndpointsLastChangeTriggerTime] = changed.UTC().Format(time.RFC3339Nano)
}

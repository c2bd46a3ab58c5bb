package motion

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/view"
)

// serviceAt is the Service, namespace/name, whose address with its port this is; "" for none.
func serviceAt(s *view.State, address string) (key string) {
	ip, _, _ := strings.Cut(address, ":")
	s.EachObject("services", "", func(o *view.Object) bool {
		if svc, ok := o.Value.(*corev1.Service); ok && svc.Spec.ClusterIP == ip {
			key = o.Ref.Key()
		}
		return key == ""
	})
	return key
}

// ruled is the Service, namespace/name, of which the last sync of a node has changed a rule; "" for
// none.
func ruled(node string, s *view.State) string {
	n := s.Node(node)
	if n == nil {
		return ""
	}
	for _, change := range n.LastDiff() {
		key, _, _ := strings.Cut(change.Service, ":")
		if namespace, name, ok := strings.Cut(key, "/"); ok && s.Object("services", namespace, name) != nil {
			return key
		}
	}
	return ""
}

// asked is the Service that a packet was sent to at first.
func asked(flow uint64, s *view.State) string {
	f := s.Flow(flow)
	if f == nil {
		return ""
	}
	for _, h := range f.Hops() {
		if h.Dst != "" {
			return serviceAt(s, h.Dst)
		}
	}
	return ""
}

// podAt is the node of the pod that has an address; "" for none.
func podAt(s *view.State, address string) (node string) {
	ip, _, _ := strings.Cut(address, ":")
	s.EachObject("pods", "", func(o *view.Object) bool {
		if pod, ok := o.Value.(*corev1.Pod); ok && pod.Status.PodIP == ip && !pod.Spec.HostNetwork {
			node = pod.Spec.NodeName
		}
		return node == ""
	})
	return node
}

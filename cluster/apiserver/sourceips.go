package apiserver

import (
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/trace"
)

// sourceIPs are the sender's addresses: the HTTP edge says them of who is outside;
// a node's or pod's is in its object; everything else runs on the control plane's
// machine.
func (s *Server) sourceIPs(r *Request) []string {
	if r.SourceIPs != nil {
		return r.SourceIPs
	}
	if name := r.Lane.Instance; name != "" {
		switch r.Lane.Component {
		case trace.CompPod:
			if en := s.caches[registry.KindFor(client.Pods.GroupVersionResource)].Get(name); en != nil && en.Object.(*corev1.Pod).Status.PodIP != "" {
				return []string{en.Object.(*corev1.Pod).Status.PodIP}
			}
		default:
			if en := s.caches[registry.KindFor(client.Nodes.GroupVersionResource)].Get(name); en != nil {
				for _, a := range en.Object.(*corev1.Node).Status.Addresses {
					if a.Type == corev1.NodeInternalIP {
						return []string{a.Address}
					}
				}
			}
		}
	}
	return []string{s.cfg.AdvertiseIP}
}

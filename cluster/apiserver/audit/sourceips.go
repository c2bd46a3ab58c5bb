package audit

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/trace"
)

// Sources tells where requests come from.
type Sources struct {
	Lister  Lister
	Machine string // the address of the server's own
}

// Lister reads the objects of nodes and pods.
type Lister interface {
	// Get is nil where the object is not there.
	Get(r client.Resource, namespace, name string) runtime.Object
}

// IPs are the sender's addresses: for clients outside the HTTP edge knows them; a
// node's or pod's is in its object; everything else runs on the control plane's
// machine.
func (s Sources) IPs(r *request.Request) []string {
	if r.SourceIPs != nil {
		return r.SourceIPs
	}
	if name := r.Lane.Instance; name != "" {
		switch r.Lane.Component {
		case trace.CompPod:
			namespace, pod, _ := strings.Cut(name, "/")
			if pod, _ := s.Lister.Get(client.Pods, namespace, pod).(*corev1.Pod); pod != nil && pod.Status.PodIP != "" {
				return []string{pod.Status.PodIP}
			}
		default:
			if node, _ := s.Lister.Get(client.Nodes, "", name).(*corev1.Node); node != nil {
				for _, a := range node.Status.Addresses {
					if a.Type == corev1.NodeInternalIP {
						return []string{a.Address}
					}
				}
			}
		}
	}
	return []string{s.Machine}
}

package kubelet

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// awaitPodCIDR watches the kubelet's Node until it says which addresses the node's pods have: the
// node IPAM controller gives them. With them the network plugin is configured, and the node can
// be Ready (pkg/kubelet kubelet_network.go updatePodCIDR).
//
// Upstream's kubelet watches its Node as long as it lives; here it has nothing else to learn from it.
func (kl *Kubelet) awaitPodCIDR() {
	own := informer.New(kl.p, kl.p.Lane, kl.c, client.Nodes, "", informer.Options{FieldSelector: fields.OneTermEqualSelector("metadata.name", kl.cfg.Node).String()})
	seen := func(obj apiruntime.Object, why trace.ID) {
		cidr := obj.(*corev1.Node).Spec.PodCIDR
		if cidr == "" || kl.cfg.PodCIDR != "" {
			return
		}
		kl.cfg.PodCIDR = cidr
		if kl.cfg.PodCIDRGiven != nil {
			kl.cfg.PodCIDRGiven(cidr)
		}
		kl.node.check("podCIDR", why)
		own.Stop()
	}
	own.AddHandler(informer.Handler{
		Add:    func(_ *sim.Task, obj apiruntime.Object, why trace.ID) { seen(obj, why) },
		Update: func(_ *sim.Task, _, obj apiruntime.Object, why trace.ID) { seen(obj, why) },
	})
	own.Start()
}

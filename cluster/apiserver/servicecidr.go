package apiserver

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// The range of the Services' cluster IPs, which the server was started with, is an object too:
// the ServiceCIDR kubernetes, which the servers make and say to be Ready
// (pkg/controlplane/controller/defaultservicecidr).

// defaultServiceCIDR is its name (DefaultServiceCIDRName).
const defaultServiceCIDR = "kubernetes"

func isServiceCIDR(key []byte) bool {
	return string(key) == registry.KindFor(client.ServiceCIDRs.GroupVersionResource).Prefix+defaultServiceCIDR
}

// serviceCIDR is the object as a new cluster has it.
func (s *Server) serviceCIDR(now metav1.Time) *networkingv1.ServiceCIDR {
	return &networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: defaultServiceCIDR},
		Spec:       networkingv1.ServiceCIDRSpec{CIDRs: []string{s.cidr.Masked().String()}},
		Status: networkingv1.ServiceCIDRStatus{Conditions: []metav1.Condition{{
			Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue, LastTransitionTime: now, Message: "Kubernetes default Service CIDR is ready",
		}}},
	}
}

// initialServiceCIDR is the same as it is written past the pipeline. Its UID is not drawn from
// the server's stream, in which a seed has its names.
func (s *Server) initialServiceCIDR(now metav1.Time) initial {
	obj := s.serviceCIDR(now)
	obj.SetGroupVersionKind(client.ServiceCIDRs.GVK())
	obj.UID, obj.CreationTimestamp = object.NewUID(s.k.Rand(s.streamName("default-servicecidr"))), now
	return initial{registry.KindFor(client.ServiceCIDRs.GroupVersionResource), obj}
}

// keepServiceCIDR makes the object again, and says that it is Ready, where somebody has deleted
// it or its condition. Upstream's looks every time; here it looks where it was missing at the
// start, or the kind has a watch cache: nobody has changed what nobody has used.
func (s *Server) keepServiceCIDR(t *sim.Task, self client.Interface) {
	k := registry.KindFor(client.ServiceCIDRs.GroupVersionResource)
	if s.caches[k] == nil && !s.lacksServiceCIDR {
		return
	}
	if !s.cacheOf(k).Wait(t, 0, etcd3.TooNewWait) {
		return
	}
	s.lacksServiceCIDR = false
	is, _ := lister{s}.Get(client.ServiceCIDRs, "", defaultServiceCIDR).(*networkingv1.ServiceCIDR)
	want := s.serviceCIDR(second(t))
	if is == nil {
		made, err := client.Create(t, self, client.ServiceCIDRs, "", want)
		if err != nil {
			return // tried again
		}
		is = made
	}
	if !is.DeletionTimestamp.IsZero() || !object.Equal(is.Spec.CIDRs, want.Spec.CIDRs) || len(is.Status.Conditions) > 0 {
		return
	}
	next := is.DeepCopy()
	next.Status = want.Status
	_, _ = client.UpdateStatus(t, self, client.ServiceCIDRs, "", next)
}

package controlplane

import (
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// ServiceCIDRKey is where it is at the store.
func ServiceCIDRKey() string {
	return registry.KindFor(client.ServiceCIDRs.GroupVersionResource).Prefix + defaultServiceCIDR
}

// newServiceCIDR is the object as a new cluster has it once kube-controller-manager has seen it
// (pkg/controller/servicecidrs): nobody has to write it twice at the beginning.
func (c *Controllers) newServiceCIDR(now metav1.Time) *networkingv1.ServiceCIDR {
	cidr := c.serviceCIDR(now)
	cidr.Finalizers = []string{"networking.k8s.io/service-cidr-finalizer"}
	cidr.Status.Conditions[0].Message = "Kubernetes Service CIDR is ready"
	return cidr
}

// serviceCIDR is the object as the server makes it.
func (c *Controllers) serviceCIDR(now metav1.Time) *networkingv1.ServiceCIDR {
	return &networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: defaultServiceCIDR},
		Spec:       networkingv1.ServiceCIDRSpec{CIDRs: []string{c.CIDR.Masked().String()}},
		Status: networkingv1.ServiceCIDRStatus{Conditions: []metav1.Condition{{
			Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue, LastTransitionTime: now, Message: "Kubernetes default Service CIDR is ready",
		}}},
	}
}

// keepServiceCIDR makes the object again, and says that it is Ready, where somebody has deleted
// it or its condition. Upstream's looks every time; here it looks where it was missing at the
// start, or the kind has a watch cache: nobody has changed what nobody has used.
func (c *Controllers) keepServiceCIDR(t *sim.Task) {
	k := registry.KindFor(client.ServiceCIDRs.GroupVersionResource)
	if c.Caches.Opened(k) == nil && !c.LacksServiceCIDR {
		return
	}
	if !c.Caches.WaitFresh(t, k) {
		return
	}
	c.LacksServiceCIDR = false
	is, _ := c.Caches.Get(client.ServiceCIDRs, "", defaultServiceCIDR).(*networkingv1.ServiceCIDR)
	want := c.serviceCIDR(metav1.NewTime(t.Now().Truncate(time.Second)))
	if is == nil {
		made, err := client.Create(t, c.Client, client.ServiceCIDRs, "", want)
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
	_, _ = client.UpdateStatus(t, c.Client, client.ServiceCIDRs, "", next)
}

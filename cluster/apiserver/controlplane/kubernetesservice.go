package controlplane

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Pods find the API server by the Service kubernetes in the namespace default. Nobody
// selects its endpoints: the servers write them, as Endpoints and as an EndpointSlice
// (pkg/controlplane/controller/kubernetesservice, pkg/controlplane/reconcilers).

// ReconcileEvery is how often a server looks whether they are right
// (DefaultEndpointReconcilerInterval).
const ReconcileEvery = 10 * time.Second

const (
	serviceName = "kubernetes"
	securePort  = 6443 // kube-apiserver's --secure-port
	servicePort = 443
)

// kubernetesService is the Service as a new cluster has it.
func (c *Controllers) kubernetesService() *corev1.Service {
	ip := c.CIDR.Masked().Addr().Next().String()
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: serviceName, Namespace: metav1.NamespaceDefault, Labels: map[string]string{"provider": "kubernetes", "component": "apiserver"}},
		Spec: corev1.ServiceSpec{
			ClusterIP: ip, ClusterIPs: []string{ip}, Type: corev1.ServiceTypeClusterIP, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			IPFamilyPolicy: ptr.To(corev1.IPFamilyPolicySingleStack),
			Ports:          []corev1.ServicePort{{Name: "https", Port: servicePort, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(securePort)}},
		},
	}
}

// kubernetesEndpoints lead to the addresses. The label keeps the mirroring controller
// away from them.
func kubernetesEndpoints(addresses []string) *corev1.Endpoints {
	e := &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Name: serviceName, Namespace: metav1.NamespaceDefault, Labels: map[string]string{discoveryv1.LabelSkipMirror: "true"}},
	}
	if len(addresses) > 0 {
		subset := corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Name: "https", Port: securePort, Protocol: corev1.ProtocolTCP}}}
		for _, a := range addresses {
			subset.Addresses = append(subset.Addresses, corev1.EndpointAddress{IP: a})
		}
		e.Subsets = []corev1.EndpointSubset{subset}
	}
	return e
}

// kubernetesSlice is the same as a slice.
func kubernetesSlice(addresses []string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: serviceName, Namespace: metav1.NamespaceDefault, Labels: map[string]string{discoveryv1.LabelServiceName: serviceName}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{},
	}
	if len(addresses) > 0 {
		s.Ports = []discoveryv1.EndpointPort{{Name: ptr.To("https"), Port: ptr.To(int32(securePort)), Protocol: ptr.To(corev1.ProtocolTCP)}}
	}
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}})
	}
	return s
}

// KeepService has the Service be there and lead to the servers that answer, for as long as the
// server runs: at its start each server does it, later the one that leads for all.
func (c *Controllers) KeepService(t *sim.Task) {
	for first := true; ; first = false {
		if t.SetCauses(); first || c.Leads() {
			_ = t.HandleCrashOn(client.Services.Ref(metav1.NamespaceDefault, serviceName), "the endpoints of the Service", func() { c.ReconcileService(t) })
			_ = t.HandleCrashOn(trace.Ref{}, "the ServiceCIDR", func() { c.keepServiceCIDR(t) })
		}
		t.Sleep(ReconcileEvery)
	}
}

// ReconcileService writes what is missing or wrong; what fails is tried again.
// Upstream's servers learn of one another by keys with a TTL of 15 s under
// /registry/masterleases, and ask for the objects every time; here they see it directly,
// and the objects are those of the watch cache, so that nothing is sent where nothing
// changes.
func (c *Controllers) ReconcileService(t *sim.Task) {
	have := func(r client.Resource) runtime.Object {
		return c.Caches.Get(r, metav1.NamespaceDefault, serviceName)
	}
	if have(client.Services) == nil {
		_, _ = client.Create(t, c.Client, client.Services, metav1.NamespaceDefault, c.kubernetesService())
	}
	addresses := c.Addresses()
	slices.Sort(addresses)

	want := kubernetesEndpoints(addresses)
	switch e, _ := have(client.Endpoints).(*corev1.Endpoints); {
	case e == nil:
		_, _ = client.Create(t, c.Client, client.Endpoints, metav1.NamespaceDefault, want)
	case e.Labels[discoveryv1.LabelSkipMirror] != "true" || !object.Equal(e.Subsets, want.Subsets):
		next := e.DeepCopy()
		if next.Labels == nil {
			next.Labels = map[string]string{}
		}
		next.Labels[discoveryv1.LabelSkipMirror], next.Subsets = "true", want.Subsets
		_, _ = client.Update(t, c.Client, client.Endpoints, metav1.NamespaceDefault, next)
	}

	slice := kubernetesSlice(addresses)
	switch e, _ := have(client.EndpointSlices).(*discoveryv1.EndpointSlice); {
	case e == nil:
		_, _ = client.Create(t, c.Client, client.EndpointSlices, metav1.NamespaceDefault, slice)
	case !object.Equal(e.Labels, slice.Labels) || !object.Equal(e.Endpoints, slice.Endpoints) || !object.Equal(e.Ports, slice.Ports):
		_, _ = client.Update(t, c.Client, client.EndpointSlices, metav1.NamespaceDefault, slice)
	}
}

package apiserver

import (
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
)

// resolveService finds the server behind one of a Service's ready endpoints. Which
// simulated server it is, the pod's image says.
func (h *hooks) resolveService(namespace, name string, port int32) (hookServer, error) {
	ready, err := h.s.endpointsOf(namespace, name, port)
	if err != nil {
		return hookServer{}, err
	}
	one := ready[h.rand.IntN(len(ready))]
	return hookServer{address: one.address, name: h.serverIn(one.pod)}, nil
}

// backendAddress is where a Service's requests can go.
type backendAddress struct {
	address string // host:port
	pod     *corev1.ObjectReference
}

// endpointsOf are the ready endpoints of a Service's port, one of which is to be drawn
// by lot; there is at least one, or an error (apiserver pkg/util/proxy
// ResolveEndpoint; kube-apiserver --enable-aggregator-routing).
func (s *Server) endpointsOf(namespace, name string, port int32) ([]backendAddress, error) {
	en := s.caches[registry.KindFor(client.Services.GroupVersionResource)].Get(namespace + "/" + name)
	if en == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "service"}, name)
	}
	svc := en.Object.(*corev1.Service)
	if svc.Spec.Type == corev1.ServiceTypeExternalName {
		return nil, fmt.Errorf("unsupported service type %q", svc.Spec.Type)
	}
	portName, found := "", false
	for _, p := range svc.Spec.Ports {
		if p.Port == port {
			portName, found = p.Name, true
			break
		}
	}
	if !found {
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %v found for service %q", port, name))
	}
	var ready []backendAddress
	s.caches[registry.KindFor(client.EndpointSlices.GroupVersionResource)].Scan(namespace, func(_ string, en *cacher.Entry) bool {
		slice := en.Object.(*discoveryv1.EndpointSlice)
		if slice.Labels[discoveryv1.LabelServiceName] != name {
			return true
		}
		for _, p := range slice.Ports {
			if p.Port == nil || p.Name != nil && *p.Name != portName || p.Name == nil && portName != "" {
				continue
			}
			for _, e := range slice.Endpoints {
				if (e.Conditions.Ready == nil || *e.Conditions.Ready) && len(e.Addresses) > 0 {
					ready = append(ready, backendAddress{net.JoinHostPort(e.Addresses[0], strconv.Itoa(int(*p.Port))), e.TargetRef})
				}
			}
		}
		return true
	})
	if len(ready) == 0 {
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", name))
	}
	return ready, nil
}

// serverIn is the simulated webhook server that a pod's image holds; "" for none.
func (h *hooks) serverIn(ref *corev1.ObjectReference) string {
	if ref == nil || ref.Kind != "Pod" || h.s.cfg.Webhooks == nil {
		return ""
	}
	en := h.s.caches[registry.KindFor(client.Pods.GroupVersionResource)].Get(ref.Namespace + "/" + ref.Name)
	if en == nil {
		return ""
	}
	for _, c := range en.Object.(*corev1.Pod).Spec.Containers {
		if name := h.s.cfg.Webhooks.Image(c.Image); name != "" {
			return name
		}
	}
	return ""
}

package apiserver

import (
	"fmt"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/apiserver/webhook"
	"kviz/cluster/client"
)

// serviceEndpoints are those of the cluster's Services, as the watch caches have them
// ([webhook.Services]).
type serviceEndpoints struct{ lister }

// Pod is [webhook.Services].
func (l serviceEndpoints) Pod(namespace, name string) *corev1.Pod {
	pod, _ := l.Get(client.Pods, namespace, name).(*corev1.Pod)
	return pod
}

// Backend is [handlers.Backends] (pkg/registry/core/service/storage ResourceLocation,
// apiserver pkg/util/proxy RandomEndpoint): of the endpoints of a port those that are
// ready, and a pod of the namespace.
func (l serviceEndpoints) Backend(namespace, service, port string) (string, error) {
	if number, err := strconv.ParseInt(port, 10, 64); err == nil {
		svc, ok := l.Get(client.Services, namespace, service).(*corev1.Service)
		if !ok {
			return "", apierrors.NewNotFound(schema.GroupResource{Resource: "services"}, service)
		}
		i := slices.IndexFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return int64(p.Port) == number })
		if i < 0 {
			return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", number, service))
		}
		port = svc.Spec.Ports[i].Name
	}
	var ready []string
	for _, e := range l.ready(namespace, service, port) {
		if ref := e.Pod; ref != nil && ref.Namespace == namespace {
			host, _, _ := net.SplitHostPort(e.Address)
			if pod := l.Pod(namespace, ref.Name); pod != nil && slices.Contains(pod.Status.PodIPs, corev1.PodIP{IP: host}) {
				ready = append(ready, e.Address)
			}
		}
	}
	if len(ready) == 0 {
		return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", service))
	}
	return ready[l.s.backends.IntN(len(ready))], nil
}

// Endpoints is [webhook.Services] (apiserver pkg/util/proxy ResolveEndpoint;
// kube-apiserver --enable-aggregator-routing).
func (l serviceEndpoints) Endpoints(namespace, name string, port int32) ([]webhook.Endpoint, error) {
	svc, ok := l.Get(client.Services, namespace, name).(*corev1.Service)
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "service"}, name)
	}
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
	ready := l.ready(namespace, name, portName)
	if len(ready) == 0 {
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", name))
	}
	return ready, nil
}

// ready are the endpoints of a Service's port that are.
func (l serviceEndpoints) ready(namespace, name, portName string) (ready []webhook.Endpoint) {
	l.Each(client.EndpointSlices, namespace, func(obj runtime.Object) bool {
		slice := obj.(*discoveryv1.EndpointSlice)
		if slice.Labels[discoveryv1.LabelServiceName] != name {
			return true
		}
		for _, p := range slice.Ports {
			if p.Port == nil || p.Name != nil && *p.Name != portName || p.Name == nil && portName != "" {
				continue
			}
			for _, e := range slice.Endpoints {
				if (e.Conditions.Ready == nil || *e.Conditions.Ready) && len(e.Addresses) > 0 {
					ready = append(ready, webhook.Endpoint{Address: net.JoinHostPort(e.Addresses[0], strconv.Itoa(int(*p.Port))), Pod: e.TargetRef})
				}
			}
		}
		return true
	})
	return ready
}

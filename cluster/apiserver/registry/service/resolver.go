package service

import (
	"fmt"
	"math/rand/v2"
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

// Resolver finds what is behind the cluster's Services, as the watch caches have them
// (kube-aggregator pkg/apiserver/resolvers.go; [webhook.Services]).
type Resolver struct {
	Lister Lister
	Rand   *rand.Rand // chooses who of a Service gets what is sent on
}

// Lister reads Services, their slices and pods.
type Lister interface {
	// Get is nil where the object is not there.
	Get(r client.Resource, namespace, name string) runtime.Object
	// Each calls fn for the objects of a namespace, until it returns false.
	Each(r client.Resource, namespace string, fn func(runtime.Object) bool)
}

// Pod is [webhook.Services].
func (l Resolver) Pod(namespace, name string) *corev1.Pod {
	pod, _ := l.Lister.Get(client.Pods, namespace, name).(*corev1.Pod)
	return pod
}

// Backend is [handlers.Backends] (pkg/registry/core/service/storage ResourceLocation,
// apiserver pkg/util/proxy RandomEndpoint): of the endpoints of a port those that are
// ready, and a pod of the namespace.
func (l Resolver) Backend(namespace, service, port string) (string, error) {
	if number, err := strconv.ParseInt(port, 10, 64); err == nil {
		svc, ok := l.Lister.Get(client.Services, namespace, service).(*corev1.Service)
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
	return ready[l.Rand.IntN(len(ready))], nil
}

// Endpoints is [webhook.Services] (apiserver pkg/util/proxy ResolveEndpoint;
// kube-apiserver --enable-aggregator-routing).
func (l Resolver) Endpoints(namespace, name string, port int32) ([]webhook.Endpoint, error) {
	svc, ok := l.Lister.Get(client.Services, namespace, name).(*corev1.Service)
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

// ServiceEndpoints are the addresses of the ready endpoints of a Service's port.
func (l Resolver) ServiceEndpoints(namespace, name string, port int32) ([]string, error) {
	ready, err := l.Endpoints(namespace, name, port)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(ready))
	for i, e := range ready {
		out[i] = e.Address
	}
	return out, nil
}

// ready are the endpoints of a Service's port that are.
func (l Resolver) ready(namespace, name, portName string) (ready []webhook.Endpoint) {
	l.Lister.Each(client.EndpointSlices, namespace, func(obj runtime.Object) bool {
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

package network

import (
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/sim"
)

var (
	errNoResolver = errors.New("network: nobody resolves names")
	errNoName     = errors.New("network: no such name")
)

// Resolver resolves the names that pods use. namespace is the pod's ("" for a
// node). In a real cluster that is CoreDNS, reached through the Service
// kube-dns; here it is a hook, and [APIResolver] a first answer.
type Resolver interface {
	Resolve(t *sim.Task, node, namespace, name string) ([]string, error)
}

// APIResolver looks Services up in the API server, with the names that cluster
// DNS would serve: NAME, NAME.NAMESPACE, NAME.NAMESPACE.svc and
// NAME.NAMESPACE.svc.cluster.local. A headless Service gives its ready
// endpoints, and HOST.NAME the one that is called so, as the pods of a StatefulSet are. Names
// outside the cluster do not resolve.
type APIResolver struct {
	Client client.Interface
}

// Resolve gives the addresses of a name.
func (r APIResolver) Resolve(t *sim.Task, _, namespace, name string) ([]string, error) {
	for _, c := range candidates(name, namespace) {
		svc, err := client.Get[*corev1.Service](t, r.Client, client.Services, c.namespace, c.name)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if c.host == "" && svc.Spec.ClusterIP != corev1.ClusterIPNone && svc.Spec.ClusterIP != "" {
			return []string{svc.Spec.ClusterIP}, nil
		}
		ips, err := r.endpoints(t, c)
		if c.host != "" && errors.Is(err, errNoName) {
			continue
		}
		return ips, err
	}
	return nil, errNoName
}

// serviceName is a Service, or the endpoint of it that is called host.
type serviceName struct{ namespace, name, host string }

// candidates are the Services a name can mean, as the search list of a pod's
// /etc/resolv.conf goes: its own namespace first.
func candidates(name, namespace string) []serviceName {
	name = strings.TrimSuffix(name, ".")
	whole := false // the name says the namespace
	for _, domain := range []string{".svc.cluster.local", ".svc"} {
		if short, ok := strings.CutSuffix(name, domain); ok {
			name, whole = short, true
			break
		}
	}
	parts := strings.Split(name, ".")
	switch len(parts) {
	case 1:
		if namespace == "" { // a node does not search the cluster's domains
			return nil
		}
		return []serviceName{{namespace, parts[0], ""}}
	case 2:
		other := serviceName{parts[1], parts[0], ""}
		if whole || namespace == "" {
			return []serviceName{other}
		}
		return []serviceName{{namespace, parts[1], parts[0]}, other}
	case 3:
		return []serviceName{{parts[2], parts[1], parts[0]}}
	}
	return nil
}

// endpoints are the addresses of a Service's ready endpoints, or of the one that is meant.
func (r APIResolver) endpoints(t *sim.Task, n serviceName) ([]string, error) {
	items, _, err := r.Client.List(t, client.EndpointSlices, n.namespace, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + n.name})
	if err != nil {
		return nil, err
	}
	var ips []string
	for _, obj := range items {
		for _, e := range obj.(*discoveryv1.EndpointSlice).Endpoints {
			if n.host != "" && (len(e.Addresses) == 0 || hostOf(&e) != n.host) {
				continue
			}
			if len(e.Addresses) > 0 && (e.Conditions.Ready == nil || *e.Conditions.Ready) {
				ips = append(ips, e.Addresses[0])
			}
		}
	}
	if len(ips) == 0 {
		return nil, errNoName
	}
	return ips, nil
}

// hostOf is what an endpoint is called: its hostname, or its address with dashes (CoreDNS
// endpointHostname).
func hostOf(e *discoveryv1.Endpoint) string {
	if e.Hostname != nil && *e.Hostname != "" {
		return *e.Hostname
	}
	return strings.ReplaceAll(e.Addresses[0], ".", "-")
}

// Package controlplane is what a kube-apiserver reconciles in its own cluster while it runs
// (pkg/controlplane): the Service kubernetes in the namespace default with its endpoints, by
// which pods find the API server; the ServiceCIDR that it was started with; the IPAddresses of
// Services; and, where there are several servers, a Lease that says who they are.
//
// Simplified: the servers see one another directly, where upstream's learn of one another
// from keys with a TTL under /registry/masterleases; and they read their watch caches, so
// that nothing is sent while nothing changes. Start reading at [Controllers.KeepService].
package controlplane

import (
	"math/rand/v2"
	"net/netip"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/bootstrap"
	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/registry/service"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simplified,
	What: "several API servers see one another directly: there are no keys under /registry/masterleases",
})

// Controllers are those of one server.
type Controllers struct {
	CIDR    netip.Prefix // of the Services; the first address is the Service kubernetes'
	Machine string       // the name of the server's
	Client  client.Interface
	Caches  Caches
	Servers

	// LacksServiceCIDR says that the store which the server found had none.
	LacksServiceCIDR bool
}

// Caches are the server's watch caches.
type Caches interface {
	// Get is nil where the object is not there.
	Get(r client.Resource, namespace, name string) runtime.Object
	// Opened is the cache of a kind if there is one, else nil.
	Opened(k *registry.Kind) *cacher.Cache
	// WaitFresh opens a kind's cache, and reports whether it is filled in time.
	WaitFresh(t *sim.Task, k *registry.Kind) bool
}

// Servers are those of the cluster.
type Servers interface {
	// Addresses are those of all that answer requests, and are to go on.
	Addresses() []string
	// Leads reports whether this server is the one that does what one does for all.
	Leads() bool
	// Several reports whether there is, or was, another.
	Several() bool
}

// AddTo adds the objects to those of a new cluster. stream is a stream of random numbers of
// their own: their UIDs are not drawn from that in which a seed has its names.
func (c *Controllers) AddTo(l *bootstrap.List, address string, stream func(name string) *rand.Rand) {
	l.Add(client.Services, c.kubernetesService())
	slice := kubernetesSlice([]string{address})
	slice.Generation = 1
	l.Add(client.EndpointSlices, slice)
	endpoints := kubernetesEndpoints([]string{address})
	endpoints.UID = object.NewUID(stream("kubernetes-endpoints"))
	l.Add(client.Endpoints, endpoints)
	cidr := c.newServiceCIDR(l.Now)
	cidr.UID = object.NewUID(stream("default-servicecidr"))
	l.Add(client.ServiceCIDRs, cidr)
	ip := service.NewIPAddress(c.kubernetesService().Spec.ClusterIP, metav1.NamespaceDefault, serviceName)
	ip.UID, ip.Generation = object.NewUID(stream("kubernetes-ipaddress")), 1
	l.Add(client.IPAddresses, ip)
}

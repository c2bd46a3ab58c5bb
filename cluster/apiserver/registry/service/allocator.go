// Package service allocates what Services get from the API server: cluster IPs and node
// ports (pkg/registry/core/service: storage/alloc.go, ipallocator, portallocator).
//
// The worked idea. A Service without an address is written. The server draws a free one of
// the ServiceCIDRs that are Ready, 10.96.14.7, and makes the IPAddress 10.96.14.7 with the
// Service as its parentRef; where that exists, somebody else has the address, and the next
// draw decides. Then the Service is written, and if it is not, the IPAddress is deleted, as
// it is with the Service. A cluster whose range is full gets room by one more ServiceCIDR.
//
// Simplified: one address family; IPAddresses are written to the store past the pipeline, where
// upstream's server sends itself requests; what is taken is what the Services in the watch cache
// have, what requests in flight hold and what is refused at the store, of several ServiceCIDRs
// the first by name that has room; node ports are claimed in the store only while
// several servers allocate them. Start reading at [Allocator.Begin], then claims.go and
// ranges.go; repair.go corrects what does not match.
package service

import (
	"errors"
	"math/rand/v2"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simplified,
	What: "cluster IPs are of one address family; their IPAddress objects are written past the API server's pipeline, and of several ServiceCIDRs the first by name that has room gives the address, where upstream takes any",
	Seen: "kubectl get ipaddresses,servicecidrs",
})

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simplified,
	What: "node ports are claimed in the store only while several API servers allocate them",
})

// Allocator hands out the cluster IPs and node ports of Services
// (pkg/registry/core/service/ipallocator, portallocator). What is taken is
// what the Services in the watch cache have, and what requests under way hold.
type Allocator struct {
	Config
	ips    map[netip.Addr]types.UID // taken, by which Service
	nodes  map[int32]types.UID
	byName map[string]*corev1.Service // what the cache has told
}

// Config is what there is to hand out.
type Config struct {
	Rand  func() *rand.Rand // draws what is free; of a server that starts on a full store it becomes another
	Cidr  netip.Prefix
	Ports [2]int // the first and the last
	// Services is a Service as it is known to be now; nil for none.
	Services func(key string) *corev1.Service
	// Several says whether another server hands out the same; then node ports that are
	// taken are claimed in the store.
	Several func() bool
	Store   Store
	// UID is that of the next IPAddress.
	UID func() types.UID
	// Seal is what the store keeps of a value of the kind: it may be encrypted.
	Seal func(t *sim.Task, k *registry.Kind, key string, value []byte) ([]byte, error)
	// ServiceCIDRs are all that there are; none where nobody has written one since the cluster
	// began, and Cidr is the only range.
	ServiceCIDRs func(t *sim.Task) ([]runtime.Object, error)
}

// NewAllocator makes an allocator that knows of no Service yet.
func NewAllocator(cfg Config) *Allocator {
	return &Allocator{Config: cfg, ips: map[netip.Addr]types.UID{}, nodes: map[int32]types.UID{}, byName: map[string]*corev1.Service{}}
}

// Changed is called with a Service from the watch cache; obj is nil when it is gone.
func (a *Allocator) Changed(key string, obj runtime.Object) {
	if old := a.byName[key]; old != nil {
		a.drop(old)
		delete(a.byName, key)
	}
	if obj != nil {
		svc := obj.(*corev1.Service)
		a.byName[key] = svc
		a.hold(svc)
	}
}

func (a *Allocator) hold(svc *corev1.Service) {
	for _, addr := range addressesOf(svc) {
		a.ips[addr] = svc.UID
	}
	for _, p := range portsOf(svc) {
		a.nodes[p] = svc.UID
	}
}

func (a *Allocator) drop(svc *corev1.Service) {
	for _, addr := range addressesOf(svc) {
		if a.ips[addr] == svc.UID {
			delete(a.ips, addr)
		}
	}
	for _, p := range portsOf(svc) {
		if a.nodes[p] == svc.UID {
			delete(a.nodes, p)
		}
	}
}

// addressesOf are the cluster IPs of a Service, which may be nil.
func addressesOf(svc *corev1.Service) (out []netip.Addr) {
	if svc == nil {
		return nil
	}
	for _, ip := range svc.Spec.ClusterIPs {
		if addr, err := netip.ParseAddr(ip); err == nil {
			out = append(out, addr)
		}
	}
	return out
}

// portsOf are its node ports.
func portsOf(svc *corev1.Service) (out []int32) {
	if svc == nil {
		return nil
	}
	for _, p := range svc.Spec.Ports {
		if p.NodePort != 0 {
			out = append(out, p.NodePort)
		}
	}
	if p := svc.Spec.HealthCheckNodePort; p != 0 {
		out = append(out, p)
	}
	return out
}

// nodePort draws a free node port.
func (a *Allocator) nodePort() (int32, error) {
	size := a.Ports[1] - a.Ports[0] + 1
	start := a.Rand().IntN(size)
	for n := range size {
		if p := int32(a.Ports[0] + (start+n)%size); a.nodes[p] == "" {
			return p, nil
		}
	}
	return 0, errFull
}

// What a request is refused with (ipallocator/interfaces.go, portallocator/allocator.go).
var (
	errFull          = errors.New("range is full")
	errIPAllocated   = errors.New("provided IP is already allocated")
	errPortAllocated = errors.New("provided port is already allocated")
)

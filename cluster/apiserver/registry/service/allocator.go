// Package service allocates what Services get from the API server: cluster IPs and node
// ports (pkg/registry/core/service: storage/alloc.go, ipallocator, portallocator).
//
// Simplified: one address family; what is taken is what the Services in the watch cache
// have and what requests in flight hold, and it is claimed in the store only while
// several servers allocate from the same range. Start reading at [Allocator.Begin].
package service

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simplified,
	What: "cluster IPs are of one address family, and are claimed in the store only while several API servers allocate them",
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
	// Several says whether another server hands out the same; then what is taken is
	// claimed in the store.
	Several func() bool
	Store   Store
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

// address draws a free cluster IP from the upper part of the range; the lower
// 16 to 256 addresses are left for those who name one (ipallocator
// calculateRangeOffset).
func (a *Allocator) address() (netip.Addr, error) {
	size := 1 << (32 - a.Cidr.Bits())
	reserved := min(max(16, size/16), 256)
	first := a.Cidr.Masked().Addr().As4()
	base := binary.BigEndian.Uint32(first[:])
	at := func(i int) netip.Addr {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], base+uint32(i))
		return netip.AddrFrom4(b)
	}
	upper := size - 1 - reserved
	start := a.Rand().IntN(max(upper, 1))
	for n := range size - 2 {
		i := reserved + (start+n)%upper
		if n >= upper { // the upper part is full
			i = 1 + n - upper
		}
		if addr := at(i); a.ips[addr] == "" {
			return addr, nil
		}
	}
	return netip.Addr{}, errFull
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

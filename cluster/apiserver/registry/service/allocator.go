// Package service hands out what Services get from the API server: cluster IPs and node
// ports (pkg/registry/core/service: storage/alloc.go, ipallocator, portallocator).
//
// Simplified: one address family; what is taken is what the Services in the watch cache
// have and what requests under way hold, and is claimed in the store only while several
// servers hand out the same. Start reading at [Allocation.Allocate].
package service

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/validation"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simplified,
	What: "cluster IPs are of one address family, and are claimed in the store only while several API servers hand out the same",
})

// Allocator hands out the cluster IPs and node ports of Services
// (pkg/registry/core/service/ipallocator, portallocator). What is taken is
// what the Services in the watch cache have, and what requests under way hold.
type Allocator struct {
	Config
	ips    map[netip.Addr]string // taken, by which Service
	nodes  map[int32]string
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
	return &Allocator{Config: cfg, ips: map[netip.Addr]string{}, nodes: map[int32]string{}, byName: map[string]*corev1.Service{}}
}

// Allocation is a request for whose Service something is to be handed out.
type Allocation struct {
	*Allocator
	task   *sim.Task
	now    metav1.Time
	system bool // a component of this process writes
	dryRun bool
}

// For begins the allocation for a request.
func (a *Allocator) For(t *sim.Task, now metav1.Time, system, dryRun bool) *Allocation {
	return &Allocation{Allocator: a, task: t, now: now, system: system, dryRun: dryRun}
}

// Changed hears of a Service from the watch cache; obj is nil when it is gone.
func (a *Allocator) Changed(key string, obj runtime.Object) {
	if old := a.byName[key]; old != nil {
		a.drop(key, old)
		delete(a.byName, key)
	}
	if obj != nil {
		svc := obj.(*corev1.Service)
		a.byName[key] = svc
		a.hold(key, svc)
	}
}

func (a *Allocator) hold(key string, svc *corev1.Service) {
	for _, ip := range svc.Spec.ClusterIPs {
		if addr, err := netip.ParseAddr(ip); err == nil {
			a.ips[addr] = key
		}
	}
	for _, p := range svc.Spec.Ports {
		if p.NodePort != 0 {
			a.nodes[p.NodePort] = key
		}
	}
	if svc.Spec.HealthCheckNodePort != 0 {
		a.nodes[svc.Spec.HealthCheckNodePort] = key
	}
}

func (a *Allocator) drop(key string, svc *corev1.Service) {
	for _, ip := range svc.Spec.ClusterIPs {
		if addr, err := netip.ParseAddr(ip); err == nil && a.ips[addr] == key {
			delete(a.ips, addr)
		}
	}
	for _, p := range svc.Spec.Ports {
		if a.nodes[p.NodePort] == key {
			delete(a.nodes, p.NodePort)
		}
	}
	if a.nodes[svc.Spec.HealthCheckNodePort] == key {
		delete(a.nodes, svc.Spec.HealthCheckNodePort)
	}
}

// address draws a free cluster IP from the upper part of the range; the lower
// 16 to 256 addresses are left for those who name one (ipallocator
// calculateRangeOffset).
func (a *Allocator) address(key string) (netip.Addr, error) {
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
			a.ips[addr] = key
			return addr, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("range is full")
}

// nodePort draws a free node port.
func (a *Allocator) nodePort(key string) (int32, error) {
	size := a.Ports[1] - a.Ports[0] + 1
	start := a.Rand().IntN(size)
	for n := range size {
		if p := int32(a.Ports[0] + (start+n)%size); a.nodes[p] == "" {
			a.nodes[p] = key
			return p, nil
		}
	}
	return 0, fmt.Errorf("range is full")
}

// Allocate gives a Service what it needs and does not have
// (pkg/registry/core/service/storage/alloc.go).
func (a *Allocation) Allocate(svc, was *corev1.Service) error {
	key := svc.Namespace + "/" + svc.Name
	registry.NormalizeClusterIPs(svc, was)
	errs := a.families(svc, was)
	if len(errs) > 0 {
		return apierrors.NewInvalid(client.Services.GVK().GroupKind(), svc.Name, errs)
	}
	errs = append(errs, a.allocateIP(svc, was, key)...)
	errs = append(errs, a.allocatePorts(svc, was, key)...)
	if len(errs) > 0 {
		a.Release(svc, was)
		return apierrors.NewInvalid(client.Services.GVK().GroupKind(), svc.Name, errs)
	}
	return nil
}

// Given says what a Service was given.
func Given(svc, was *corev1.Service) string {
	if was == nil {
		was = &corev1.Service{}
	}
	note := ""
	if ip := svc.Spec.ClusterIP; ip != "" && ip != corev1.ClusterIPNone && ip != was.Spec.ClusterIP {
		note += "; it gets the cluster IP " + ip
	}
	for _, p := range svc.Spec.Ports {
		if p.NodePort != 0 && !slices.ContainsFunc(was.Spec.Ports, func(o corev1.ServicePort) bool { return o.NodePort == p.NodePort }) {
			note += "; port " + strconv.Itoa(int(p.Port)) + " gets the node port " + strconv.Itoa(int(p.NodePort))
		}
	}
	return note
}

// families says what an IPv4 cluster says about a Service, and what it cannot be
// asked (storage/alloc.go initIPFamilyFields).
func (a *Allocation) families(svc, was *corev1.Service) field.ErrorList {
	s, spec := &svc.Spec, field.NewPath("spec")
	if s.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	bare := s.ClusterIP == corev1.ClusterIPNone && len(s.Selector) == 0
	if s.IPFamilyPolicy == nil {
		policy := corev1.IPFamilyPolicySingleStack
		switch {
		case was != nil && was.Spec.IPFamilyPolicy != nil:
			policy = *was.Spec.IPFamilyPolicy
		case bare:
			policy = corev1.IPFamilyPolicyRequireDualStack
		}
		s.IPFamilyPolicy = &policy
	}
	if !a.system {
		var old *core.Service
		if was != nil {
			old = registry.Internal[core.Service](was)
		}
		if errs := validation.ValidateServiceClusterIPsRelatedFields(registry.Internal[core.Service](svc), old); len(errs) > 0 {
			return errs
		}
	}
	var errs field.ErrorList
	single := *s.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack
	for _, two := range []struct {
		n    int
		what string
	}{{len(s.ClusterIPs), "cluster IPs"}, {len(s.IPFamilies), "IP families"}} {
		if single && two.n == 2 {
			errs = append(errs, field.Invalid(spec.Child("ipFamilyPolicy"), s.IPFamilyPolicy, "must be 'RequireDualStack' or 'PreferDualStack' when multiple "+two.what+" are specified"))
		}
	}
	switch {
	case len(errs) > 0:
		return errs
	case bare && len(s.IPFamilies) == 0:
		s.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	if bare {
		if len(s.IPFamilies) == 1 && !single {
			other := corev1.IPv6Protocol
			if s.IPFamilies[0] == other {
				other = corev1.IPv4Protocol
			}
			s.IPFamilies = append(s.IPFamilies, other)
		}
		return nil
	}
	if *s.IPFamilyPolicy == corev1.IPFamilyPolicyRequireDualStack {
		errs = append(errs, field.Invalid(spec.Child("ipFamilyPolicy"), s.IPFamilyPolicy, "this cluster is not configured for dual-stack services"))
	}
	for i, f := range s.IPFamilies {
		if f != corev1.IPv4Protocol {
			errs = append(errs, field.Invalid(spec.Child("ipFamilies").Index(i), f, "not configured on this cluster"))
		}
	}
	if len(s.IPFamilies) == 0 {
		s.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	return errs
}

func (a *Allocation) allocateIP(svc, was *corev1.Service, key string) field.ErrorList {
	path := field.NewPath("spec", "clusterIPs")
	switch {
	case svc.Spec.Type == corev1.ServiceTypeExternalName, svc.Spec.ClusterIP == corev1.ClusterIPNone:
		return nil
	case was != nil && was.Spec.ClusterIP == svc.Spec.ClusterIP && svc.Spec.ClusterIP != "":
		return nil
	case svc.Spec.ClusterIP == "" && len(svc.Spec.ClusterIPs) > 0:
		return nil // validation wants both
	case svc.Spec.ClusterIP == "":
		addr, err := a.freeAddress(svc, key)
		if err != nil {
			return field.ErrorList{field.InternalError(path, fmt.Errorf("failed to allocate a serviceIP: %w", err))}
		}
		svc.Spec.ClusterIP, svc.Spec.ClusterIPs = addr.String(), []string{addr.String()}
		return nil
	}
	addr, err := netip.ParseAddr(svc.Spec.ClusterIP)
	if err != nil {
		return nil // validation says so
	}
	why := ""
	switch {
	case a.dryRun && !a.Cidr.Contains(addr):
		why = fmt.Sprintf("the provided IP (%s) is not in the valid range. The range of valid IPs is %s", addr, a.Cidr)
	case !a.Cidr.Contains(addr), addr == a.Cidr.Masked().Addr(), !a.Cidr.Contains(addr.Next()): // nor the network's own address or its last
		why = "the provided network does not match the current range"
	case a.dryRun:
		return nil
	case a.ips[addr] != "" && a.ips[addr] != key:
		why = "provided IP is already allocated"
	default:
		a.ips[addr] = key
		mine, err := a.claimIP(addr.String(), svc.Namespace, svc.Name)
		if err != nil {
			return field.ErrorList{field.InternalError(path, err)}
		}
		if mine {
			return nil
		}
		a.ips[addr] = elsewhere
		why = "provided IP is already allocated"
	}
	return field.ErrorList{field.Invalid(path, svc.Spec.ClusterIPs, fmt.Sprintf("failed to allocate IP %s: %s", addr, why))}
}

func (a *Allocation) allocatePorts(svc, was *corev1.Service, key string) field.ErrorList {
	if svc.Spec.Type != corev1.ServiceTypeNodePort && !registry.Balanced(svc) {
		return nil
	}
	mine := map[string]int32{} // a port number may serve TCP and UDP of one Service
	for i := range svc.Spec.Ports {
		p := &svc.Spec.Ports[i]
		path := field.NewPath("spec", "ports").Index(i).Child("nodePort")
		if p.NodePort == 0 {
			same := fmt.Sprint(p.Port)
			if n, ok := mine[same]; ok && p.Protocol != "" {
				p.NodePort = n
				continue
			}
			n, err := a.freePort(key)
			if err != nil {
				return field.ErrorList{field.InternalError(path, fmt.Errorf("failed to allocate a nodePort: %w", err))}
			}
			p.NodePort, mine[same] = n, n
			continue
		}
		if a.dryRun {
			continue
		}
		if owner := a.nodes[p.NodePort]; owner != "" && owner != key {
			return field.ErrorList{field.Invalid(path, p.NodePort, "provided port is already allocated")}
		}
		if int(p.NodePort) < a.Ports[0] || int(p.NodePort) > a.Ports[1] {
			return field.ErrorList{field.Invalid(path, p.NodePort, fmt.Sprintf("provided port is not in the valid range. The range of valid ports is %d-%d", a.Ports[0], a.Ports[1]))}
		}
		a.nodes[p.NodePort] = key
		if free, err := a.claimPort(p.NodePort, key); err != nil || !free {
			a.nodes[p.NodePort] = elsewhere
			return field.ErrorList{field.Invalid(path, p.NodePort, "provided port is already allocated")}
		}
		mine[fmt.Sprint(p.Port)] = p.NodePort
	}
	if registry.NeedsHealthPort(svc) && svc.Spec.HealthCheckNodePort == 0 {
		n, err := a.freePort(key)
		if err != nil {
			return field.ErrorList{field.InternalError(field.NewPath("spec", "healthCheckNodePort"), err)}
		}
		svc.Spec.HealthCheckNodePort = n
	}
	return nil
}

// elsewhere stands for a Service of which another server knows.
const elsewhere = "(another API server)"

// freeAddress draws cluster IPs until one is the Service's.
func (a *Allocation) freeAddress(svc *corev1.Service, key string) (netip.Addr, error) {
	for {
		addr, err := a.address(key)
		if err != nil {
			return addr, err
		}
		mine, err := a.claimIP(addr.String(), svc.Namespace, svc.Name)
		if err != nil {
			delete(a.ips, addr)
		}
		if mine || err != nil {
			return addr, err
		}
		a.ips[addr] = elsewhere
	}
}

// freePort draws node ports until one is the Service's.
func (a *Allocation) freePort(key string) (int32, error) {
	for {
		n, err := a.nodePort(key)
		if err != nil {
			return 0, err
		}
		mine, err := a.claimPort(n, key)
		if err != nil {
			delete(a.nodes, n)
		}
		if mine || err != nil {
			return n, err
		}
		a.nodes[n] = elsewhere
	}
}

// Release gives back what a refused request had taken.
func (a *Allocation) Release(svc, was *corev1.Service) {
	key := svc.Namespace + "/" + svc.Name
	a.drop(key, svc)
	var kept *corev1.Service
	if now := a.Services(key); now != nil && was != nil {
		kept = now
		a.hold(key, kept)
	}
	if kept == svc { // it is deleted, and the cache does not know it yet
		kept = nil
	}
	a.unclaim(svc, kept)
}

package service

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/validation"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// What a write of a Service takes from the ranges is a transaction (pkg/registry/core/
// service/storage/alloc.go, transaction.go): it is committed when the Service is written,
// and reverted when it is not, whatever stage refuses it. A dry run takes nothing.

// Request is whose write it is.
type Request struct {
	Task   *sim.Task
	Now    metav1.Time
	System bool // a component of this process writes
	DryRun bool
}

// Allocation is what one write has taken. It is to be ended, by Commit or by Revert.
type Allocation struct {
	*Allocator
	Request
	svc, was *corev1.Service // was is nil for a new one
	owner    types.UID
	ips      []netip.Addr
	nodes    []int32
	claims   []string // keys in the store
}

// Begin gives a Service what it needs and does not have. was is what it is now, nil for a
// new one.
func (a *Allocator) Begin(r Request, svc, was *corev1.Service) (*Allocation, error) {
	txn := &Allocation{Allocator: a, Request: r, svc: svc, was: was, owner: svc.UID}
	if was != nil {
		txn.owner = was.UID
	}
	registry.NormalizeClusterIPs(svc, was)
	if errs := txn.families(svc, was); len(errs) > 0 {
		return nil, apierrors.NewInvalid(client.Services.GVK().GroupKind(), svc.Name, errs)
	}
	err := txn.clusterIP()
	if err == nil {
		err = txn.nodePorts()
	}
	if err == nil {
		err = txn.healthCheckPort()
	}
	if err != nil {
		txn.Revert()
		return nil, err
	}
	return txn, nil
}

// Commit ends it: the Service is written. What it has no longer is given back.
func (a *Allocation) Commit() {
	if a.was != nil && !a.DryRun {
		a.giveBack(claimsOf(a.was), claimsOf(a.svc)) // of what this server knows the watch cache tells
	}
}

// Revert ends it: the Service is not written. What was allocated for it is released,
// except for what it has according to the watch cache: the store's answer may have
// been lost.
func (a *Allocation) Revert() {
	now := a.Services(a.svc.Namespace + "/" + a.svc.Name)
	if now != nil && now.UID != a.owner {
		now = nil
	}
	for _, addr := range a.ips {
		if a.Allocator.ips[addr] == a.owner && !slices.Contains(addressesOf(now), addr) {
			delete(a.Allocator.ips, addr)
		}
	}
	for _, p := range a.nodes {
		if a.Allocator.nodes[p] == a.owner && !slices.Contains(portsOf(now), p) {
			delete(a.Allocator.nodes, p)
		}
	}
	a.giveBack(a.claims, claimsOf(now))
}

// Free gives back what a Service had that is deleted.
func (a *Allocator) Free(r Request, svc *corev1.Service) {
	if r.DryRun {
		return
	}
	a.drop(svc)
	(&Allocation{Allocator: a, Request: r, svc: svc}).giveBack(claimsOf(svc), nil)
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
	if !a.System {
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

// clusterIP takes the cluster IP of a Service that is new, or was an ExternalName; others
// keep theirs (txnAllocClusterIPs, updateClusterIPs).
func (a *Allocation) clusterIP() error {
	s := &a.svc.Spec
	switch {
	case s.Type == corev1.ServiceTypeExternalName, s.ClusterIP == corev1.ClusterIPNone:
		return nil
	case a.was != nil && a.was.Spec.Type != corev1.ServiceTypeExternalName:
		return nil
	case s.ClusterIP == "" && len(s.ClusterIPs) > 0:
		return nil // validation wants both
	case s.ClusterIP == "":
		addr, err := a.freeAddress()
		if errors.Is(err, errFull) {
			return apierrors.NewInternalError(fmt.Errorf("failed to allocate a serviceIP for Service %q: %w", a.svc.Name, err))
		}
		if err != nil {
			return a.refuseIP("failed to allocate IP: %v", err)
		}
		s.ClusterIP, s.ClusterIPs = addr.String(), []string{addr.String()}
		return nil
	}
	addr, err := netip.ParseAddr(s.ClusterIP)
	if err != nil {
		return nil // validation says so
	}
	if err := a.takeIP(addr); err != nil {
		return a.refuseIP("failed to allocate IP %v: %v", addr, err)
	}
	return nil
}

func (a *Allocation) refuseIP(format string, args ...any) error {
	return a.refuse(field.Invalid(field.NewPath("spec", "clusterIPs"), a.svc.Spec.ClusterIPs, fmt.Sprintf(format, args...)))
}

func (a *Allocation) refuse(err *field.Error) error {
	return apierrors.NewInvalid(client.Services.GVK().GroupKind(), a.svc.Name, field.ErrorList{err})
}

// takeIP takes the cluster IP that the Service names. Whether it is free a dry run does
// not ask (cidrallocator.go AllocateService, ipallocator.go allocateService).
func (a *Allocation) takeIP(addr netip.Addr) error {
	ranges, err := a.ranges(a.Task)
	if err != nil {
		return err
	}
	if a.DryRun {
		if len(ranges) > 0 && !Gives(ranges[0], addr) {
			return fmt.Errorf("the provided IP (%s) is not in the valid range. The range of valid IPs is %s", addr, ranges[0])
		}
		return nil
	}
	if !slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return Gives(p, addr) }) {
		return errMismatched
	}
	switch a.Allocator.ips[addr] {
	case "":
	case a.owner:
		return nil // as with ports
	default:
		return errIPAllocated
	}
	if mine, err := a.holdIP(addr); err != nil || mine {
		return err
	}
	return errIPAllocated
}

// holdIP takes a free cluster IP, unless somebody else has.
func (a *Allocation) holdIP(addr netip.Addr) (mine bool, err error) {
	a.Allocator.ips[addr] = a.owner
	a.ips = append(a.ips, addr)
	return a.claimIP(addr.String())
}

// freeAddress draws cluster IPs until one is the Service's. For a dry run it does not
// bother, as upstream (cidrallocator.go AllocateNextService, ipallocator.go
// allocateNextService).
func (a *Allocation) freeAddress() (netip.Addr, error) {
	ranges, err := a.ranges(a.Task)
	if err != nil {
		return netip.Addr{}, err
	}
	if a.DryRun {
		return append(ranges, a.Cidr.Masked())[0].Addr(), nil
	}
	for {
		addr, err := a.address(ranges)
		if err != nil {
			return addr, err
		}
		if mine, err := a.holdIP(addr); mine || err != nil {
			return addr, err
		}
	}
}

// nodePorts takes those that the Service names, or needs, and does not have.
func (a *Allocation) nodePorts() error {
	s := &a.svc.Spec
	draws := s.Type == corev1.ServiceTypeNodePort || registry.Balanced(a.svc) // else there are only those it names
	if s.Type != corev1.ServiceTypeNodePort && s.Type != corev1.ServiceTypeLoadBalancer {
		return nil
	}
	if a.was != nil {
		return a.updateNodePorts(draws)
	}
	of := map[int32]int32{} // a port number may serve TCP and UDP of one Service, at one node port
	for i := range s.Ports {
		p := &s.Ports[i]
		had := of[p.Port]
		if p.NodePort == 0 && !draws {
			continue
		}
		switch named := namedPort(s.Ports, p.Port); {
		case had == 0 && named != 0:
			if err := a.namePort(i, named); err != nil {
				return err
			}
			p.NodePort, of[p.Port] = named, named
		case had == 0:
			if err := a.drawPort(&p.NodePort); err != nil {
				return err
			}
			of[p.Port] = p.NodePort
		case p.NodePort == 0:
			p.NodePort = had
		case p.NodePort != had:
			if err := a.namePort(i, p.NodePort); err != nil {
				return err
			}
		}
	}
	return nil
}

// namedPort is findRequestedNodePort.
func namedPort(ports []corev1.ServicePort, port int32) int32 {
	for _, p := range ports {
		if p.Port == port && p.NodePort != 0 {
			return p.NodePort
		}
	}
	return 0
}

func (a *Allocation) updateNodePorts(draws bool) error {
	type serviceNodePort struct {
		Protocol corev1.Protocol
		NodePort int32
	}
	var had []int32
	for _, p := range a.was.Spec.Ports {
		had = append(had, p.NodePort)
	}
	seen := map[serviceNodePort]bool{}
	for i := range a.svc.Spec.Ports {
		p := &a.svc.Spec.Ports[i]
		switch {
		case p.NodePort == 0 && !draws:
			continue
		case p.NodePort == 0:
			if err := a.drawPort(&p.NodePort); err != nil {
				return err
			}
		case !slices.Contains(had, p.NodePort) && !slices.Contains(a.nodes, p.NodePort):
			if err := a.namePort(i, p.NodePort); err != nil {
				return err
			}
		}
		is := serviceNodePort{p.Protocol, p.NodePort}
		if seen[is] {
			return request.PlainError(fmt.Errorf("duplicate nodePort: %v", is))
		}
		seen[is] = true
	}
	return nil
}

// namePort takes the node port that the Service's port names.
func (a *Allocation) namePort(i int, p int32) error {
	if err := a.takePort(p); err != nil {
		return a.refuse(field.Invalid(field.NewPath("spec", "ports").Index(i).Child("nodePort"), p, err.Error()))
	}
	return nil
}

func (a *Allocation) drawPort(into *int32) error {
	p, err := a.freePort()
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("failed to allocate a nodePort: %w", err))
	}
	*into = p
	return nil
}

// healthCheckPort takes the node port for health checks of a Service that begins to need
// one (allocHealthCheckNodePort, updateHealthCheckNodePort).
func (a *Allocation) healthCheckPort() error {
	if !registry.NeedsHealthPort(a.svc) || a.was != nil && registry.NeedsHealthPort(a.was) {
		return nil
	}
	into := &a.svc.Spec.HealthCheckNodePort
	if *into != 0 {
		if err := a.takePort(*into); err != nil {
			return apierrors.NewInternalError(fmt.Errorf("failed to allocate requested HealthCheck NodePort %v: %w", *into, err))
		}
		return nil
	}
	p, err := a.freePort()
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("failed to allocate a HealthCheck NodePort %v: %w", 0, err))
	}
	*into = p
	return nil
}

// takePort takes a node port (portallocator/operation.go Allocate).
func (a *Allocation) takePort(p int32) error {
	switch by := a.Allocator.nodes[p]; {
	case by != "" && by != a.owner, slices.Contains(a.nodes, p):
		return errPortAllocated
	case by != "":
		return nil // the Service has it already: what it was is not the newest
	case a.DryRun:
		a.nodes = append(a.nodes, p)
		return nil
	case int(p) < a.Ports[0] || int(p) > a.Ports[1]:
		return fmt.Errorf("provided port is not in the valid range. The range of valid ports is %d-%d", a.Ports[0], a.Ports[1])
	}
	if mine, err := a.holdPort(p); err != nil || mine {
		return err
	}
	return errPortAllocated
}

// holdPort takes a free node port, unless another server has.
func (a *Allocation) holdPort(p int32) (mine bool, err error) {
	a.Allocator.nodes[p] = a.owner
	a.nodes = append(a.nodes, p)
	return a.claimPort(p)
}

// freePort draws node ports until one is the Service's. A dry run gets numbers that
// nobody can have (portallocator/operation.go AllocateNext).
func (a *Allocation) freePort() (int32, error) {
	if a.DryRun {
		p := int32(32768)
		if len(a.nodes) > 0 {
			p = slices.Max(a.nodes)
		}
		a.nodes = append(a.nodes, p+1)
		return p + 1, nil
	}
	for {
		p, err := a.nodePort()
		if err != nil {
			return 0, err
		}
		if mine, err := a.holdPort(p); mine || err != nil {
			return p, err
		}
	}
}

package service

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/sim"
)

// Addresses come from the ServiceCIDRs that are Ready and are not being deleted: one
// allocator for each range, however many ServiceCIDRs have it (cidrallocator.go).

var errMismatched = errors.New("the provided network does not match the current range")

// ranges are those that give addresses now, in the order of their ServiceCIDRs' names
// (syncAllocators).
func (a *Allocator) ranges(t *sim.Task) ([]netip.Prefix, error) {
	all, err := a.ServiceCIDRs(t)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return []netip.Prefix{a.Cidr.Masked()}, nil
	}
	var out []netip.Prefix
	for _, obj := range all {
		cidr := obj.(*networkingv1.ServiceCIDR)
		if cidr.DeletionTimestamp != nil || !meta.IsStatusConditionTrue(cidr.Status.Conditions, networkingv1.ServiceCIDRConditionReady) {
			continue
		}
		for _, text := range cidr.Spec.CIDRs {
			p, err := netip.ParsePrefix(text)
			if err == nil && p.Addr().Is4() && !slices.Contains(out, p.Masked()) {
				out = append(out, p.Masked())
			}
		}
	}
	return out, nil
}

// Gives reports whether a range gives an address: neither its network's own nor its last
// (pkg/api/servicecidr PrefixContainsIP).
func Gives(p netip.Prefix, ip netip.Addr) bool {
	return p.Contains(ip) && ip != p.Masked().Addr() && p.Contains(ip.Next())
}

// Within are the ServiceCIDRs, of any state, that contain an address (ContainsAddress).
func Within(all []runtime.Object, ip netip.Addr) (names []string) {
	for _, obj := range all {
		cidr := obj.(*networkingv1.ServiceCIDR)
		if slices.ContainsFunc(cidr.Spec.CIDRs, func(text string) bool {
			p, err := netip.ParsePrefix(text)
			return err == nil && Gives(p, ip)
		}) {
			names = append(names, cidr.Name)
		}
	}
	return names
}

// address draws a free cluster IP of one of the ranges.
func (a *Allocator) address(ranges []netip.Prefix) (netip.Addr, error) {
	for _, p := range ranges {
		if addr, ok := a.addressOf(p); ok {
			return addr, nil
		}
	}
	return netip.Addr{}, errFull
}

// addressOf draws a free cluster IP from the upper part of a range; its first 16 to 256
// addresses, behind the network's own, are left for Services that name one, if it has more than 16
// (ipallocator.go allocateNextService, bitmap.go calculateRangeOffset).
func (a *Allocator) addressOf(p netip.Prefix) (netip.Addr, bool) {
	size := 1 << (32 - p.Bits())
	hosts := size - 2 // without the network's own address and its last
	if hosts <= 0 {
		return netip.Addr{}, false
	}
	reserved := 0
	if size > 16 {
		reserved = min(max(16, size/16), 256)
	}
	first := p.Masked().Addr().As4()
	base := binary.BigEndian.Uint32(first[:]) + 1
	free := func(from, n int) (netip.Addr, bool) {
		if n <= 0 {
			return netip.Addr{}, false
		}
		start := a.Rand().IntN(n)
		for i := range n {
			var b [4]byte
			binary.BigEndian.PutUint32(b[:], base+uint32(from+(start+i)%n))
			if addr := netip.AddrFrom4(b); a.ips[addr] == "" {
				return addr, true
			}
		}
		return netip.Addr{}, false
	}
	if addr, ok := free(reserved, hosts-reserved); ok {
		return addr, true
	}
	return free(0, reserved) // the upper part is full
}

// ServiceKey is the key of a Service that an IPAddress refers to; "" where it refers to
// something else.
func ServiceKey(ip *networkingv1.IPAddress) string {
	ref := ip.Spec.ParentRef
	if ref == nil || ref.Group != "" || ref.Resource != "services" {
		return ""
	}
	return ref.Namespace + "/" + ref.Name
}

// HasIP reports whether an address is one of a Service's cluster IPs.
func HasIP(svc *corev1.Service, ip string) bool { return slices.Contains(svc.Spec.ClusterIPs, ip) }

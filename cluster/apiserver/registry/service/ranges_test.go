package service

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
)

// Whatever the range, the addresses that are drawn before it is half full are those that upstream's
// allocator draws, the rest come when nothing else is left, and then it is full.
func TestDrawsWhatUpstreamDraws(t *testing.T) {
	for _, cidr := range []string{
		"10.96.0.0/20", "10.96.7.0/22", "10.96.0.0/23", "10.96.0.0/24", "10.96.0.64/26", "10.96.0.64/27",
		"10.96.0.16/28", "10.96.0.8/29", "10.96.0.4/30", "10.96.0.2/31", "10.96.0.1/32",
	} {
		_, network, err := net.ParseCIDR(cidr)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := ipallocator.NewInMemory(network)
		if err != nil {
			t.Fatal(err)
		}
		ours := NewAllocator(Config{Rand: func() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }})
		prefix := netip.MustParsePrefix(cidr).Masked()
		left := map[netip.Addr]int{} // drawn by one of them only
		for n := 0; ; n++ {
			ip, err := theirs.AllocateNext()
			if err != nil && !errors.Is(err, ipallocator.ErrFull) {
				t.Fatal(err)
			}
			addr, ok := ours.addressOf(prefix)
			if ok != (err == nil) {
				t.Fatalf("%s: after %d addresses upstream says %v, and here there is %v", cidr, n, err, addr)
			}
			if !ok {
				break
			}
			if !Gives(prefix, addr) || ours.ips[addr] != "" {
				t.Fatalf("%s gives %s", cidr, addr)
			}
			ours.ips[addr] = types.UID("a Service")
			left[addr]++
			left[netip.MustParseAddr(ip.String())]--
			if upper := theirs.Free() - reservedOf(network); upper == 0 {
				for addr, n := range left {
					if n != 0 {
						t.Errorf("%s: %s is drawn %+d times more than upstream before the range's lower part", cidr, addr, n)
					}
				}
			}
		}
		for addr, n := range left {
			if n != 0 {
				t.Errorf("%s: %s is drawn %+d times more than upstream", cidr, addr, n)
			}
		}
	}
}

// reservedOf is calculateRangeOffset.
func reservedOf(network *net.IPNet) int {
	ones, bits := network.Mask.Size()
	size := 1 << (bits - ones)
	if size <= 16 {
		return 0
	}
	return min(max(16, size/16), 256)
}

package nodeipam

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
)

// Ranges are the pieces of the cluster CIDR, and which of them nodes have
// (nodeipam/ipam/cidrset CidrSet, of IPv4).
type Ranges struct {
	cluster netip.Prefix
	mask    int // of a piece, in bits
	used    []bool
	taken   int
	next    int // where the search for a free piece begins
}

// NewRanges cuts a cluster CIDR into pieces of a mask size. The search for free pieces begins
// with that of the address first, which a cluster CIDR usually begins with.
func NewRanges(cluster netip.Prefix, mask int, first netip.Addr) *Ranges {
	r := &Ranges{cluster: cluster.Masked(), mask: mask, used: make([]bool, 1<<(mask-cluster.Bits()))}
	if cluster.Contains(first) {
		r.next = r.index(first)
	}
	return r
}

// errFull has upstream's words (cidrset ErrCIDRRangeNoCIDRsRemaining).
var errFull = errors.New("CIDR allocation failed; there are no remaining CIDRs left to allocate in the accepted range")

func number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

// index is which piece an address of the cluster CIDR is in.
func (r *Ranges) index(a netip.Addr) int {
	return int((number(a) - number(r.cluster.Addr())) >> (32 - r.mask))
}

// piece is the piece at an index.
func (r *Ranges) piece(i int) netip.Prefix {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], number(r.cluster.Addr())+uint32(i)<<(32-r.mask))
	return netip.PrefixFrom(netip.AddrFrom4(b), r.mask)
}

// Allocate takes the next free piece (AllocateNext).
func (r *Ranges) Allocate() (netip.Prefix, error) {
	if r.taken == len(r.used) {
		return netip.Prefix{}, errFull
	}
	i := r.next
	for r.used[i] {
		i = (i + 1) % len(r.used)
	}
	r.next = (i + 1) % len(r.used)
	r.used[i] = true
	r.taken++
	return r.piece(i), nil
}

// covered are the first and the last piece that a prefix has something of
// (getBeginningAndEndIndices).
func (r *Ranges) covered(p netip.Prefix) (begin, end int, err error) {
	p = p.Masked()
	switch {
	case !p.Addr().Is4() || !r.cluster.Overlaps(p):
		return 0, 0, fmt.Errorf("cidr %s is out the range of cluster cidr %s", p, r.cluster)
	case p.Bits() <= r.cluster.Bits():
		return 0, len(r.used) - 1, nil
	}
	begin = r.index(p.Addr())
	return begin, begin + max(1<<max(r.mask-p.Bits(), 0), 1) - 1, nil
}

// Occupy takes the pieces of a prefix, also those that are taken already (Occupy).
func (r *Ranges) Occupy(p netip.Prefix) error { return r.mark(p, true) }

// Release gives them back (Release).
func (r *Ranges) Release(p netip.Prefix) error { return r.mark(p, false) }

func (r *Ranges) mark(p netip.Prefix, used bool) error {
	begin, end, err := r.covered(p)
	if err != nil {
		return err
	}
	for i := begin; i <= end; i++ {
		if r.used[i] == used {
			continue
		}
		if r.used[i] = used; used {
			r.taken++
		} else {
			r.taken--
		}
	}
	return nil
}

// Free is how many pieces nobody has, and of how many.
func (r *Ranges) Free() (free, all int) { return len(r.used) - r.taken, len(r.used) }

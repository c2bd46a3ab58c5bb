package runtime

import (
	"fmt"
	"net/netip"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// cni is the node's network plugin: the reference plugins bridge and
// host-local, as the runtime calls them. Its configuration would lie in
// /etc/cni/net.d, its binaries in /opt/cni/bin.
type cni struct {
	ready  bool
	prefix netip.Prefix
	last   netip.Addr // address handed out last: host-local goes round
	inUse  map[netip.Addr]string
}

// cniTime is about what ADD and DEL take.
const cniTime = 60 * time.Millisecond

func newCNI(podCIDR string) *cni {
	c := &cni{inUse: map[netip.Addr]string{}}
	if p, err := netip.ParsePrefix(podCIDR); err == nil {
		c.prefix = p.Masked()
		c.last = c.gateway()
	}
	return c
}

// gateway is the bridge's own address, the first of the range.
func (c *cni) gateway() netip.Addr { return c.prefix.Addr().Next() }

// add hands out the next free address, as host-local does: round the range,
// so that an address rests before it is used again.
func (c *cni) add(sandbox string) (netip.Addr, error) {
	if !c.prefix.IsValid() {
		return netip.Addr{}, fmt.Errorf("failed to allocate for range 0: no podCIDR is configured")
	}
	a := c.last
	for range 1 << min(16, 32-c.prefix.Bits()) {
		a = a.Next()
		if !c.prefix.Contains(a) || !c.prefix.Contains(a.Next()) { // the last one is broadcast
			a = c.gateway()
			continue
		}
		if _, used := c.inUse[a]; !used && a != c.gateway() {
			c.inUse[a], c.last = sandbox, a
			return a, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("failed to allocate for range 0: no IP addresses available in range set: %s-%s", c.gateway(), lastHost(c.prefix))
}

func (c *cni) del(a netip.Addr) { delete(c.inUse, a) }

func lastHost(p netip.Prefix) netip.Addr {
	a := p.Addr()
	for p.Contains(a.Next()) {
		a = a.Next()
	}
	return a.Prev()
}

// Addresses are the node's pod addresses: the range, how many are handed out,
// and how many are left.
func (r *Runtime) Addresses() (podCIDR string, used, free int) {
	if !r.cni.prefix.IsValid() {
		return "", 0, 0
	}
	size := 1<<(32-r.cni.prefix.Bits()) - 3 // network, gateway, broadcast
	return r.cfg.PodCIDR, len(r.cni.inUse), size - len(r.cni.inUse)
}

// setupNetwork is CNI ADD for a sandbox.
func (r *Runtime) setupNetwork(t *sim.Task, s *Sandbox) error {
	began := t.Elapsed()
	e := trace.RuntimeCall{Node: r.cfg.Node, Pod: s.key(), Call: "ADD", Arg: "bridge cni0, host-local " + r.cfg.PodCIDR}
	var err error
	if !r.NetworkReady() {
		err = fmt.Errorf("failed to setup network for sandbox %q: cni plugin not initialized", s.ID)
	} else {
		r.take(t, cniTime)
		var a netip.Addr
		if a, err = r.cni.add(s.ID); err != nil {
			err = fmt.Errorf(`failed to setup network for sandbox %q: plugin type="bridge" failed (add): %w`, s.ID, err)
		} else {
			s.IP = a.String()
			r.byIP[s.IP] = s
			e.Result = s.IP
		}
	}
	if err != nil {
		e.Error = err.Error()
	}
	e.Took = t.Elapsed() - began
	t.SetCauses(t.Emit(trace.Event{Kind: trace.CNICall, Lane: r.lane, Object: podRef(s.key()), Payload: &e}))
	return err
}

// teardownNetwork is CNI DEL for a sandbox; it may be called twice.
func (r *Runtime) teardownNetwork(t *sim.Task, s *Sandbox) {
	if s.IP == "" || s.HostNetwork || s.netGone {
		return
	}
	began := t.Elapsed()
	r.take(t, cniTime/2)
	r.dropNetwork(s)
	t.SetCauses(t.Emit(trace.Event{
		Kind: trace.CNICall, Lane: r.lane, Object: podRef(s.key()),
		Payload: &trace.RuntimeCall{Node: r.cfg.Node, Pod: s.key(), Call: "DEL", Arg: s.IP, Took: t.Elapsed() - began},
	}))
}

func (r *Runtime) dropNetwork(s *Sandbox) {
	if s.netGone || s.IP == "" || s.HostNetwork {
		return
	}
	s.netGone = true
	if a, err := netip.ParseAddr(s.IP); err == nil && r.cni.inUse[a] == s.ID {
		r.cni.del(a)
	}
	if r.byIP[s.IP] == s {
		delete(r.byIP, s.IP)
	}
}

package proxy

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"kviz/cluster/sim"
)

// Shared is work that the proxies of a cluster have in common: the rules of a
// Service are the same on every node, unless a policy or hint makes them
// depend on the node. Each is computed once for a generation of the Service and
// its slices.
type Shared struct {
	blocks map[string]*sharedBlocks // by service, options and what of the node matters
}

type sharedBlocks struct {
	generation string
	blocks     []*block
	made       *sim.Cond // while they are being made
}

// NewShared makes an empty Shared; give the same one to every proxy.
func NewShared() *Shared { return &Shared{blocks: map[string]*sharedBlocks{}} }

// making is what the blocks of a Service are made of; nothing of it changes.
type making struct {
	ports      []servicePort
	slices     []*discoveryv1.EndpointSlice
	node, zone string
	opts       options
}

// of gives the blocks of a Service, nil if it has none. Those of very many rules are made
// beside the kernel, once for all proxies that want them.
func (sh *Shared) of(w *writing, svc *corev1.Service, slices []*discoveryv1.EndpointSlice, opts options) []*block {
	node, zone := w.px.cfg.Node.Name, w.px.cfg.Zone
	m := making{servicePorts(svc), slices, node, zone, opts}
	if len(m.ports) == 0 {
		return nil
	}
	where := "" // what of the node matters
	for i := range m.ports {
		if m.ports[i].usesLocal() || len(m.ports[i].sourceRanges) > 0 {
			where = node
		}
	}
	if where == "" && hinted(slices) {
		where = node + "/" + zone
	}
	if where == "" {
		m.opts.nodeIP = ""
	}
	key := strings.Join([]string{svc.Namespace, svc.Name, where, opts.clusterCIDR, m.opts.nodeIP, itoa(bit(opts.counters) + 2*bit(opts.large))}, "|")
	gen := string(svc.UID) + "@" + svc.ResourceVersion
	for _, s := range slices {
		gen += " " + s.Name + string(s.UID) + "@" + s.ResourceVersion
	}
	for {
		have := sh.blocks[key]
		if have == nil || have.generation != gen {
			break
		}
		if have.made == nil {
			return have.blocks
		}
		have.made.Wait(w.t)
	}
	mine := &sharedBlocks{generation: gen, made: &sim.Cond{}}
	sh.blocks[key] = mine
	defer func() {
		if mine.made.Broadcast(); mine.blocks == nil && sh.blocks[key] == mine { // the proxy was killed: somebody else makes them
			delete(sh.blocks, key)
		}
		mine.made = nil
	}()
	if n := m.rules(); n > dear {
		w.t.Offload("the rules of Service "+svc.Namespace+"/"+svc.Name, time.Duration(n)*makeTime, makeWait, func() { mine.blocks = m.make() })
	} else {
		w.made(n)
		mine.blocks = m.make()
	}
	return mine.blocks
}

const (
	// dear is how many rules take long to make. So many are also made, compared or told of before
	// others have their turns.
	dear = 1000
	// makeTime is the modelled time to make one, of that which iptables-restore takes.
	makeTime = 5 * time.Microsecond
	// makeWait is for how long the others wait in real time if it really takes longer.
	makeWait = 100 * time.Millisecond
)

// rules is about how many rules there will be, or endpoints to look at for them.
func (m *making) rules() (n int) {
	for _, s := range m.slices {
		n += len(m.ports) * (len(s.Ports) + 4*len(s.Endpoints))
	}
	return n
}

// make makes the blocks.
func (m *making) make() []*block {
	out := make([]*block, 0, len(m.ports))
	for i := range m.ports {
		p := &m.ports[i]
		c := categorize(endpointsOf(m.slices, p.portName, p.protocol), p, m.node, m.zone)
		out = append(out, buildBlock(p, &c, m.opts))
	}
	return out
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func hinted(slices []*discoveryv1.EndpointSlice) bool {
	for _, s := range slices {
		for i := range s.Endpoints {
			if s.Endpoints[i].Hints != nil {
				return true
			}
		}
	}
	return false
}

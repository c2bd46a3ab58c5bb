package proxy

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// Shared is work that the proxies of a cluster have in common: the rules of a
// Service are the same on every node, unless a policy or hint makes them
// depend on the node. Each is computed once for a generation of the Service and
// its slices.
type Shared struct {
	blocks map[string]sharedBlocks // by service, options and what of the node matters
}

type sharedBlocks struct {
	generation string
	blocks     []*block
}

// NewShared makes an empty Shared; give the same one to every proxy.
func NewShared() *Shared { return &Shared{blocks: map[string]sharedBlocks{}} }

// of gives the blocks of a Service, nil if it has none.
func (sh *Shared) of(svc *corev1.Service, slices []*discoveryv1.EndpointSlice, node, zone string, opts options) []*block {
	ports := servicePorts(svc)
	if len(ports) == 0 {
		return nil
	}
	where := "" // what of the node matters
	for i := range ports {
		if ports[i].usesLocal() || len(ports[i].sourceRanges) > 0 {
			where = node
		}
	}
	if where == "" && hinted(slices) {
		where = node + "/" + zone
	}
	if where == "" {
		opts.nodeIP = ""
	}
	key := strings.Join([]string{svc.Namespace, svc.Name, where, opts.clusterCIDR, opts.nodeIP, itoa(bit(opts.counters) + 2*bit(opts.large))}, "|")
	gen := string(svc.UID) + "@" + svc.ResourceVersion
	for _, s := range slices {
		gen += " " + s.Name + string(s.UID) + "@" + s.ResourceVersion
	}
	if have, ok := sh.blocks[key]; ok && have.generation == gen {
		return have.blocks
	}
	var out []*block
	for i := range ports {
		p := &ports[i]
		c := categorize(endpointsOf(slices, p.portName, p.protocol), p, node, zone)
		out = append(out, buildBlock(p, &c, opts))
	}
	sh.blocks[key] = sharedBlocks{gen, out}
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

package cloud

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/network"
)

// Balancer is one load balancer.
type Balancer struct {
	Name    string
	Service string // namespace/name
	Address netip.Addr
	Nodes   []string // it forwards to, in order
	Proxy   bool     // it opens connections of its own (ipMode Proxy)

	ports   []port
	health  int            // the health check node port; 0: kube-proxy's own health
	sources []netip.Prefix // who may connect; nil is everybody
	ready   time.Duration  // when it has been made
	turn    int
}

// port is one that it listens on.
type port struct {
	proto  string
	number int
	node   int // the Service's node port; 0: there is none
}

// proxyHealth is where kube-proxy says that it is well (--healthz-bind-address), which is
// what load balancers ask of Services with externalTrafficPolicy Cluster (KEP-3458).
const proxyHealth = 10256

// set makes it as a Service wants it.
func (b *Balancer) set(svc *corev1.Service, nodes []*corev1.Node) {
	b.Nodes, b.ports, b.sources, b.health = nil, nil, nil, proxyHealth
	for _, n := range nodes {
		b.Nodes = append(b.Nodes, n.Name)
	}
	slices.Sort(b.Nodes)
	for _, p := range svc.Spec.Ports {
		b.ports = append(b.ports, port{strings.ToLower(string(p.Protocol)), int(p.Port), int(p.NodePort)})
	}
	for _, s := range svc.Spec.LoadBalancerSourceRanges {
		if p, err := netip.ParsePrefix(strings.TrimSpace(s)); err == nil {
			b.sources = append(b.sources, p.Masked())
		}
	}
	if svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal && svc.Spec.HealthCheckNodePort != 0 {
		b.health = int(svc.Spec.HealthCheckNodePort)
	}
	b.Proxy = svc.Annotations[ModeAnnotation] == string(corev1.LoadBalancerIPModeProxy)
}

// status is what a Service's status says of it.
func (b *Balancer) status() *corev1.LoadBalancerStatus {
	mode := corev1.LoadBalancerIPModeVIP
	if b.Proxy {
		mode = corev1.LoadBalancerIPModeProxy
	}
	return &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: b.Address.String(), IPMode: &mode}}}
}

func (b *Balancer) targets() string {
	switch n := len(b.Nodes); {
	case n == 0:
		return "no node"
	case n <= 3:
		return strings.Join(b.Nodes, ", ")
	default:
		return fmt.Sprintf("%s and %d more nodes", b.Nodes[0], n-1)
	}
}

// Forward is [network.Balancers]: which node a connection to a load balancer's address goes
// to, the next of those that are healthy.
func (c *Cloud) Forward(src, dst netip.Addr, number int, proto string) (f network.Forward, ok bool) {
	i := slices.IndexFunc(c.balancers, func(b *Balancer) bool { return b.Address == dst && b.ready <= c.k.Elapsed() })
	if i < 0 {
		return f, false
	}
	b := c.balancers[i]
	f.Name = "load balancer " + b.Service
	p := slices.IndexFunc(b.ports, func(p port) bool { return p.number == number && p.proto == proto })
	switch {
	case p < 0:
		f.Why = fmt.Sprintf("the load balancer of %s has no port %d/%s", b.Service, number, proto)
		return f, true
	case len(b.sources) > 0 && !slices.ContainsFunc(b.sources, func(s netip.Prefix) bool { return s.Contains(src) }):
		f.Why = fmt.Sprintf("the load balancer of %s lets nobody in but loadBalancerSourceRanges %s", b.Service, join(b.sources))
		return f, true
	case b.Proxy && b.ports[p].node == 0:
		f.Why = fmt.Sprintf("the load balancer of %s needs a node port to connect to, and the Service has none (allocateLoadBalancerNodePorts: false)", b.Service)
		return f, true
	}
	var sick []string
	for range b.Nodes {
		node := b.Nodes[b.turn%len(b.Nodes)]
		b.turn++
		well, says := c.nodes.Healthy(node, b.health)
		if !well {
			sick = append(sick, node+": "+says)
			continue
		}
		f.Node = node
		f.Why = fmt.Sprintf("the next healthy of %d nodes", len(b.Nodes))
		if len(sick) > 0 {
			f.Why += " (" + strings.Join(sick, "; ") + ")"
		}
		if b.Proxy {
			f.Source, f.To, f.Port = b.Address, c.nodes.Address(node), b.ports[p].node
			f.Why += fmt.Sprintf("; it connects itself, to the node port %d", f.Port)
		}
		return f, true
	}
	f.Why = "it has no nodes"
	if len(sick) > 0 {
		f.Why = "none of its nodes is healthy: " + strings.Join(sick, "; ")
	}
	return f, true
}

func join(ps []netip.Prefix) string {
	var out []string
	for _, p := range ps {
		out = append(out, p.String())
	}
	return strings.Join(out, ", ")
}

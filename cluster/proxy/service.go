package proxy

import (
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	netutils "k8s.io/utils/net"
)

// servicePort is one port of a Service as the proxy sees it
// (pkg/proxy/serviceport.go BaseServicePortInfo).
type servicePort struct {
	service   string // namespace/name
	name      string // namespace/name:port, or namespace/name
	portName  string
	protocol  string // tcp, udp, sctp
	clusterIP string
	port      int
	nodePort  int

	externalIPs  []string
	balancerIPs  []string
	sourceRanges []string
	healthPort   int

	sticky        bool
	stickySeconds int
	externalLocal bool
	internalLocal bool
}

func (s *servicePort) external() bool {
	return s.nodePort != 0 || len(s.balancerIPs) > 0 || len(s.externalIPs) > 0
}

// usesCluster: even a Service that is Local to the outside needs all endpoints
// for traffic from inside.
func (s *servicePort) usesCluster() bool { return !s.internalLocal || s.external() }

func (s *servicePort) usesLocal() bool { return s.internalLocal || s.externalLocal && s.external() }

// servicePorts reads a Service; none for what the proxy leaves alone: headless,
// ExternalName, other proxies' (pkg/proxy/util ShouldSkipService).
func servicePorts(svc *corev1.Service) []servicePort {
	if svc.Spec.ClusterIP == "" || svc.Spec.ClusterIP == corev1.ClusterIPNone || svc.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	if _, other := svc.Labels["service.kubernetes.io/service-proxy-name"]; other {
		return nil
	}
	clusterIP := ipv4([]string{svc.Spec.ClusterIP}) // GetClusterIPByFamily
	if len(clusterIP) == 0 {
		return nil
	}
	base := servicePort{
		service: svc.Namespace + "/" + svc.Name, clusterIP: clusterIP[0],
		externalIPs:   ipv4(svc.Spec.ExternalIPs),
		sticky:        svc.Spec.SessionAffinity == corev1.ServiceAffinityClientIP,
		stickySeconds: int(corev1.DefaultClientIPServiceAffinitySeconds),
		internalLocal: svc.Spec.InternalTrafficPolicy != nil && *svc.Spec.InternalTrafficPolicy == corev1.ServiceInternalTrafficPolicyLocal,
	}
	if c := svc.Spec.SessionAffinityConfig; c != nil && c.ClientIP != nil && c.ClientIP.TimeoutSeconds != nil {
		base.stickySeconds = int(*c.ClientIP.TimeoutSeconds)
	}
	outside := svc.Spec.Type == corev1.ServiceTypeNodePort || svc.Spec.Type == corev1.ServiceTypeLoadBalancer
	base.externalLocal = (outside || len(base.externalIPs) > 0) && svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
	for _, in := range svc.Status.LoadBalancer.Ingress {
		if in.IP != "" && (in.IPMode == nil || *in.IPMode == corev1.LoadBalancerIPModeVIP) {
			base.balancerIPs = append(base.balancerIPs, ipv4([]string{in.IP})...)
		}
	}
	base.sourceRanges = sourceRanges(svc.Spec.LoadBalancerSourceRanges)
	if base.externalLocal && svc.Spec.Type == corev1.ServiceTypeLoadBalancer {
		base.healthPort = int(svc.Spec.HealthCheckNodePort)
	}
	out := make([]servicePort, 0, len(svc.Spec.Ports))
	for _, p := range svc.Spec.Ports {
		s := base
		s.name, s.portName = base.service, p.Name
		if p.Name != "" {
			s.name += ":" + p.Name
		}
		s.protocol = strings.ToLower(string(p.Protocol))
		if s.protocol == "" {
			s.protocol = "tcp"
		}
		s.port, s.nodePort = int(p.Port), int(p.NodePort)
		out = append(out, s)
	}
	return out
}

// sourceRanges reads who may use a load balancer's address: the networks of our
// family, without the host's bits, and none where one of them is everybody
// (pkg/proxy/serviceport.go newBaseServiceInfo).
func sourceRanges(in []string) []string {
	var out []string
	for _, s := range in {
		_, network, err := netutils.ParseCIDRSloppy(strings.TrimSpace(s))
		if err != nil || !netutils.IsIPv4CIDR(network) {
			continue
		}
		if bits, _ := network.Mask.Size(); bits == 0 {
			return nil
		}
		out = append(out, network.String())
	}
	return out
}

func ipv4(in []string) []string {
	var out []string
	for _, s := range in {
		if a := netutils.ParseIPSloppy(s); netutils.IsIPv4(a) {
			out = append(out, a.String())
		}
	}
	return out
}

// endpoint is one backend (pkg/proxy/endpoint.go).
type endpoint struct {
	ip          string
	address     string // ip:port
	node        string
	ready       bool
	serving     bool
	terminating bool
	zones       []string // hints
	nodes       []string
}

// endpointsOf gathers the endpoints of one port from the Service's slices,
// sorted by address (pkg/proxy/endpointslicecache.go).
func endpointsOf(slices []*discoveryv1.EndpointSlice, portName, protocol string) []endpoint {
	seen := map[string]endpoint{}
	for _, sl := range slices {
		if sl.AddressType != discoveryv1.AddressTypeIPv4 {
			continue
		}
		for _, p := range sl.Ports {
			if p.Port == nil || deref(p.Name, "") != portName || !strings.EqualFold(string(deref(p.Protocol, corev1.ProtocolTCP)), protocol) {
				continue
			}
			for i := range sl.Endpoints {
				e, ok := readEndpoint(&sl.Endpoints[i], int(*p.Port))
				// An address may be a new pod's before the old one is gone: the one that
				// does not end counts, be it ready or not yet.
				if _, dup := seen[e.address]; ok && (!dup || !e.terminating) {
					seen[e.address] = e
				}
			}
		}
	}
	out := make([]endpoint, 0, len(seen))
	for _, e := range seen {
		out = append(out, e)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].address < out[j].address })
	return out
}

func readEndpoint(ep *discoveryv1.Endpoint, port int) (endpoint, bool) {
	if len(ep.Addresses) == 0 {
		return endpoint{}, false
	}
	address := ipv4(ep.Addresses[:1])
	if len(address) == 0 { // endpointslicecache.go addEndpoints
		return endpoint{}, false
	}
	c := &ep.Conditions
	e := endpoint{
		ip: address[0], address: address[0] + ":" + itoa(port), node: deref(ep.NodeName, ""),
		ready: deref(c.Ready, true), serving: deref(c.Serving, true), terminating: deref(c.Terminating, false),
	}
	if ep.Hints != nil {
		for _, z := range ep.Hints.ForZones {
			e.zones = append(e.zones, z.Name)
		}
		for _, n := range ep.Hints.ForNodes {
			e.nodes = append(e.nodes, n.Name)
		}
	}
	return e, true
}

func deref[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}

// chosen are the endpoints a node uses for a Service port.
type chosen struct {
	cluster, local, all []endpoint
	any                 bool // there is one somewhere, though perhaps not for here
}

// categorize is pkg/proxy/topology.go CategorizeEndpoints: ready endpoints, and
// where there are none those that end but still serve.
func categorize(eps []endpoint, s *servicePort, node, zone string) (c chosen) {
	mode := ""
	fallback := false
	if s.usesCluster() {
		mode = hintMode(eps, node, zone)
		c.cluster = filter(eps, func(e *endpoint) bool { return e.ready && fits(e, mode, node, zone) })
		if len(c.cluster) == 0 {
			c.cluster = filter(eps, func(e *endpoint) bool { return e.serving && e.terminating })
		}
		c.any = len(c.cluster) > 0
	}
	if !s.usesLocal() {
		c.all = c.cluster
		return c
	}
	for i := range eps {
		c.any = c.any || eps[i].ready || eps[i].serving && eps[i].terminating
	}
	c.local = filter(eps, func(e *endpoint) bool { return e.node == node && e.ready })
	if len(c.local) == 0 {
		c.local = filter(eps, func(e *endpoint) bool { return e.node == node && e.serving && e.terminating })
		fallback = len(c.local) > 0
	}
	switch {
	case !s.usesCluster():
		c.all = c.local
	case mode == "" && !fallback:
		c.all = c.cluster
	default:
		c.all = union(c.cluster, c.local)
	}
	return c
}

func filter(eps []endpoint, keep func(*endpoint) bool) []endpoint {
	var out []endpoint
	for i := range eps {
		if keep(&eps[i]) {
			out = append(out, eps[i])
		}
	}
	return out
}

func union(a, b []endpoint) []endpoint {
	out := append([]endpoint(nil), a...)
	for _, e := range b {
		if !has(a, e.address) {
			out = append(out, e)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].address < out[j].address })
	return out
}

func has(eps []endpoint, address string) bool {
	for i := range eps {
		if eps[i].address == address {
			return true
		}
	}
	return false
}

// hintMode says whether hints are used: only if every ready endpoint has one and
// one is for here.
func hintMode(eps []endpoint, node, zone string) string {
	any, nodeHere, allNodes, zoneHere, allZones := false, false, true, false, true
	for i := range eps {
		e := &eps[i]
		if !e.ready {
			continue
		}
		any = true
		allNodes = allNodes && len(e.nodes) > 0
		nodeHere = nodeHere || contains(e.nodes, node)
		allZones = allZones && len(e.zones) > 0
		zoneHere = zoneHere || contains(e.zones, zone)
	}
	switch {
	case any && allNodes && nodeHere:
		return corev1.ServiceTrafficDistributionPreferSameNode
	case any && allZones && zoneHere:
		return corev1.ServiceTrafficDistributionPreferSameZone
	}
	return ""
}

func fits(e *endpoint, mode, node, zone string) bool {
	switch mode {
	case corev1.ServiceTrafficDistributionPreferSameNode:
		return contains(e.nodes, node)
	case corev1.ServiceTrafficDistributionPreferSameZone:
		return contains(e.zones, zone)
	}
	return true
}

func contains(list []string, s string) bool {
	for _, o := range list {
		if o == s {
			return true
		}
	}
	return false
}

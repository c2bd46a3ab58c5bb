package proxy_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"kviz/cluster/client"
)

// rulesFor are the rules of one Service with one slice of endpoints.
func rulesFor(t *testing.T, service, endpoints string) string {
	t.Helper()
	var rules string
	run(t, 1, false, func(b *bench) {
		b.service("web", "10.96.0.10", service)
		s := slice("web", nil)
		if err := yaml.UnmarshalStrict([]byte(endpoints), &s.Endpoints); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Create(b.t, b.Client(), client.EndpointSlices, "default", s); err != nil {
			t.Fatal(err)
		}
		b.start()
		b.settle()
		rules = b.px.Save()
	})
	return rules
}

// The conditions of endpoints as pkg/proxy/endpointslicecache.go reads them.
func TestWhichEndpointsServe(t *testing.T) {
	for name, tt := range map[string]struct {
		endpoints string
		want      string // where the DNAT rules lead to
	}{
		"what is not said to be ready or serving is": {
			"[{addresses: [10.244.1.1]}]", "10.244.1.1:8080",
		},
		"one that ends and does not say whether it serves is used where no other is ready": {
			"[{addresses: [10.244.1.1], conditions: {ready: false, terminating: true}}]", "10.244.1.1:8080",
		},
		"but not one that says that it does not serve": {
			"[{addresses: [10.244.1.1], conditions: {ready: false, serving: false, terminating: true}}]", "",
		},
		"of two with one address the one that does not end counts, though it is not ready yet": {
			"[{addresses: [10.244.1.1], conditions: {ready: false, serving: true, terminating: true}}, {addresses: [10.244.1.1], conditions: {ready: false, serving: false, terminating: false}}]", "",
		},
		"in either order": {
			"[{addresses: [10.244.1.1], conditions: {ready: false, serving: false, terminating: false}}, {addresses: [10.244.1.1], conditions: {ready: false, serving: true, terminating: true}}]", "",
		},
		"and the later one of two that do not end": {
			"[{addresses: [10.244.1.1], conditions: {ready: true}}, {addresses: [10.244.1.1], conditions: {ready: false}}]", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for line := range strings.Lines(rulesFor(t, "", tt.endpoints)) {
				if _, to, ok := strings.Cut(strings.TrimSpace(line), "--to-destination "); ok {
					got = append(got, to)
				}
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("traffic goes to %q, want %q", s, tt.want)
			}
		})
	}
}

// Who may use a load balancer's address (pkg/proxy/serviceport.go): networks, as they
// are written canonically, and everybody if one of them is everybody.
func TestSourceRanges(t *testing.T) {
	for name, tt := range map[string]struct {
		ranges string
		want   string // the sources in the firewall chain; - where there is none
	}{
		"a network":                 {"[203.0.113.0/24]", "203.0.113.0/24"},
		"an address in one":         {"[10.1.2.3/8]", "10.0.0.0/8"},
		"padded":                    {"[' 10.1.2.3/32 ']", "10.1.2.3/32"},
		"everybody":                 {"[0.0.0.0/0]", "-"},
		"everybody and a network":   {"[203.0.113.0/24, 0.0.0.0/0]", "-"},
		"an address of everybody":   {"[1.2.3.4/0]", "-"},
		"everybody of IPv6 is not":  {"[203.0.113.0/24, '::/0']", "203.0.113.0/24"},
		"nobody of IPv4":            {"['2001:db8::/32']", "-"},
		"two, in the order written": {"[203.0.113.0/24, 10.1.2.3/8]", "203.0.113.0/24 10.0.0.0/8"},
	} {
		t.Run(name, func(t *testing.T) {
			rules := rulesFor(t, "{spec: {type: LoadBalancer, loadBalancerSourceRanges: "+tt.ranges+", ports: [{nodePort: 30083}]}, status: {loadBalancer: {ingress: [{ip: 198.51.100.7}]}}}",
				"[{addresses: [10.244.1.1]}]")
			got := []string{"-"}
			for line := range strings.Lines(rules) {
				switch {
				case strings.HasPrefix(line, ":KUBE-FW-"):
					got = nil
				case strings.HasPrefix(line, "-A KUBE-FW-"):
					if _, from, ok := strings.Cut(line, " -s "); ok {
						got = append(got, strings.Fields(from)[0])
					}
				}
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("the firewall lets through %q, want %q", s, tt.want)
			}
		})
	}
}

package network_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/network"
	"kviz/cluster/proxy"
	"kviz/cluster/registry"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// bench is two nodes with runtimes and proxies, and an API server in memory.
// Pods are made in the runtimes directly; no kubelet is needed for packets.
type bench struct {
	*clienttest.Bench
	t       *sim.Task
	net     *network.Network
	rts     map[string]*runtime.Runtime
	proxies map[string]*sim.Process
}

func run(tb testing.TB, seed uint64, main func(b *bench)) *clienttest.Bench {
	tb.Helper()
	return clienttest.Run(tb, seed, func(cb *clienttest.Bench, t *sim.Task) {
		b := &bench{Bench: cb, t: t, net: network.New(cb.Kernel), rts: map[string]*runtime.Runtime{}, proxies: map[string]*sim.Process{}}
		b.net.SetResolver(network.APIResolver{Client: cb.Client()})
		reg, shared := registry.New(cb.Kernel), proxy.NewShared()
		for i, name := range []string{"node-1", "node-2"} {
			cidr := fmt.Sprintf("10.244.%d.0/24", i+1)
			rt := runtime.New(cb.Kernel, reg, runtime.Config{Node: name, PodCIDR: cidr, Images: []string{"nginx", "busybox"}})
			b.rts[name] = rt
			node := b.net.AddNode(name, fmt.Sprintf("192.168.0.1%d", i+1), cidr, rt)
			b.proxies[name] = cb.Kernel.NewProcess(trace.Lane{Component: trace.CompProxy, Instance: name})
			proxy.Start(b.proxies[name], cb.Client(), proxy.Config{Node: node, Shared: shared})
		}
		t.Sleep(2 * time.Second)
		main(b)
	})
}

// pod runs a pod with one container and gives its address.
func (b *bench) pod(node, name, image, behaviour string, command ...string) string {
	rt := b.rts[node]
	id, err := rt.RunPodSandbox(b.t, runtime.SandboxConfig{PodUID: name, Namespace: "demo", Name: name, Hostname: name})
	must(err)
	c, err := rt.CreateContainer(b.t, id, runtime.ContainerConfig{Name: "app", Image: image, Behaviour: behaviour, Command: command})
	must(err)
	must(rt.StartContainer(b.t, c))
	ip, _ := rt.AddressOf("demo", name)
	return ip
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (b *bench) service(name, ip, more string, endpoints ...string) {
	svc := &corev1.Service{}
	must(yaml.UnmarshalStrict([]byte(more), svc))
	svc.Name, svc.Spec.ClusterIP = name, ip
	if len(svc.Spec.Ports) == 0 {
		svc.Spec.Ports = []corev1.ServicePort{{}}
	}
	svc.Spec.Ports[0].Port, svc.Spec.Ports[0].Protocol = 80, corev1.ProtocolTCP
	_, err := client.Create(b.t, b.Client(), client.Services, "demo", svc)
	must(err)
	s := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4}
	s.Name, s.Labels = name+"-1", map[string]string{discoveryv1.LabelServiceName: name}
	port, tcp, empty := int32(80), corev1.ProtocolTCP, ""
	s.Ports = []discoveryv1.EndpointPort{{Name: &empty, Port: &port, Protocol: &tcp}}
	for _, e := range endpoints {
		node := "node-1"
		if strings.HasPrefix(e, "10.244.2.") {
			node = "node-2"
		}
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{e}, NodeName: &node})
	}
	_, err = client.Create(b.t, b.Client(), client.EndpointSlices, "demo", s)
	must(err)
	b.t.Sleep(3 * time.Second)
}

// path prints the hops of a walk.
func path(events []*trace.Event) string {
	var out strings.Builder
	for _, e := range events {
		switch p := e.Payload.(type) {
		case *trace.Hop:
			rule := p.Rule
			if i := strings.Index(rule, " -m comment"); i > 0 && len(rule) > 90 {
				rule = rule[:i] + " …" + rule[strings.LastIndex(rule, " -j"):]
			}
			fmt.Fprintf(&out, "%-7s %s → %s  %s: %s (%s)\n", p.Node, p.Src, p.Dst, p.Where, p.Verdict, p.Why)
			if rule != "" {
				fmt.Fprintf(&out, "          %s\n", rule)
			}
		case *trace.Flow:
			fmt.Fprintf(&out, "flow %d %s → %s: %s by %s %s %q\n", p.Flow, p.From, p.To, p.Result, p.Pod, p.Backend, p.Body)
		}
	}
	return out.String()
}

// TestWalkOfAServiceRequest: a pod asks a Service; the packet is translated on
// the client's node and crosses to the other one unchanged.
func TestWalkOfAServiceRequest(t *testing.T) {
	b := run(t, 4, func(b *bench) {
		web1 := b.pod("node-1", "web-1", "nginx", "")
		web2 := b.pod("node-2", "web-2", "nginx", "")
		b.pod("node-1", "client", "busybox", "", "sleep", "infinity")
		b.service("other", "10.96.0.9", "", web1)
		b.service("web", "10.96.0.10", "", web1, web2)
		for range 2 {
			body, code, msg := b.net.Curl(b.t, "", "demo/client", "http://web", 0)
			if code != 0 || msg != "" || !strings.HasPrefix(body, "hello from web-") {
				t.Errorf("curl: %q %d %q", body, code, msg)
			}
		}
	})
	clienttest.Golden(t, "walk.txt", path(b.Events))
	causes(t, b.Events)
}

// causes checks that a DNAT leads back to the event that wrote its rule, and that
// to the slice.
func causes(t *testing.T, events []*trace.Event) {
	t.Helper()
	byID := map[trace.ID]*trace.Event{}
	dnat := 0
	for _, e := range events {
		byID[e.ID] = e
		h, ok := e.Payload.(*trace.Hop)
		if !ok || !strings.HasPrefix(h.Verdict, "DNAT") {
			continue
		}
		dnat++
		rule, ok := byID[h.RuleAt].Payload.(*trace.Rule)
		if !ok || rule.Text != h.Rule {
			t.Errorf("%s: the rule %s is not what %s wrote", e.ID, h.Rule, h.RuleAt)
			continue
		}
		found := false
		for _, c := range byID[h.RuleAt].Causes {
			w, ok := byID[c].Payload.(*trace.WatchEvent)
			found = found || ok && strings.Contains(fmt.Sprintf("%T", w.Object.Value), "EndpointSlice")
		}
		if !found {
			t.Errorf("the rule %s does not lead back to a slice: causes %v", h.Rule, byID[h.RuleAt].Causes)
		}
	}
	if dnat == 0 {
		t.Error("no DNAT in the trace")
	}
}

// TestBackendsShareEqually: 3,000 connections to three backends, 1/3 each.
func TestBackendsShareEqually(t *testing.T) {
	hits := map[string]int{}
	run(t, 7, func(b *bench) {
		ips := []string{b.pod("node-1", "web-1", "nginx", ""), b.pod("node-1", "web-2", "nginx", ""), b.pod("node-2", "web-3", "nginx", "")}
		b.service("web", "10.96.0.10", "", ips...)
		for range 3000 {
			res := b.net.Dial(b.t, network.From{Node: "node-1", Pod: "demo/web-1"}, network.Request{Host: "10.96.0.10", Port: 80})
			hits[res.Pod]++
		}
	})
	for _, pod := range []string{"demo/web-1", "demo/web-2", "demo/web-3"} {
		if n := hits[pod]; n < 950 || n > 1050 {
			t.Errorf("seed 7: %s got %d of 3000 connections, want 1000 ± 5 %%: %v", pod, n, hits)
		}
	}
}

// TestWhatCurlSays is every way a request can end, in curl's words.
func TestWhatCurlSays(t *testing.T) {
	var out strings.Builder
	run(t, 1, func(b *bench) {
		web := b.pod("node-2", "web", "nginx", "")
		hung := b.pod("node-2", "hung", "nginx", "serve 80; hang")
		db := b.pod("node-1", "db", "nginx", "serve 5432")
		b.pod("node-1", "client", "busybox", "", "sleep", "infinity")
		b.service("web", "10.96.0.10", "spec: {type: NodePort, ports: [{nodePort: 30080}]}", web)
		b.service("empty", "10.96.0.11", "")
		b.service("hung", "10.96.0.12", "", hung)
		b.service("closed", "10.96.0.13", "", db)
		b.service("local", "10.96.0.14", "spec: {type: NodePort, externalTrafficPolicy: Local, ports: [{nodePort: 30081}]}", web)
		b.service("inside", "10.96.0.15", "spec: {internalTrafficPolicy: Local}", web)
		ask := func(what, url string, limit time.Duration) {
			body, code, msg := b.net.Curl(b.t, "node-1", "demo/client", url, limit)
			fmt.Fprintf(&out, "# %s\n$ curl %s\n%s%s%sexit %d\n\n", what, url, body, msg, nl(msg), code)
		}
		ask("a Service by name", "web", 0)
		ask("by name and namespace", "http://web.demo/index.html", 0)
		ask("by its full name", "http://web.demo.svc.cluster.local", 0)
		ask("a pod", "http://"+web, 0)
		ask("a node port of this node", "http://192.168.0.11:30080", 0)
		ask("a node port of the other node", "http://192.168.0.12:30080", 0)
		ask("externalTrafficPolicy Local, on the node without an endpoint, from a pod: short-circuited to any endpoint", "http://192.168.0.11:30081", 2*time.Second)
		ask("a name that does not exist", "nosuch", 0)
		ask("a Service without endpoints", "empty", 0)
		ask("a backend that never answers", "hung", 3*time.Second)
		ask("a backend on which nothing listens", "closed", 0)
		ask("internalTrafficPolicy Local without an endpoint on this node", "inside", 2*time.Second)
		ask("an address without rules", "http://10.96.0.99", 5*time.Second)
		ask("an address of a pod that is gone", "http://10.244.1.77", 0)
		b.net.Cut("node-1", "node-2")
		ask("the link between the nodes is cut", "web", 5*time.Second)
		b.net.Heal("node-1", "node-2")
		res, err := b.rts["node-1"].Exec(b.t, first(b, "client"), []string{"sh", "-c", "wget -qO- http://web && curl -s web && nslookup web && wget -q -O- -T 2 empty"}, 0)
		must(err)
		fmt.Fprintf(&out, "$ kubectl exec client -- sh -c …\n%s%sexit %d\n", res.Stdout, res.Stderr, res.Code)
	})
	clienttest.Golden(t, "curl.txt", out.String())
}

func first(b *bench, pod string) string {
	c, ok := b.rts["node-1"].Find("demo", pod, "")
	if !ok {
		panic("no container of " + pod)
	}
	return c.ID
}

func nl(s string) string {
	if s == "" {
		return ""
	}
	return "\n"
}

// TestStickyService: with ClientIP affinity a client stays with its backend for
// three hours.
func TestStickyService(t *testing.T) {
	run(t, 5, func(b *bench) {
		ips := []string{b.pod("node-1", "web-1", "nginx", ""), b.pod("node-1", "web-2", "nginx", "")}
		b.pod("node-2", "client", "busybox", "", "sleep", "infinity")
		b.service("web", "10.96.0.10", "spec: {sessionAffinity: ClientIP}", ips...)
		ask := func() string {
			return b.net.Dial(b.t, network.From{Node: "node-2", Pod: "demo/client"}, network.Request{Host: "web", Port: 80}).Pod
		}
		was := ask()
		for range 30 {
			if now := ask(); now != was {
				t.Fatalf("seed 5: first %s, then %s", was, now)
			}
			b.t.Sleep(5 * time.Minute)
		}
		seen := map[string]bool{}
		for range 20 {
			b.t.Sleep(4 * time.Hour)
			seen[ask()] = true
		}
		if len(seen) != 2 {
			t.Errorf("after four hours of quiet a client should be free again: only %v", seen)
		}
	})
}

// TestStaleRules: with kube-proxy dead on one node, that node still sends to a
// pod that is gone, and the other does not.
func TestStaleRules(t *testing.T) {
	run(t, 1, func(b *bench) {
		ip := b.pod("node-2", "web", "nginx", "")
		b.service("web", "10.96.0.10", "", ip)
		b.proxies["node-1"].Kill()
		must(b.Client().Delete(b.t, client.EndpointSlices, "demo", "web-1", metav1.DeleteOptions{}))
		b.rts["node-2"].KillSandbox("demo", "web")
		b.t.Sleep(3 * time.Second)
		for node, want := range map[string]string{"node-1": network.Unreachable, "node-2": network.Refused} {
			if res := b.net.Dial(b.t, network.From{Node: node}, network.Request{Host: "10.96.0.10", Port: 80}); res.Outcome != want {
				t.Errorf("from %s: %s, want %s", node, res.Outcome, want)
			}
		}
	})
}

// TestKnownConnection: a packet of a known connection follows its conntrack entry
// although the rules have changed since.
func TestKnownConnection(t *testing.T) {
	run(t, 1, func(b *bench) {
		old, new := b.pod("node-2", "old", "nginx", ""), b.pod("node-2", "new", "nginx", "")
		b.pod("node-1", "client", "busybox", "", "sleep", "infinity")
		b.service("web", "10.96.0.10", "", old)
		from := network.From{Node: "node-1", Pod: "demo/client"}
		first := b.net.Dial(b.t, from, network.Request{Host: "web", Port: 80})
		s, err := client.Get[*discoveryv1.EndpointSlice](b.t, b.Client(), client.EndpointSlices, "demo", "web-1")
		must(err)
		s.Endpoints[0].Addresses = []string{new}
		_, err = client.Update(b.t, b.Client(), client.EndpointSlices, "demo", s)
		must(err)
		b.t.Sleep(3 * time.Second)
		if res := b.net.Dial(b.t, from, network.Request{Host: "web", Port: 80, SourcePort: first.Port}); res.Pod != "demo/old" {
			t.Errorf("the known connection went to %s", res.Pod)
		}
		if res := b.net.Dial(b.t, from, network.Request{Host: "web", Port: 80}); res.Pod != "demo/new" {
			t.Errorf("a new connection went to %s", res.Pod)
		}
		if n := len(b.net.Node("node-1").Connections()); n != 2 {
			t.Errorf("%d conntrack entries, want 2", n)
		}
	})
}

// TestFromOutside: a client outside the cluster reaches a node port; with policy
// Local only where an endpoint is, and with its own address.
func TestFromOutside(t *testing.T) {
	run(t, 1, func(b *bench) {
		web := b.pod("node-2", "web", "nginx", "")
		b.service("web", "10.96.0.10", "spec: {type: NodePort, ports: [{nodePort: 30080}]}", web)
		b.service("local", "10.96.0.14", "spec: {type: NodePort, externalTrafficPolicy: Local, ports: [{nodePort: 30081}]}", web)
		for _, c := range []struct {
			node, host string
			port       int
			want       string
		}{
			{"node-1", "192.168.0.11", 30080, network.Answered},
			{"node-2", "192.168.0.12", 30080, network.Answered},
			{"node-1", "192.168.0.11", 30081, network.TimedOut},
			{"node-2", "192.168.0.12", 30081, network.Answered},
		} {
			res := b.net.Dial(b.t, network.From{Node: c.node, IP: "203.0.113.5"}, network.Request{Host: c.host, Port: c.port, Limit: time.Second})
			if res.Outcome != c.want {
				t.Errorf("%s:%d from outside: %s, want %s", c.host, c.port, res.Outcome, c.want)
			}
		}
	})
}

package proxy_test

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/network"
	"kviz/cluster/proxy"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

type noPods struct{ network.Pods }

// bench is a node with its proxy, and an API server in memory.
type bench struct {
	*clienttest.Bench
	t    *sim.Task
	node *network.Node
	px   *proxy.Proxy
	p    *sim.Process
	cfg  proxy.Config
}

func run(tb testing.TB, seed uint64, counters bool, main func(b *bench)) *clienttest.Bench {
	tb.Helper()
	return clienttest.Run(tb, seed, func(cb *clienttest.Bench, t *sim.Task) {
		net := network.New(cb.Kernel)
		b := &bench{Bench: cb, t: t, node: net.AddNode("node-a", "192.168.0.2", "10.244.0.0/24", noPods{})}
		b.cfg = proxy.Config{Node: b.node, Counters: counters}
		main(b)
	})
}

func (b *bench) start() {
	b.p = b.Kernel.NewProcess(trace.Lane{Component: trace.CompProxy, Instance: "node-a"})
	b.px = proxy.Start(b.p, b.Client(), b.cfg)
}

func (b *bench) settle() { b.t.Sleep(3 * time.Second) }

// service makes a Service with one port http 80 → 8080 and a slice of endpoints
// "ip" or "ip@node", "-" before it when it is not ready.
func (b *bench) service(name, ip, more string, endpoints ...string) {
	svc := &corev1.Service{}
	if err := yaml.UnmarshalStrict([]byte(more), svc); err != nil {
		panic(err)
	}
	svc.Namespace, svc.Name, svc.Spec.ClusterIP = "default", name, ip
	if len(svc.Spec.Ports) == 0 {
		svc.Spec.Ports = []corev1.ServicePort{{}}
	}
	svc.Spec.Ports[0].Name, svc.Spec.Ports[0].Port, svc.Spec.Ports[0].Protocol = "http", 80, corev1.ProtocolTCP
	if _, err := client.Create(b.t, b.Client(), client.Services, "default", svc); err != nil {
		panic(err)
	}
	if len(endpoints) > 0 {
		if _, err := client.Create(b.t, b.Client(), client.EndpointSlices, "default", slice(name, endpoints)); err != nil {
			panic(err)
		}
	}
}

func slice(service string, endpoints []string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: service + "-1", Namespace: "default", Labels: map[string]string{discoveryv1.LabelServiceName: service}}, AddressType: discoveryv1.AddressTypeIPv4}
	name, port, tcp := "http", int32(8080), corev1.ProtocolTCP
	s.Ports = []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &tcp}}
	for _, e := range endpoints {
		ip, not := strings.CutPrefix(e, "-")
		node := "node-b"
		if strings.HasPrefix(ip, "10.244.0.") {
			node = "node-a"
		}
		ready := !not
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{ip}, NodeName: &node, Conditions: discoveryv1.EndpointConditions{Ready: &ready}})
	}
	return s
}

// reference is the cluster whose rules were dumped from upstream's proxier.
func (b *bench) reference() {
	b.service("web", "10.96.0.10", "", "10.244.0.5", "10.244.1.6", "10.244.2.7")
	b.service("sticky", "10.96.0.11", "spec: {sessionAffinity: ClientIP}", "10.244.0.8", "10.244.1.9")
	b.service("np", "10.96.0.12", "spec: {type: NodePort, ports: [{nodePort: 30080}]}", "10.244.0.10", "10.244.1.11")
	b.service("nplocal", "10.96.0.13", "spec: {type: NodePort, externalTrafficPolicy: Local, ports: [{nodePort: 30081}]}", "10.244.0.12", "10.244.1.13")
	b.service("empty", "10.96.0.14", "spec: {type: NodePort, ports: [{nodePort: 30082}]}")
	b.service("lb", "10.96.0.15", "{spec: {type: LoadBalancer, loadBalancerSourceRanges: [203.0.113.0/24], ports: [{nodePort: 30083}]}, status: {loadBalancer: {ingress: [{ip: 198.51.100.7}]}}}", "10.244.1.15")
}

// byChain sorts rules into chains: "nat KUBE-SERVICES" → lines.
func byChain(text string) map[string][]string {
	out := map[string][]string{}
	table := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "*"):
			table = line[1:]
		case strings.HasPrefix(line, "-A "):
			chain := strings.Fields(line)[1]
			out[table+" "+chain] = append(out[table+" "+chain], line)
		}
	}
	return out
}

// written are a node's rules as the proxy wrote them.
func written(n *network.Node) string {
	var b strings.Builder
	for _, table := range []string{network.NAT, network.Filter} {
		t := n.Tables.Table(table)
		fmt.Fprintf(&b, "*%s\n", table)
		for _, c := range t.Chains() {
			rules, _ := t.Chain(c)
			for _, r := range rules {
				b.WriteString(r.Spec + "\n")
			}
		}
		b.WriteString("COMMIT\n")
	}
	return b.String()
}

// TestRulesAreUpstreams compares with the rules that kube-proxy v1.37.1 wrote
// for the same cluster into its fake iptables. That fake has two gaps: of the
// jumps from the kernel's chains it keeps one for each target, and it drops
// rules that only jump; those are listed here.
func TestRulesAreUpstreams(t *testing.T) {
	text, err := os.ReadFile("testdata/upstream-v1.37.1.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := byChain(string(text))
	onlyJump := map[string]string{
		"nat KUBE-EXT-QUMPV5Z3SF2IMFUJ": "-A KUBE-EXT-QUMPV5Z3SF2IMFUJ -j KUBE-SVC-QUMPV5Z3SF2IMFUJ",
		"nat KUBE-EXT-JTI3CIA5YCJFCRNW": "-A KUBE-EXT-JTI3CIA5YCJFCRNW -j KUBE-SVL-JTI3CIA5YCJFCRNW",
		"nat KUBE-EXT-JSLCNGWSGB5JPS5Q": "-A KUBE-EXT-JSLCNGWSGB5JPS5Q -j KUBE-SVC-JSLCNGWSGB5JPS5Q",
	}
	for chain, rule := range onlyJump {
		want[chain] = append(want[chain], rule)
	}
	run(t, 1, true, func(b *bench) {
		b.reference()
		b.start()
		b.settle()
		got := byChain(written(b.node))
		for chain, rules := range got {
			if !strings.Contains(chain, "KUBE-") {
				for _, w := range want[chain] {
					if !contains(unquoted(rules), w) {
						t.Errorf("chain %s lacks %s", chain, w)
					}
				}
				continue
			}
			w := want[chain]
			if strings.HasSuffix(chain, "KUBE-SERVICES") || strings.HasSuffix(chain, "KUBE-NODEPORTS") {
				// Upstream's order of services is random.
				w, rules = sorted(w), sorted(rules)
			}
			if diff := cmp.Diff(w, rules); diff != "" {
				t.Errorf("chain %s (-upstream +kviz):\n%s", chain, diff)
			}
		}
		for chain := range want {
			if got[chain] == nil {
				t.Errorf("chain %s is missing", chain)
			}
		}
	})
}

func unquoted(rules []string) []string {
	out := make([]string, len(rules))
	for i, r := range rules {
		out[i] = strings.ReplaceAll(r, `"`, "")
	}
	return out
}

func contains(list []string, s string) bool {
	for _, o := range list {
		if o == s {
			return true
		}
	}
	return false
}

func sorted(list []string) []string {
	out := append([]string(nil), list...)
	sort.Strings(out)
	return out
}

// TestSave writes down what iptables-save and iptables -L print for the
// reference Services. kernel_test.go asks the real ones whether they agree.
func TestSave(t *testing.T) {
	run(t, 1, false, func(b *bench) {
		b.reference()
		b.start()
		b.settle()
		clienttest.Golden(t, "save.txt", b.px.Save())
		var lists strings.Builder
		for _, chain := range listed {
			list, err := b.node.Tables.Table(network.NAT).List(chain)
			if err != nil {
				t.Fatal(err)
			}
			lists.WriteString(list)
		}
		clienttest.Golden(t, "list.txt", lists.String())
	})
}

// listed are the chains of the nat table that TestSave lists.
var listed = []string{"KUBE-SERVICES", "KUBE-SVC-CDGGSHYLG3RE2FKL", "KUBE-SEP-5N26LU746MRQWPRO", "KUBE-POSTROUTING", "KUBE-SVC-T2ECBIYT2WDZZK45"}

// TestIncrementalIsFull changes Services and slices at random: a proxy that
// followed every change and one that starts at the end write the same rules, and
// the rule events add up to what is in the tables.
func TestIncrementalIsFull(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		var follower, fresh string
		cb := run(t, 1, false, func(b *bench) {
			b.start()
			c := b.Client()
			names := []string{"a", "b", "c"}
			for range rapid.IntRange(1, 14).Draw(r, "steps") {
				name := rapid.SampledFrom(names).Draw(r, "name")
				_, err := c.Get(b.t, client.Services, "default", name)
				switch op := rapid.SampledFrom([]string{"service", "slice", "delete service", "delete slice", "wait", "flush"}).Draw(r, "op"); op {
				case "service":
					kind := rapid.SampledFrom([]string{
						"", "spec: {type: NodePort, ports: [{nodePort: 30080}]}", "spec: {type: NodePort, externalTrafficPolicy: Local, ports: [{nodePort: 30081}]}",
						"spec: {sessionAffinity: ClientIP}", "spec: {internalTrafficPolicy: Local}",
					}).Draw(r, "kind")
					if err != nil {
						b.service(name, "10.96.0."+fmt.Sprint(10+len(name)+int(name[0])), kind)
					}
				case "slice":
					eps := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"10.244.0.5", "10.244.1.6", "10.244.2.7", "-10.244.2.8", "-10.244.0.9"}), 0, 4, rapid.ID).Draw(r, "endpoints")
					s := slice(name, eps)
					if _, err := c.Create(b.t, client.EndpointSlices, "default", s); err != nil {
						if _, err := c.Update(b.t, client.EndpointSlices, "default", s, ""); err != nil {
							r.Fatal(err)
						}
					}
				case "delete service":
					_ = c.Delete(b.t, client.Services, "default", name, metav1.DeleteOptions{})
				case "delete slice":
					_ = c.Delete(b.t, client.EndpointSlices, "default", name+"-1", metav1.DeleteOptions{})
				case "wait":
					b.settle()
				case "flush":
					b.settle()
					b.t.Sleep(40 * time.Second)
				}
			}
			b.settle()
			follower = written(b.node)
			b.p.Kill()
			b.node = network.New(b.Kernel).AddNode("node-a", "192.168.0.2", "10.244.0.0/24", noPods{})
			b.cfg.Node = b.node
			b.start()
			b.settle()
			fresh = written(b.node)
		})
		if diff := cmp.Diff(fresh, follower); diff != "" {
			r.Fatalf("-full +incremental:\n%s", diff)
		}
		if syncs := count(cb.Events, trace.ProxySync); syncs == 0 {
			r.Fatal("no sync at all")
		}
	})
}

func count(events []*trace.Event, k trace.Kind) int {
	n := 0
	for _, e := range events {
		if e.Kind == k {
			n++
		}
	}
	return n
}

// TestRuleEventsAddUp replays the rule events of a busy run and gets the tables.
func TestRuleEventsAddUp(t *testing.T) {
	var want map[string][]string
	b := run(t, 1, false, func(b *bench) {
		b.start()
		b.reference()
		b.settle()
		if _, err := b.Client().Update(b.t, client.EndpointSlices, "default", slice("web", []string{"10.244.0.5", "10.244.2.7", "10.244.2.9"}), ""); err != nil {
			t.Fatal(err)
		}
		if err := b.Client().Delete(b.t, client.Services, "default", "lb", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		b.settle()
		want = byChain(b.px.Save())
	})
	for _, e := range b.Events {
		if r, ok := e.Payload.(*trace.Rule); ok && !r.Removed && len(e.Causes) == 0 {
			t.Errorf("%s has no cause: %s", e.ID, r.Text)
		}
	}
	if diff := cmp.Diff(want, replayed(b.Events)); diff != "" {
		t.Errorf("-tables +events:\n%s", diff)
	}
}

// replayed are the tables that the events of rules add up to.
func replayed(events []*trace.Event) map[string][]string {
	got := map[string][]string{}
	for _, e := range events {
		r, ok := e.Payload.(*trace.Rule)
		if !ok {
			continue
		}
		key := r.Table + " " + r.Chain
		rules := got[key]
		if r.Removed {
			for i, o := range rules {
				if o == r.Text {
					rules = append(rules[:i:i], rules[i+1:]...)
					break
				}
			}
		} else {
			rules = append(rules[:r.Pos-1:r.Pos-1], append([]string{r.Text}, rules[r.Pos-1:]...)...)
		}
		if got[key] = rules; len(rules) == 0 {
			delete(got, key)
		}
	}
	return got
}

// TestStoppedProxyLeavesItsRules: killing the proxy changes nothing; a new one
// puts right what changed meanwhile, and removes chains nobody wants.
func TestStoppedProxyLeavesItsRules(t *testing.T) {
	run(t, 1, false, func(b *bench) {
		b.reference()
		b.start()
		b.settle()
		before := b.px.Save()
		b.p.Kill()
		if err := b.Client().Delete(b.t, client.Services, "default", "web", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		b.settle()
		if b.px.Save() != before {
			t.Error("a dead proxy changed the rules")
		}
		b.start()
		b.settle()
		if s := b.px.Save(); strings.Contains(s, "default/web") || strings.Contains(s, "KUBE-SVC-CDGGSHYLG3RE2FKL") {
			t.Errorf("rules of a deleted Service are left:\n%s", s)
		}
		b.node.Tables.Flush()
		b.t.Sleep(35 * time.Second)
		if !strings.Contains(b.px.Save(), "default/np:http cluster IP") {
			t.Error("the proxy did not notice that the tables were flushed")
		}
	})
}

// TestSyncsAreBounded: many changes at once make one sync, a second after the
// last.
func TestSyncsAreBounded(t *testing.T) {
	b := run(t, 1, false, func(b *bench) {
		b.start()
		b.settle()
		for i := range 50 {
			b.service(fmt.Sprintf("s%02d", i), fmt.Sprintf("10.96.1.%d", i+1), "", "10.244.1.6")
		}
		b.settle()
	})
	if n := count(b.Events, trace.ProxySync); n > 3 {
		t.Errorf("%d syncs for the start and a burst of 50 Services within 100 ms, want at most 3", n)
	}
}

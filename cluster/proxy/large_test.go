package proxy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/network"
	"kviz/cluster/proxy"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Of a Service of many ports and pods each change of a pod changes nearly every rule. They
// are made once for all nodes, beside the kernel, and compared and told of with turns for others in
// between; in the end they are those that a proxy makes that starts then. A proxy that is
// killed meanwhile keeps no other from its rules, and leaves none half told.
func TestManyRulesLetOthersGoOn(t *testing.T) {
	const ports, pods = 40, 60
	b := run(t, 1, false, func(b *bench) {
		b.cfg.Shared = proxy.NewShared()
		b.start()
		others := map[string]*proxy.Proxy{}
		processes := map[string]*sim.Process{}
		net := network.New(b.Kernel)
		start := func(name string) *proxy.Proxy {
			cfg := b.cfg
			cfg.Node = net.AddNode(name, "192.168.0.3", "10.244.1.0/24", noPods{})
			processes[name] = b.Kernel.NewProcess(trace.Lane{Component: trace.CompProxy, Instance: name})
			return proxy.Start(processes[name], b.Client(), cfg)
		}
		for _, name := range []string{"node-b", "node-c"} {
			others[name] = start(name)
		}
		b.settle()

		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "many"}, Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.10"}}
		s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "many-1", Namespace: "default", Labels: map[string]string{discoveryv1.LabelServiceName: "many"}}, AddressType: discoveryv1.AddressTypeIPv4}
		for i := range ports {
			name, port, tcp := fmt.Sprint("p", i), int32(1000+i), corev1.ProtocolTCP
			svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: name, Port: port, Protocol: tcp})
			s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: &name, Port: &port, Protocol: &tcp})
		}
		for i := range pods {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprint("10.244.1.", 1+i)}})
		}
		_, err := client.Create(b.t, b.Client(), client.Services, "default", svc)
		if err == nil {
			_, err = client.Create(b.t, b.Client(), client.EndpointSlices, "default", s)
		}
		if err != nil {
			t.Fatal(err)
		}
		b.settle()
		b.settle()
		turns := 0
		b.p.Go("others", func(o *sim.Task) {
			for ; ; o.Sleep(time.Millisecond) {
				turns++
			}
		})
		changed := s.DeepCopy()
		changed.Endpoints = append(changed.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.244.2.1"}})
		if _, err := b.Client().Update(b.t, client.EndpointSlices, "default", changed, ""); err != nil {
			t.Fatal(err)
		}
		b.t.Sleep(5 * time.Millisecond) // while the rules are made
		processes["node-b"].Kill()
		if turns < 4 {
			t.Errorf("others had %d turns while the rules were made", turns)
		}
		b.settle()
		fresh := start("node-d")
		b.settle()
		b.settle()
		want := fresh.Save()
		for name, px := range map[string]*proxy.Proxy{"node-a": b.px, "node-c": others["node-c"]} {
			if diff := cmp.Diff(byChain(want), byChain(px.Save())); diff != "" {
				t.Errorf("%s: -full +incremental:\n%s", name, diff)
			}
			if n := px.MostAtOnce(); n > 2000 {
				t.Errorf("%s: %d rules were made, compared or told of in one turn", name, n)
			}
		}
	})
	changes := 0
	for _, e := range b.Events {
		if r, ok := e.Payload.(*trace.Rule); ok && r.Node == "node-a" {
			changes++
		}
	}
	if changes < 2*ports*pods {
		t.Errorf("only %d changes of rules: nothing was tested", changes)
	}
}

// When a proxy is killed between its pauses, its iptables-restore goes on: the tables change,
// and the trace has every rule.
func TestAKilledProxyLeavesNothingHalfTold(t *testing.T) {
	told := func(events []*trace.Event) (n int) {
		for _, e := range events {
			if r, ok := e.Payload.(*trace.Rule); ok && r.Service != "" {
				n++
			}
		}
		return n
	}
	// play kills the proxy after a time, once it has told of so many rules of Services.
	play := func(after int, least time.Duration) (b *clienttest.Bench, saved string) {
		b = run(t, 1, false, func(b *bench) {
			for i := range 60 {
				b.service(fmt.Sprintf("s%02d", i), fmt.Sprintf("10.96.1.%d", i+1), "", many(40)...)
			}
			b.start()
			b.t.Sleep(least)
			for n := 0; n < after; n = told(b.Events) {
				b.t.Sleep(time.Millisecond)
			}
			if n := told(b.Events); least == 0 && n > after+2000 {
				t.Errorf("%d rules were told before the proxy was killed, want about %d", n, after)
			}
			b.p.Kill()
			b.t.Sleep(time.Second)
			saved = b.px.Save()
		})
		return b, saved
	}
	whole, _ := play(0, time.Minute)
	all := told(whole.Events)
	if all < 5000 {
		t.Fatalf("only %d rules", all)
	}
	for _, after := range []int{1, 1500, 4000} {
		b, saved := play(after, 0)
		if n := told(b.Events); n != all {
			t.Errorf("killed after %d: %d rules were told, want %d", after, n, all)
		}
		if diff := cmp.Diff(byChain(saved), replayed(b.Events)); diff != "" {
			t.Errorf("killed after %d: -tables +events:\n%s", after, diff[:min(len(diff), 2000)])
		}
	}
}

func many(n int) (endpoints []string) {
	for i := range n {
		endpoints = append(endpoints, fmt.Sprint("10.244.1.", 1+i))
	}
	return endpoints
}

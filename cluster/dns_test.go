package cluster_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/dns"
	"kviz/cluster/sim"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
	"kviz/raftstore"
	"kviz/raftstore/steady"
)

// Names resolve from the cache while the API server is down; they do not while
// the DNS server is down, nor after it has started again with no API server to
// learn from.
func TestNamesResolveFromTheCache(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		k := sim.New(sim.Config{Seed: 3})
		st := storage.New(k, raftstore.OpenBare())
		api := k.NewProcess(trace.Lane{Component: trace.CompAPIServer})
		server := apiserver.New(api, st, apiserver.Config{})
		lane := trace.Lane{Component: trace.CompDNS}
		c := server.Client(lane, authn.Admin())

		resolve := func(tk *sim.Task, s *dns.Server, namespace, name string) ([]string, error) {
			return s.Resolve(tk, "node-1", namespace, name)
		}
		k.NewProcess(trace.Lane{Component: "test"}).Go("main", func(tk *sim.Task) {
			defer k.Stop()
			server.WaitReady(tk)
			p := k.NewProcess(lane)
			s := dns.Start(p, c)
			if _, err := resolve(tk, s, "default", "kubernetes"); !errors.Is(err, dns.ErrServFail) {
				t.Errorf("before the first list: %v, want %v", err, dns.ErrServFail)
			}
			headless := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: "peers", Namespace: "default"},
				Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 80}}},
			}
			plain := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
				Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
			}
			notReady, host, other := false, "peer-0", "peer-1"
			slice := &discoveryv1.EndpointSlice{
				ObjectMeta: metav1.ObjectMeta{
					Name: "peers-1", Namespace: "default",
					Labels: map[string]string{discoveryv1.LabelServiceName: "peers"},
				}, AddressType: discoveryv1.AddressTypeIPv4,
				Endpoints: []discoveryv1.Endpoint{
					{Addresses: []string{"10.0.0.1"}, Hostname: &host},
					{Addresses: []string{"10.0.0.2"}, Hostname: &other, Conditions: discoveryv1.EndpointConditions{Ready: &notReady}},
					{Addresses: []string{"10.0.0.3"}},
				},
			}
			if _, err := c.Create(tk, client.Services, "default", headless); err != nil {
				t.Error(err)
			}
			if _, err := c.Create(tk, client.EndpointSlices, "default", slice); err != nil {
				t.Error(err)
			}
			made, err := c.Create(tk, client.Services, "default", plain)
			if err != nil {
				t.Error(err)
				return
			}
			tk.Sleep(time.Second)

			ip := []string{made.(*corev1.Service).Spec.ClusterIP}
			check := func(when string) {
				for _, q := range []struct {
					namespace, name string
					want            []string
				}{
					{"default", "web", ip},
					{"other", "web", nil},
					{"other", "web.default", ip},
					{"", "web", nil},
					{"other", "web.default.svc", ip},
					{"", "web.default.svc.cluster.local", ip},
					{"", "web.default.svc.cluster.local.", ip},
					{"default", "peers", []string{"10.0.0.1", "10.0.0.3"}},
					{"default", "peer-0.peers", []string{"10.0.0.1"}},
					{"default", "peer-1.peers", nil}, // not ready
					{"default", "10-0-0-3.peers", []string{"10.0.0.3"}},
					{"default", "10-0-0-1.peers", nil}, // it has a name
					{"other", "peer-0.peers", nil},
					{"other", "peer-0.peers.default", []string{"10.0.0.1"}},
					{"", "peer-0.peers.default.svc.cluster.local", []string{"10.0.0.1"}},
					{"default", "peer-0.peers.svc", nil},
					{"default", "example.com", nil},
				} {
					got, err := resolve(tk, s, q.namespace, q.name)
					if !slices.Equal(got, q.want) || (err == nil) != (q.want != nil) {
						t.Errorf("%s: %q from %q: %v, %v; want %v", when, q.name, q.namespace, got, err, q.want)
					}
				}
			}
			check("with an API server")
			api.Kill()
			tk.Sleep(10 * time.Minute)
			check("ten minutes after the API server died")

			p.Kill()
			if _, err := resolve(tk, s, "default", "web"); !errors.Is(err, dns.ErrDown) {
				t.Errorf("after the DNS server died: %v, want %v", err, dns.ErrDown)
			}
			s = dns.Start(k.NewProcess(lane), c)
			tk.Sleep(time.Minute)
			if _, err := resolve(tk, s, "default", "web"); !errors.Is(err, dns.ErrServFail) {
				t.Errorf("started again without an API server: %v, want %v", err, dns.ErrServFail)
			}
			api = k.NewProcess(trace.Lane{Component: trace.CompAPIServer})
			server.Restart(api)
			tk.Sleep(2 * time.Minute)
			check("after everything is back")
		})
		if err := k.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

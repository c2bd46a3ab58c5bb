package network_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/network"
	"kviz/cluster/sim"
)

// A pod of a StatefulSet has a name of its own under its Service; one without a hostname is called by its address.
func TestPodsHaveNamesUnderTheirService(t *testing.T) {
	clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
		c := b.Client()
		web := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}}
		clienttest.Must(client.Create(task, c, client.Services, "demo", web))
		slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}}, AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{
			{Addresses: []string{"10.244.1.2"}, Hostname: ptr.To("web-0")},
			{Addresses: []string{"10.244.2.2"}, Hostname: ptr.To("web-1"), Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(false)}},
			{Addresses: []string{"10.244.3.2"}},
		}}
		clienttest.Must(client.Create(task, c, client.EndpointSlices, "demo", slice))
		names := network.APIResolver{Client: c}
		for _, q := range []struct{ from, name, want string }{
			{"demo", "web", "10.244.1.2 10.244.3.2"},
			{"demo", "web-0.web", "10.244.1.2"},
			{"demo", "web-0.web.demo", "10.244.1.2"},
			{"demo", "web-0.web.demo.svc", "10.244.1.2"},
			{"other", "web-0.web.demo.svc.cluster.local.", "10.244.1.2"},
			{"", "web-0.web.demo.svc.cluster.local", "10.244.1.2"},
			{"demo", "10-244-3-2.web.demo.svc.cluster.local", "10.244.3.2"},
			{"demo", "web.demo", "10.244.1.2 10.244.3.2"},
			{"demo", "web-1.web", ""}, // not ready
			{"demo", "web-2.web.demo.svc.cluster.local", ""},
			{"other", "web-0.web", ""},
			{"demo", "web-0.web.svc.cluster.local", ""},
			{"demo", "a.web-0.web.demo.svc.cluster.local", ""},
		} {
			got, err := names.Resolve(task, "node-1", q.from, q.name)
			if want := strings.Fields(q.want); !slices.Equal(got, want) || (err == nil) != (len(want) > 0) {
				t.Errorf("%s from %q: %v, %v; want %v", q.name, q.from, got, err, want)
			}
		}
	})
}

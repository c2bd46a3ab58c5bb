package endpointslicemirroring_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/endpointslicemirroring"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func shown(b *clienttest.Bench) string {
	var out strings.Builder
	for _, o := range b.Objects(client.EndpointSlices) {
		s := o.(*discoveryv1.EndpointSlice)
		fmt.Fprintf(&out, "%s %s owner %s labels %v\n", s.Name, s.AddressType, s.OwnerReferences[0].Name, s.Labels)
		for _, e := range s.Endpoints {
			fmt.Fprintf(&out, "  %s ready %v\n", e.Addresses[0], *e.Conditions.Ready)
		}
	}
	return out.String()
}

// What somebody writes into the Endpoints of a Service without a selector is in slices; it
// is again if a slice is deleted, follows what is written, and goes with the Endpoints.
// Those of a Service with a selector, or marked, are not.
func TestLifeOfAMirror(t *testing.T) {
	var states strings.Builder
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		p := b.Kernel.NewProcess(trace.Lane{Component: "controller-manager"})
		f := informer.NewFactory(p, p.Lane, c)
		endpointslicemirroring.New(reconcile.NewEnv(p, endpointslicemirroring.Name, endpointslicemirroring.Source, c, f, 1)).Start()
		f.Start()
		show := func(what string) {
			t.Sleep(2 * time.Second)
			fmt.Fprintf(&states, "\n# %s\n%s", what, shown(b))
		}
		write := func(name string, labels map[string]string, ips ...string) *corev1.Endpoints {
			e := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, Labels: labels}}
			s := corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Port: 5432, Protocol: corev1.ProtocolTCP}}}
			for _, ip := range ips {
				s.Addresses = append(s.Addresses, corev1.EndpointAddress{IP: ip})
			}
			e.Subsets = []corev1.EndpointSubset{s}
			return e
		}
		for _, svc := range []*corev1.Service{
			{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "db"}},
			{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}}},
			{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "marked"}},
		} {
			clienttest.Must(client.Create(t, c, client.Services, "demo", svc))
		}
		clienttest.Note(t, "Endpoints for three Services")
		e := clienttest.Must(client.Create(t, c, client.Endpoints, "demo", write("db", nil, "192.0.2.7", "2001:db8::7")))
		clienttest.Must(client.Create(t, c, client.Endpoints, "demo", write("web", nil, "192.0.2.8")))
		clienttest.Must(client.Create(t, c, client.Endpoints, "demo", write("marked", map[string]string{discoveryv1.LabelSkipMirror: "true"}, "192.0.2.9")))
		show("those of db are mirrored, a slice each family")
		clienttest.Note(t, "somebody deletes the slices")
		for _, s := range b.Objects(client.EndpointSlices) {
			_ = c.Delete(t, client.EndpointSlices, "demo", s.(*discoveryv1.EndpointSlice).Name, metav1.DeleteOptions{})
		}
		show("they are back")
		clienttest.Note(t, "another address, of one family")
		e = e.DeepCopy()
		e.Subsets = write("db", nil, "192.0.2.17").Subsets
		clienttest.Must(client.Update(t, c, client.Endpoints, "demo", e))
		show("one slice")
		clienttest.Note(t, "the Service gets a selector")
		svc := clienttest.Must(client.Get[*corev1.Service](t, c, client.Services, "demo", "db"))
		svc.Spec.Selector = map[string]string{"app": "db"}
		clienttest.Must(client.Update(t, c, client.Services, "demo", svc))
		show("none")
	})
	clienttest.Golden(t, "life.txt", b.Transcript(trace.ReconcileAction, trace.EventRecorded, trace.CommandStart)+states.String())
}

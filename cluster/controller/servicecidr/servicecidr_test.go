package servicecidr

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func start(b *clienttest.Bench) *sim.Process {
	c := b.Client()
	p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
	f := informer.NewFactory(p, p.Lane, c)
	New(reconcile.NewEnv(p, Name, Name, c, f, 1)).Start()
	f.Start()
	return p
}

func cidr(name string, cidrs ...string) *networkingv1.ServiceCIDR {
	return &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: cidrs}}
}

func address(ip string, by string) *networkingv1.IPAddress {
	family := corev1.IPv4Protocol
	if len(ip) > 4 && ip[:4] == "fd00" {
		family = corev1.IPv6Protocol
	}
	return &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: ip, Labels: map[string]string{networkingv1.LabelIPAddressFamily: string(family), networkingv1.LabelManagedBy: by}},
		Spec:       networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: "demo", Name: "web"}},
	}
}

// A range from its first address to its end: while an address is in it alone it stays, and
// when there is a larger one it may go with all of its addresses.
func TestARangeStaysWhileItHasAddresses(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		start(b)
		clienttest.Note(t, "a range, an address of it, and somebody else's object that is no cluster IP")
		clienttest.Must(client.Create(t, c, client.ServiceCIDRs, "", cidr("more", "10.112.0.0/28")))
		clienttest.Must(client.Create(t, c, client.IPAddresses, "", address("10.112.0.3", managedBy)))
		clienttest.Must(client.Create(t, c, client.IPAddresses, "", address("10.112.0.4", "gateway.example.com")))
		t.Sleep(time.Minute)
		clienttest.Note(t, "the range is deleted, and a minute later the address")
		clienttest.Must(0, c.Delete(t, client.ServiceCIDRs, "", "more", metav1.DeleteOptions{}))
		t.Sleep(time.Minute)
		clienttest.Must(0, c.Delete(t, client.IPAddresses, "", "10.112.0.3", metav1.DeleteOptions{}))
		t.Sleep(time.Minute)
		clienttest.Note(t, "another is deleted that a larger one contains, with an address in it")
		clienttest.Must(client.Create(t, c, client.ServiceCIDRs, "", cidr("small", "10.112.0.0/28")))
		clienttest.Must(client.Create(t, c, client.IPAddresses, "", address("10.112.0.3", managedBy)))
		t.Sleep(time.Minute)
		clienttest.Must(0, c.Delete(t, client.ServiceCIDRs, "", "small", metav1.DeleteOptions{}))
		t.Sleep(time.Minute)
		clienttest.Must(client.Create(t, c, client.ServiceCIDRs, "", cidr("large", "10.112.0.0/24")))
		t.Sleep(time.Minute)
	})
	clienttest.Golden(t, "life.txt", b.Transcript(trace.ReconcileAction, trace.CommandStart, trace.ReconcileEnd))
	if left := b.Objects(client.ServiceCIDRs); len(left) != 1 || left[0].(*networkingv1.ServiceCIDR).Name != "large" {
		t.Errorf("these are left: %v", left)
	}
}

package servicelb_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/cloud"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/servicelb"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

var story = []trace.Kind{trace.ReconcileAction, trace.EventRecorded, trace.CommandStart, trace.CloudCalled}

// healthy are nodes that are always well.
type healthy struct{}

func (healthy) Healthy(string, int) (bool, string) { return true, "" }
func (healthy) Address(string) netip.Addr          { return netip.MustParseAddr("192.168.0.11") }

func start(b *clienttest.Bench, c client.Interface, in servicelb.LoadBalancers) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompCCM})
	f := informer.NewFactory(p, p.Lane, c)
	servicelb.New(reconcile.NewEnv(p, servicelb.Name, servicelb.Source, c, f, 1), in).Start()
	f.Start()
	return p
}

func node(n int) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", n), Labels: map[string]string{}}}
}

func web() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, ClusterIP: "10.96.0.7",
			Ports: []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80, NodePort: 30080}},
		},
	}
}

// A load balancer from the first node on: the cloud is away for a while, nodes come, are left
// out and go, the controller dies while the cloud works, and the Service is deleted.
func TestLoadBalancerFollowsServiceAndNodes(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		in := cloud.New(b.Kernel, healthy{})
		p := start(b, c, in)
		change := func(name string, do func(*corev1.Node)) {
			n := clienttest.Must(client.Get[*corev1.Node](t, c, client.Nodes, "", name)).DeepCopy()
			do(n)
			clienttest.Must(client.Update(t, c, client.Nodes, "", n))
		}
		clienttest.Note(t, "a Service wants a load balancer; there is no node")
		clienttest.Must(client.Create(t, c, client.Services, "demo", web()))
		t.Sleep(10 * time.Second)
		clienttest.Note(t, "node-1 and node-2 join")
		clienttest.Must(client.Create(t, c, client.Nodes, "", node(1)))
		clienttest.Must(client.Create(t, c, client.Nodes, "", node(2)))
		t.Sleep(5 * time.Second)
		clienttest.Note(t, "node-2 is left out, and then the cloud is away while it comes back")
		change("node-2", func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""} })
		t.Sleep(5 * time.Second)
		in.Reachable(false)
		change("node-2", func(n *corev1.Node) { n.Labels[corev1.LabelNodeExcludeBalancers] = "false" })
		t.Sleep(12 * time.Second)
		in.Reachable(true)
		t.Sleep(20 * time.Second)
		clienttest.Note(t, "another Service; the controller is killed while the cloud makes its load balancer, and starts again")
		other := web()
		other.Name = "other"
		clienttest.Must(client.Create(t, c, client.Services, "demo", other))
		t.Sleep(time.Second)
		p.Kill()
		t.Sleep(time.Second)
		start(b, c, in)
		t.Sleep(10 * time.Second)
		clienttest.Note(t, "the first is deleted")
		clienttest.Must(struct{}{}, c.Delete(t, client.Services, "demo", "web", metav1.DeleteOptions{}))
		t.Sleep(10 * time.Second)
		var left []string
		for _, lb := range in.Balancers() {
			left = append(left, fmt.Sprintf("%s %s %v", lb.Service, lb.Address, lb.Nodes))
		}
		clienttest.Note(t, fmt.Sprintf("the cloud has %v", left))
	})
	clienttest.Golden(t, "life.txt", b.Transcript(story...))
}

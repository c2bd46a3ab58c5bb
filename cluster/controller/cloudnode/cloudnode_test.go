package cloudnode_test

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/cloud"
	"kviz/cluster/controller/cloudnode"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// healthy are nodes that are always well.
type healthy struct{}

func (healthy) Healthy(string, int) (bool, string) { return true, "" }
func (healthy) Address(string) netip.Addr          { return netip.MustParseAddr("192.168.0.11") }

// refusing is a connection that refuses so many updates because of a conflict.
type refusing struct {
	client.Interface
	times int
}

func (c *refusing) Update(t *sim.Task, r client.Resource, namespace string, obj runtime.Object, subresource string) (runtime.Object, error) {
	if c.times > 0 && r == client.Nodes {
		c.times--
		return nil, apierrors.NewConflict(r.GroupResource(), "node-1", errors.New("the object has been modified"))
	}
	return c.Interface.Update(t, r, namespace, obj, subresource)
}

// A node is initialized though the cloud is away for a while, the controller is killed while it waits for an answer,
// and somebody else writes the node meanwhile. A machine that is given another address is known by it five minutes later
// at most.
func TestANodeIsInitialized(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c, in := b.Client(), cloud.New(b.Kernel, healthy{})
		in.MakeInstance("node-1", "192.168.0.11", 1)
		clienttest.Note(t, "the cloud is away; node-1 registers")
		in.Reachable(false)
		p := start(b, c, in)
		clienttest.Must(client.Create(t, c, client.Nodes, "", &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "node-1"},
			Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: cloudnode.Taint, Value: "true", Effect: corev1.TaintEffectNoSchedule}}},
			Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "node-1"}}},
		}))
		t.Sleep(time.Second)
		clienttest.Note(t, "the cloud is back, and the controller is killed while it waits for the answer")
		in.Reachable(true)
		in.Slow(time.Minute)
		t.Sleep(10 * time.Second)
		p.Kill()
		in.Slow(0)
		clienttest.Note(t, "it starts again, and twice somebody else writes the node before it does")
		start(b, &refusing{c, 2}, in)
		t.Sleep(10 * time.Second)
		clienttest.Note(t, "its machine gets another address")
		in.MakeInstance("node-1", "192.168.0.99", 1)
		t.Sleep(cloudnode.StatusPeriod)
		n := clienttest.Must(client.Get[*corev1.Node](t, c, client.Nodes, "", "node-1"))
		if len(n.Spec.Taints) != 0 || n.Spec.ProviderID != "kviz://kviz-1a/node-1" || n.Labels[corev1.LabelTopologyZone] != "kviz-1a" ||
			len(n.Status.Addresses) != 2 || n.Status.Addresses[0].Address != "192.168.0.99" {
			clienttest.Note(t, "it is not as it should be")
			panic(n)
		}
	})
	clienttest.Golden(t, "life.txt", b.Transcript(trace.ReconcileAction, trace.EventRecorded, trace.CommandStart, trace.CloudCalled))
}

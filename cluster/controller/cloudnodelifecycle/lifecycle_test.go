package cloudnodelifecycle_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/cloud"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// healthy are nodes that are always well.
type healthy struct{}

func (healthy) Healthy(string, int) (bool, string) { return true, "" }
func (healthy) Address(string) netip.Addr          { return netip.MustParseAddr("192.168.0.11") }

// What is not done is said: the cloud is away, the instance of a node that is not Ready runs, or is shut down, and has
// its taint. A node whose instance is gone goes. Nothing is asked of nodes that are Ready.
func TestWhatItWaitsFor(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c, in := b.Client(), cloud.New(b.Kernel, healthy{})
		ready := func(name string, s corev1.ConditionStatus) {
			n := clienttest.Must(client.Get[*corev1.Node](t, c, client.Nodes, "", name)).DeepCopy()
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: s}}
			clienttest.Must(client.UpdateStatus(t, c, client.Nodes, "", n))
		}
		for i := range 2 {
			name := fmt.Sprintf("node-%d", i+1)
			in.MakeInstance(name, "192.168.0.11", i+1)
			clienttest.Must(client.Create(t, c, client.Nodes, "", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
			ready(name, corev1.ConditionTrue)
		}
		start(b, c, in)
		t.Sleep(10 * time.Second)
		clienttest.Note(t, "node-2 is not Ready, and the cloud is away")
		in.Reachable(false)
		ready("node-2", corev1.ConditionUnknown)
		t.Sleep(7 * time.Second)
		clienttest.Note(t, "the cloud is back: the instance runs")
		in.Reachable(true)
		t.Sleep(5 * time.Second)
		clienttest.Note(t, "it is shut down")
		in.Instance("node-2").Off = true
		t.Sleep(10 * time.Second)
		clienttest.Note(t, "it is Ready again")
		in.Instance("node-2").Off = false
		ready("node-2", corev1.ConditionTrue)
		t.Sleep(5 * time.Second)
		clienttest.Note(t, "its instance is deleted")
		in.DeleteInstance("node-2")
		ready("node-2", corev1.ConditionUnknown)
		t.Sleep(10 * time.Second)
	})
	var says strings.Builder
	for _, e := range b.Events {
		switch p := e.Payload.(type) {
		case *trace.Reconcile:
			if e.Kind == trace.ReconcileEnd && p.Waits != "" {
				fmt.Fprintf(&says, "waits: %s\n", p.Waits)
			}
		case *trace.Action:
			fmt.Fprintf(&says, "%s: %s\n", p.Verb, p.Why)
		case *trace.KubeEvent:
			fmt.Fprintf(&says, "%s: %s\n", p.Reason, p.Message)
		case *trace.CloudCall:
			if p.Node != "node-2" {
				t.Errorf("the cloud was asked about %q", p.Node)
			}
			fmt.Fprintf(&says, "cloud: %s: %s%s\n", p.Call, p.Result, p.Error)
		}
		if e.Kind == trace.CommandStart {
			fmt.Fprintf(&says, "# %s\n", e.Object.Name)
		}
	}
	lines := slices.Compact(strings.Split(says.String(), "\n"))
	clienttest.Golden(t, "waits.txt", strings.Join(lines, "\n"))
}

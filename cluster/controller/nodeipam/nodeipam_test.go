package nodeipam_test

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/controller/nodeipam/ipam/cidrset"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/nodeipam"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// Whatever is taken, given back and asked for: the same pieces, the same errors as upstream.
func TestRangesAreUpstreams(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		bits := rapid.IntRange(16, 24).Draw(r, "cluster")
		mask := bits + rapid.IntRange(0, 5).Draw(r, "pieces")
		cluster := netip.PrefixFrom(netip.MustParseAddr("10.244.0.0"), bits).Masked()
		_, theirs, _ := net.ParseCIDR(cluster.String())
		want, err := cidrset.NewCIDRSet(theirs, mask)
		if err != nil {
			r.Fatal(err)
		}
		ours := nodeipam.NewRanges(cluster, mask, cluster.Addr())
		for range rapid.IntRange(1, 60).Draw(r, "steps") {
			a := netip.AddrFrom4([4]byte{10, byte(rapid.IntRange(243, 245).Draw(r, "second")), byte(rapid.IntRange(0, 255).Draw(r, "third")), byte(rapid.IntRange(0, 255).Draw(r, "fourth"))})
			p := netip.PrefixFrom(a, rapid.IntRange(8, 32).Draw(r, "bits")).Masked()
			_, n, _ := net.ParseCIDR(p.String())
			var a1, a2 string
			switch rapid.SampledFrom([]string{"allocate", "allocate", "occupy", "release"}).Draw(r, "step") {
			case "allocate":
				x, err1 := want.AllocateNext()
				y, err2 := ours.Allocate()
				a1, a2 = fmt.Sprint(x, err1), fmt.Sprint(y, err2)
				if err1 != nil && err2 != nil {
					a1, a2 = err1.Error(), err2.Error()
				}
			case "occupy":
				a1, a2 = fmt.Sprint(want.Occupy(n) == nil), fmt.Sprint(ours.Occupy(p) == nil)
			case "release":
				a1, a2 = fmt.Sprint(want.Release(n) == nil), fmt.Sprint(ours.Release(p) == nil)
			}
			if a1 != a2 {
				r.Fatalf("with %s: %s, upstream has %s", p, a2, a1)
			}
		}
	})
}

func node(n int, cidr string) *corev1.Node {
	x := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", n)}}
	if cidr != "" {
		x.Spec.PodCIDR, x.Spec.PodCIDRs = cidr, []string{cidr}
	}
	return x
}

// A cluster CIDR of four pieces: one is the control plane's, one node has one from before, two get
// theirs, and there is none for the next before another is gone.
func TestNodesGetRanges(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		start := func() *sim.Process {
			p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
			f := informer.NewFactory(p, p.Lane, b.Client())
			nodeipam.New(reconcile.NewEnv(p, nodeipam.Name, nodeipam.Source, b.Client(), f, 1), nodeipam.Config{
				Cluster: netip.MustParsePrefix("10.244.0.0/22"), Mask: 24, First: netip.MustParseAddr("10.244.0.0"),
			}).Start()
			f.Start()
			return p
		}
		has := func(line string) {
			for _, o := range b.Objects(client.Nodes) {
				n := o.(*corev1.Node)
				line += fmt.Sprintf(" %s=%s", n.Name, n.Spec.PodCIDR)
			}
			clienttest.Note(t, line)
		}
		clienttest.Must(client.Create(t, c, client.Nodes, "", node(1, "10.244.2.0/24")))
		p := start()
		t.Sleep(time.Second)
		clienttest.Must(client.Create(t, c, client.Nodes, "", node(2, "")))
		clienttest.Must(client.Create(t, c, client.Nodes, "", node(3, "")))
		t.Sleep(time.Second)
		has("two nodes have joined:")
		p.Kill()
		start()
		clienttest.Must(client.Create(t, c, client.Nodes, "", node(4, "")))
		t.Sleep(30 * time.Millisecond)
		has("the controller began again, and a fourth has joined:")
		clienttest.Must(struct{}{}, c.Delete(t, client.Nodes, "", "node-2", metav1.DeleteOptions{}))
		t.Sleep(time.Second)
		has("the second is gone:")
	})
	clienttest.Golden(t, "ranges.txt", b.Transcript(trace.ReconcileAction, trace.EventRecorded, trace.CommandStart))
}

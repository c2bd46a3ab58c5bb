package cloudnode_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"
	upstream "k8s.io/cloud-provider/controllers/node"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/cloudnode"
	provider "kviz/cluster/controller/cloudprovider"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/upstreamtest"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// answer is what a cloud says of one node.
type answer struct {
	meta *provider.Metadata // nil: it does not concern the cloud
	err  error
}

// here is that cloud as kviz' controller asks it, there as upstream's does.
type here map[string]answer

func (h here) Metadata(_ *sim.Task, n *corev1.Node) (*provider.Metadata, error) {
	a := h[n.Name]
	if a.meta == nil {
		return nil, a.err
	}
	m := *a.meta
	m.Addresses = slices.Clone(m.Addresses)
	return &m, a.err
}

// asked is what upstream asks of instances; nobody answers what is not written out below.
type asked interface{ cloudprovider.InstancesV2 }

type there struct {
	cloudprovider.Interface
	asked
	of here
}

func (t there) Instances() (cloudprovider.Instances, bool)     { return nil, false }
func (t there) InstancesV2() (cloudprovider.InstancesV2, bool) { return t, true }
func (t there) InstanceMetadata(_ context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	m, err := t.of.Metadata(nil, n)
	if m == nil {
		return nil, err
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID: m.ProviderID, InstanceType: m.Type, NodeAddresses: m.Addresses, Zone: m.Zone, Region: m.Region, AdditionalLabels: m.Labels,
	}, err
}

func anyAddresses(r *rapid.T, node string) (all []corev1.NodeAddress) {
	if rapid.Bool().Draw(r, "internal") {
		all = append(all, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2"}).Draw(r, "address")})
	}
	if rapid.Bool().Draw(r, "second") {
		all = append(all, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "10.0.0.3"})
	}
	if rapid.Bool().Draw(r, "external") {
		all = append(all, corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "203.0.113.7"})
	}
	if rapid.Bool().Draw(r, "host") {
		all = append(all, corev1.NodeAddress{Type: corev1.NodeHostName, Address: node})
	}
	return all
}

// anyWorld is some nodes, and what the cloud says of them.
func anyWorld(r *rapid.T) (nodes []*corev1.Node, says here) {
	says = here{}
	value := rapid.SampledFrom([]string{"", "a", "b"})
	for i := range rapid.IntRange(1, 3).Draw(r, "nodes") {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i), Labels: map[string]string{"kubernetes.io/hostname": "x"}}}
		for _, k := range []string{
			corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyRegion,
			corev1.LabelInstanceType, corev1.LabelInstanceTypeStable, "example.com/rack",
		} {
			if rapid.IntRange(0, 3).Draw(r, "label") == 0 {
				n.Labels[k] = value.Draw(r, "value")
			}
		}
		if rapid.Bool().Draw(r, "tainted") {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: cloudnode.Taint, Value: "true", Effect: corev1.TaintEffectNoSchedule})
		}
		if rapid.Bool().Draw(r, "other taint") {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "other", Effect: corev1.TaintEffectNoSchedule})
		}
		n.Spec.ProviderID = rapid.SampledFrom([]string{"", "", "kviz://a/x"}).Draw(r, "id")
		n.Status.Addresses = anyAddresses(r, n.Name)
		if ip := rapid.SampledFrom([]string{"", "", "", "10.0.0.1", "10.0.0.3", "10.0.0.1,10.0.0.2", " 10.0.0.1", "10.0.0.1,fd00::1", "nonsense"}).Draw(r, "node ip"); ip != "" {
			n.Annotations = map[string]string{"alpha.kubernetes.io/provided-node-ip": ip}
		}
		nodes = append(nodes, n)
		a := answer{}
		switch rapid.IntRange(0, 5).Draw(r, "answer") {
		case 0:
			a.err = errors.New("instance not found")
		case 1:
			if slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == cloudnode.Taint }) {
				break // nothing; upstream panics where that is said of a node that is initialized
			}
			fallthrough
		default:
			a.meta = &provider.Metadata{
				ProviderID: rapid.SampledFrom([]string{"kviz://a/x", "kviz://a/x", ""}).Draw(r, "says id"), Type: value.Draw(r, "type"), Zone: value.Draw(r, "zone"),
				Region: value.Draw(r, "region"), Addresses: anyAddresses(r, n.Name),
			}
			if rapid.Bool().Draw(r, "more labels") {
				a.meta.Labels = map[string]string{"example.com/rack": "7", "example.com/row": "2", "evil.kubernetes.io/x": "y", "k8s.io/z": "y"}
			}
		}
		says[n.Name] = a
	}
	return nodes, says
}

// upstreams is what upstream's controller writes in eleven minutes, in which it looks at all addresses three times.
func upstreams(t *testing.T, nodes []*corev1.Node, says here) (wrote upstreamtest.NodeWrites) {
	var objs []runtime.Object
	for _, n := range nodes {
		objs = append(objs, n.DeepCopy())
	}
	upstreamtest.Bubble(t, objs, func(_ context.Context, c *fake.Clientset, f informers.SharedInformerFactory) func(context.Context) {
		u, err := upstream.NewCloudNodeController(f.Core().V1().Nodes(), c, there{of: says}, cloudnode.StatusPeriod, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		return func(ctx context.Context) {
			u.RunWithContext(ctx, controllersmetrics.NewControllerManagerMetrics("test"))
		}
	}, func(_ context.Context, c *fake.Clientset) {
		time.Sleep(11 * time.Minute)
		wrote = upstreamtest.NodeWritesOf(c)
	})
	return wrote
}

func start(b *clienttest.Bench, c client.Interface, says cloudnode.Instances) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompCCM})
	f := informer.NewFactory(p, p.Lane, c)
	cloudnode.New(reconcile.NewEnv(p, cloudnode.Name, cloudnode.Source, c, f, 1), says).Start()
	f.Start()
	return p
}

// Of any nodes and whatever the cloud says of them: the same updates, patches and Events.
func TestWritesWhatUpstreamWrites(t *testing.T) {
	upstreamtest.Check(t, "60", func(r *rapid.T) {
		nodes, says := anyWorld(r)
		want := upstreams(t, nodes, says)
		var c *upstreamtest.NodeWriter
		b := clienttest.Run(r, 1, func(b *clienttest.Bench, t *sim.Task) {
			for _, n := range nodes {
				made := clienttest.Must(client.Create(t, b.Client(), client.Nodes, "", n.DeepCopy())).DeepCopy()
				made.Status = n.Status
				clienttest.Must(client.UpdateStatus(t, b.Client(), client.Nodes, "", made))
			}
			c = upstreamtest.NewNodeWriter(b.Client())
			start(b, c, says)
			t.Sleep(11 * time.Minute)
		})
		if got := c.Writes(b.Events); !slices.Equal(want, got) {
			r.Fatalf("upstream:\n%s\nhere:\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
		}
	})
}

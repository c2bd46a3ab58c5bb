package cloudnodelifecycle_test

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
	upstream "k8s.io/cloud-provider/controllers/nodelifecycle"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/cloudnodelifecycle"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/upstreamtest"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// answer is what a cloud says of one node, and what it is asked.
type answer struct {
	exists, off       bool
	existsErr, offErr error
}

// here is that cloud as kviz' controller asks it, there as upstream's does. Both take down what they are asked.
type here struct {
	of    map[string]answer
	asked *[]string
}

func (h here) Exists(_ *sim.Task, n *corev1.Node) (bool, error) {
	*h.asked = append(*h.asked, "exists "+n.Name)
	return h.of[n.Name].exists, h.of[n.Name].existsErr
}

func (h here) Shutdown(_ *sim.Task, n *corev1.Node) (bool, error) {
	*h.asked = append(*h.asked, "off "+n.Name)
	return h.of[n.Name].off, h.of[n.Name].offErr
}

// unheard is what upstream asks of instances; nobody answers what is not written out below.
type unheard interface{ cloudprovider.InstancesV2 }

type there struct {
	cloudprovider.Interface
	unheard
	here
}

func (t there) Instances() (cloudprovider.Instances, bool)     { return nil, false }
func (t there) InstancesV2() (cloudprovider.InstancesV2, bool) { return t, true }
func (t there) InstanceExists(_ context.Context, n *corev1.Node) (bool, error) {
	return t.Exists(nil, n)
}

func (t there) InstanceShutdown(_ context.Context, n *corev1.Node) (bool, error) {
	return t.Shutdown(nil, n)
}

func anyWorld(r *rapid.T) (nodes []*corev1.Node, says map[string]answer) {
	says = map[string]answer{}
	for i := range rapid.IntRange(1, 4).Draw(r, "nodes") {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)}, Spec: corev1.NodeSpec{ProviderID: "kviz://a/x"}}
		if s := rapid.SampledFrom([]corev1.ConditionStatus{"", corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown}).Draw(r, "ready"); s != "" {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse}, {Type: corev1.NodeReady, Status: s}}
		}
		for _, t := range []corev1.Taint{
			{Key: "other", Effect: corev1.TaintEffectNoSchedule},
			{Key: cloudnodelifecycle.Taint, Effect: corev1.TaintEffectNoExecute},
			{Key: cloudnodelifecycle.Taint, Effect: corev1.TaintEffectNoSchedule, Value: rapid.SampledFrom([]string{"", "by-hand"}).Draw(r, "value")},
		} {
			if rapid.Bool().Draw(r, "taint") {
				n.Spec.Taints = append(n.Spec.Taints, t)
			}
		}
		nodes = append(nodes, n)
		maybe := func(what string) error {
			if rapid.IntRange(0, 4).Draw(r, what) == 0 {
				return errors.New("503")
			}
			return nil
		}
		says[n.Name] = answer{rapid.IntRange(0, 2).Draw(r, "exists") > 0, rapid.Bool().Draw(r, "off"), maybe("exists fails"), maybe("off fails")}
	}
	return nodes, says
}

// looks is for how long a controller runs: it looks at the nodes three times.
const looks = 12 * time.Second

func upstreams(t *testing.T, nodes []*corev1.Node, says here) (wrote upstreamtest.NodeWrites) {
	var objs []runtime.Object
	for _, n := range nodes {
		objs = append(objs, n.DeepCopy())
	}
	upstreamtest.Bubble(t, objs, func(_ context.Context, c *fake.Clientset, f informers.SharedInformerFactory) func(context.Context) {
		u, err := upstream.NewCloudNodeLifecycleController(f.Core().V1().Nodes(), c, there{here: says}, cloudnodelifecycle.MonitorPeriod, 1)
		if err != nil {
			t.Fatal(err)
		}
		f.Core().V1().Nodes().Informer() // so that it is started
		return func(ctx context.Context) { u.Run(ctx, controllersmetrics.NewControllerManagerMetrics("test")) }
	}, func(_ context.Context, c *fake.Clientset) {
		time.Sleep(looks)
		wrote = upstreamtest.NodeWritesOf(c)
	})
	return wrote
}

func start(b *clienttest.Bench, c client.Interface, says cloudnodelifecycle.Instances) {
	p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompCCM})
	f := informer.NewFactory(p, p.Lane, c)
	cloudnodelifecycle.New(reconcile.NewEnv(p, cloudnodelifecycle.Name, cloudnodelifecycle.Source, c, f, 1), says).Start()
	f.Start()
}

// Of any nodes and whatever the cloud says of them: the same questions to the cloud, and the same patches, deletions
// and Events.
func TestDoesWhatUpstreamDoes(t *testing.T) {
	upstreamtest.Check(t, "80", func(r *rapid.T) {
		nodes, of := anyWorld(r)
		var theirs, ours []string
		want := upstreams(t, nodes, here{of, &theirs})
		var c *upstreamtest.NodeWriter
		b := clienttest.Run(r, 1, func(b *clienttest.Bench, t *sim.Task) {
			for _, n := range nodes {
				made := clienttest.Must(client.Create(t, b.Client(), client.Nodes, "", n.DeepCopy())).DeepCopy()
				made.Status = n.Status
				clienttest.Must(client.UpdateStatus(t, b.Client(), client.Nodes, "", made))
			}
			c = upstreamtest.NewNodeWriter(b.Client())
			start(b, c, here{of, &ours})
			t.Sleep(looks)
		})
		slices.Sort(theirs) // its lister has no order
		slices.Sort(ours)
		if got := c.Writes(b.Events); !slices.Equal(want, got) || !slices.Equal(theirs, ours) {
			r.Fatalf("upstream:\n%s\n%s\nhere:\n%s\n%s", strings.Join(theirs, ", "), strings.Join(want, "\n"), strings.Join(ours, ", "), strings.Join(got, "\n"))
		}
	})
}

package route_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"
	upstream "k8s.io/cloud-provider/controllers/route"
	"k8s.io/component-base/featuregate"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	provider "kviz/cluster/controller/cloudprovider"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/route"
	"kviz/cluster/controller/upstreamtest"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Upstream asks for this gate, which its programs register, and is off by default.
func init() {
	if err := utilfeature.DefaultMutableFeatureGate.Add(map[featuregate.Feature]featuregate.FeatureSpec{
		"CloudControllerManagerWatchBasedRoutesReconciliation": {Default: false, PreRelease: featuregate.Alpha},
	}); err != nil {
		panic(err)
	}
}

// table is a cloud's table of routes.
type table struct {
	mu     sync.Mutex // upstream's goroutines
	routes []provider.Route
	called []string
	lists  int
	down   int             // at so many of the first lists it does not answer
	stuck  map[string]bool // what cannot be deleted
	full   map[string]bool // what cannot be made
}

func (c *table) list() ([]provider.Route, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lists++; c.lists <= c.down {
		return nil, errors.New("503")
	}
	return slices.Clone(c.routes), nil
}

func (c *table) create(hint string, r provider.Route) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.called = append(c.called, fmt.Sprintf("%d create %s to %s, hint %s", c.lists, r.CIDR, r.Node, hint))
	if c.full[r.CIDR] {
		return errors.New("quota")
	}
	c.routes = append(c.routes, r)
	return nil
}

func (c *table) delete(r provider.Route) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.called = append(c.called, fmt.Sprintf("%d delete %s to %s, %v", c.lists, r.CIDR, r.Node, r.Blackhole))
	if c.stuck[r.CIDR] {
		return errors.New("busy")
	}
	c.routes = slices.DeleteFunc(c.routes, func(o provider.Route) bool { return o == r })
	return nil
}

// here is the table as kviz' controller asks it, there as upstream's does.
type here struct{ *table }

func (h here) ListRoutes(*sim.Task) ([]provider.Route, error)               { return h.list() }
func (h here) CreateRoute(_ *sim.Task, hint string, r provider.Route) error { return h.create(hint, r) }
func (h here) DeleteRoute(_ *sim.Task, r provider.Route) error              { return h.delete(r) }

type there struct{ *table }

func (t there) ListRoutes(context.Context, string) (list []*cloudprovider.Route, err error) {
	routes, err := t.list()
	for _, r := range routes {
		list = append(list, &cloudprovider.Route{Name: r.Name, TargetNode: types.NodeName(r.Node), DestinationCIDR: r.CIDR, Blackhole: r.Blackhole})
	}
	return list, err
}

func mine(r *cloudprovider.Route) provider.Route {
	return provider.Route{Name: r.Name, Node: string(r.TargetNode), CIDR: r.DestinationCIDR, Blackhole: r.Blackhole}
}

func (t there) CreateRoute(_ context.Context, _, hint string, r *cloudprovider.Route) error {
	return t.create(hint, mine(r))
}

func (t there) DeleteRoute(_ context.Context, _ string, r *cloudprovider.Route) error {
	return t.delete(mine(r))
}

// ranges are what nodes and routes have, most of them within the cluster's.
var (
	clusterCIDR = "10.244.0.0/16"
	ranges      = rapid.SampledFrom([]string{"10.244.1.0/24", "10.244.2.0/24", "10.244.3.0/24", "10.244.4.0/24", "10.9.0.0/24", "10.244.0.0/15", "10.240.0.0/12", "nonsense"})
	within      = rapid.SampledFrom([]string{"10.244.1.0/24", "10.244.2.0/24", "10.244.3.0/24", "10.244.4.0/24"})
)

// anyWorld is some nodes, and a function that makes the cloud's table.
func anyWorld(r *rapid.T) (nodes []*corev1.Node, made func() *table) {
	for i := range rapid.IntRange(0, 4).Draw(r, "nodes") {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i), UID: types.UID(fmt.Sprintf("uid-%d", i))}}
		for range rapid.SampledFrom([]int{0, 1, 1, 1, 2}).Draw(r, "ranges") {
			if cidr := within.Draw(r, "range"); !slices.Contains(n.Spec.PodCIDRs, cidr) {
				n.Spec.PodCIDRs = append(n.Spec.PodCIDRs, cidr)
			}
		}
		switch rapid.IntRange(0, 3).Draw(r, "condition") {
		case 0:
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue, Reason: "NoRouteCreated"}}
		case 1:
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, Reason: rapid.SampledFrom([]string{"RouteCreated", "FlannelIsUp"}).Draw(r, "reason")}}
		}
		nodes = append(nodes, n)
	}
	var routes []provider.Route
	for i := range rapid.IntRange(0, 5).Draw(r, "routes") {
		routes = append(routes, provider.Route{
			Name: fmt.Sprintf("r%d", i), Node: rapid.SampledFrom([]string{"", "node-0", "node-1", "node-2", "gone"}).Draw(r, "target"),
			CIDR: ranges.Draw(r, "cidr"), Blackhole: rapid.IntRange(0, 4).Draw(r, "blackhole") == 0,
		})
	}
	down := rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(r, "down")
	stuck, full := map[string]bool{}, map[string]bool{}
	if rapid.Bool().Draw(r, "some stuck") {
		stuck[ranges.Draw(r, "stuck")] = true
	}
	if rapid.Bool().Draw(r, "some full") {
		full[within.Draw(r, "full")] = true
	}
	return nodes, func() *table { return &table{routes: slices.Clone(routes), down: down, stuck: stuck, full: full} }
}

// looks is for how long a controller runs: it looks at the routes three times.
const looks = 25 * time.Second

func upstreams(t *testing.T, nodes []*corev1.Node, routes *table) (wrote upstreamtest.NodeWrites) {
	var objs []runtime.Object
	for _, n := range nodes {
		objs = append(objs, n.DeepCopy())
	}
	_, cidr, err := net.ParseCIDR(clusterCIDR)
	if err != nil {
		t.Fatal(err)
	}
	upstreamtest.Bubble(t, objs, func(_ context.Context, c *fake.Clientset, f informers.SharedInformerFactory) func(context.Context) {
		u, err := upstream.New(there{routes}, c, f.Core().V1().Nodes(), "kubernetes", []*net.IPNet{cidr})
		if err != nil {
			t.Fatal(err)
		}
		return func(ctx context.Context) {
			u.Run(ctx, route.Period, controllersmetrics.NewControllerManagerMetrics("test"))
		}
	}, func(_ context.Context, c *fake.Clientset) {
		time.Sleep(looks)
		wrote = upstreamtest.NodeWritesOf(c)
	})
	return wrote
}

func start(b *clienttest.Bench, c client.Interface, routes route.Routes) {
	p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompCCM})
	f := informer.NewFactory(p, p.Lane, c)
	route.New(reconcile.NewEnv(p, route.Name, route.Source, c, f, 1), routes, netip.MustParsePrefix(clusterCIDR)).Start()
	f.Start()
}

// Of any nodes and any table of routes: the same calls to the cloud at each look, and the same conditions and Events.
func TestDoesWhatUpstreamDoes(t *testing.T) {
	upstreamtest.Check(t, "80", func(r *rapid.T) {
		nodes, made := anyWorld(r)
		theirs, ours := made(), made()
		var c *upstreamtest.NodeWriter
		b := clienttest.Run(r, 1, func(b *clienttest.Bench, t *sim.Task) {
			for _, n := range nodes {
				made := clienttest.Must(client.Create(t, b.Client(), client.Nodes, "", n.DeepCopy())).DeepCopy()
				n.UID = made.UID // so that the hints are the same
				made.Status = n.Status
				clienttest.Must(client.UpdateStatus(t, b.Client(), client.Nodes, "", made))
			}
			c = upstreamtest.NewNodeWriter(b.Client())
			start(b, c, here{ours})
			t.Sleep(looks)
		})
		want, got := upstreams(t, nodes, theirs), c.Writes(b.Events)
		slices.Sort(theirs.called) // each is made by a goroutine of its own
		slices.Sort(ours.called)
		if !slices.Equal(want, got) || !slices.Equal(theirs.called, ours.called) {
			r.Fatalf("upstream:\n%s\n%s\nhere:\n%s\n%s", strings.Join(theirs.called, "\n"), strings.Join(want, "\n"), strings.Join(ours.called, "\n"), strings.Join(got, "\n"))
		}
	})
}

package endpointslice

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientset "k8s.io/client-go/kubernetes"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	upstream "k8s.io/endpointslice"
	upstreamutil "k8s.io/endpointslice/util"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/services/servicestest"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/raftstore/steady"
)

// The slices are those that Kubernetes' own reconciler (k8s.io/endpointslice)
// writes: from the same pods and the same slices it makes as many creations,
// updates and deletions, and ends with the same endpoints in slices of the same
// sizes. Which endpoint is in which slice it leaves to a hash map, and so
// differs from itself.
func TestReconcilerIsUpstreams(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
			lister := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
			for i := range 3 {
				node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i)}}
				if i > 0 {
					node.Labels = map[string]string{corev1.LabelTopologyZone: fmt.Sprint("zone-", i)}
				}
				if _, err := client.Create(task, b.Client(), client.Nodes, "", node); err != nil {
					r.Fatal(err)
				}
				if err := lister.Add(node); err != nil {
					r.Fatal(err)
				}
			}
			f := informer.NewFactory(task.Process(), task.Lane(), b.Client())
			c := New(reconcile.NewEnv(task.Process(), Name, Source, b.Client(), f, 1))
			f.Start()
			c.nodes.WaitForSync(task)

			var have []*discoveryv1.EndpointSlice
			made := 0
			for round := range rapid.IntRange(1, 4).Draw(r, "rounds") {
				svc, behind := servicestest.Service(r, round), servicestest.Pods(r, round)
				mine := c.planOf(r, svc, behind, have)
				theirs := &recorder{}
				rec := upstream.NewReconciler(theirs, corelisters.NewNodeLister(lister), MaxEndpoints, upstreamutil.NewEndpointSliceTracker(), nil, nil, ManagedBy)
				if err := rec.Reconcile(klog.Background(), svc, behind, copies(have), time.Time{}); err != nil {
					r.Fatal(err)
				}
				after := mine.applied(have)
				if got, want := mine.String()+contents(after), theirs.String()+contents(theirs.applied(have)); got != want {
					r.Fatalf("round %d\ngot      %s\nupstream %s", round, got, want)
				}
				have = after
				for _, s := range have {
					if s.Name == "" {
						made++
						s.Name, s.UID = fmt.Sprintf("%s%d", s.GenerateName, made), types.UID(fmt.Sprint("slice-", made))
					}
				}
			}
		})
	})
}

func (c *Controller) planOf(r *rapid.T, svc *corev1.Service, behind []*corev1.Pod, have []*discoveryv1.EndpointSlice) *plan {
	p, err := c.planFamily(svc, behind, copies(have), discoveryv1.AddressTypeIPv4)
	if err != nil {
		r.Fatal(err)
	}
	p.reuse(svc)
	return p
}

func copies(list []*discoveryv1.EndpointSlice) (out []*discoveryv1.EndpointSlice) {
	for _, s := range list {
		out = append(out, s.DeepCopy())
	}
	return out
}

// recorder stands for the API server of upstream's reconciler.
type recorder struct {
	clientset.Interface
	discoveryclient.DiscoveryV1Interface
	discoveryclient.EndpointSliceInterface
	plan
}

func (w *recorder) DiscoveryV1() discoveryclient.DiscoveryV1Interface { return w }

func (w *recorder) EndpointSlices(string) discoveryclient.EndpointSliceInterface { return w }

func (w *recorder) Create(_ context.Context, s *discoveryv1.EndpointSlice, _ metav1.CreateOptions) (*discoveryv1.EndpointSlice, error) {
	w.create = append(w.create, s)
	return s, nil
}

func (w *recorder) Update(_ context.Context, s *discoveryv1.EndpointSlice, _ metav1.UpdateOptions) (*discoveryv1.EndpointSlice, error) {
	w.update = append(w.update, s)
	return s, nil
}

func (w *recorder) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	w.remove = append(w.remove, &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: name}})
	return nil
}

func (p *plan) String() string {
	return fmt.Sprintf("%d created, %d updated, %d deleted: ", len(p.create), len(p.update), len(p.remove))
}

// applied is what there is after the plan.
func (p *plan) applied(have []*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	named := func(name string) func(*discoveryv1.EndpointSlice) bool {
		return func(s *discoveryv1.EndpointSlice) bool { return s.Name == name }
	}
	out := copies(have)
	for _, s := range p.remove {
		out = slices.DeleteFunc(out, named(s.Name))
	}
	for _, s := range p.update {
		out[slices.IndexFunc(out, named(s.Name))] = s.DeepCopy()
	}
	return append(out, copies(p.create)...)
}

// contents are the sizes and labels of slices, and all their endpoints, by ports.
func contents(list []*discoveryv1.EndpointSlice) string {
	var lines []string
	for _, s := range list {
		ports := ""
		for _, p := range s.Ports {
			ports += fmt.Sprint(*p.Name, *p.Port, " ")
		}
		lines = append(lines, fmt.Sprintf("slice of %s: %d endpoints, %v", ports, len(s.Endpoints), s.Labels))
		for i := range s.Endpoints {
			b, err := json.Marshal(s.Endpoints[i])
			if err != nil {
				panic(err)
			}
			lines = append(lines, ports+" "+string(b))
		}
	}
	slices.Sort(lines)
	return fmt.Sprint(lines)
}

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
	"k8s.io/apimachinery/pkg/util/intstr"
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
	"kviz/cluster/informer"
	"kviz/cluster/sim"
)

// The slices are those that Kubernetes' own reconciler (k8s.io/endpointslice)
// writes: from the same pods and the same slices it makes as many creations,
// updates and deletions, and ends with the same endpoints in slices of the same
// sizes. Which endpoint is in which slice it leaves to a hash map, and so
// differs from itself.
func TestReconcilerIsUpstreams(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
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
				svc, behind := anyService(r, round), anyPods(r, round)
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
		ports := portKey(s.Ports)
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

func anyService(r *rapid.T, round int) *corev1.Service {
	draw := func(what string, most int) int { return rapid.IntRange(0, most).Draw(r, fmt.Sprint(what, " ", round)) }
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web", UID: "web-uid"}}
	svc.Spec.ClusterIP, svc.Spec.IPFamilies = "10.96.0.10", []corev1.IPFamily{corev1.IPv4Protocol}
	if draw("headless", 3) == 0 {
		svc.Spec.ClusterIP = corev1.ClusterIPNone
	}
	svc.Spec.PublishNotReadyAddresses = draw("publish not ready", 4) == 0
	svc.Spec.Ports = []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(8080)}}
	if draw("named port", 1) == 0 {
		svc.Spec.Ports[0].TargetPort = intstr.FromString("http")
	}
	if draw("two ports", 3) == 0 {
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "metrics", Protocol: corev1.ProtocolTCP, Port: 9090, TargetPort: intstr.FromInt32(9090)})
	}
	if draw("labelled", 2) == 0 {
		svc.Labels = map[string]string{"team": fmt.Sprint(draw("team", 1))}
	}
	return svc
}

func anyPods(r *rapid.T, round int) (out []*corev1.Pod) {
	most := rapid.SampledFrom([]int{0, 3, 12, 100, 105, 230}).Draw(r, fmt.Sprint("pods at most ", round))
	absent := rapid.IntRange(0, 4).Draw(r, fmt.Sprint("absent, of 5, ", round))
	salt := rapid.Uint64().Draw(r, fmt.Sprint("salt ", round))
	for i := range most {
		h := (uint64(i) + salt) * 0x9e3779b97f4a7c15 >> 32
		pick := func(n uint64) uint64 { v := h % n; h /= n; return v }
		if int(pick(5)) < absent {
			continue
		}
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: fmt.Sprintf("web-%03d", i), UID: types.UID(fmt.Sprint("pod-", i))}}
		p.Spec.NodeName = fmt.Sprint("node-", i%3)
		p.Status.Phase = corev1.PodRunning
		p.Status.PodIP = fmt.Sprintf("10.244.%d.%d", i%3, i)
		p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
		p.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "http", Protocol: corev1.ProtocolTCP, ContainerPort: int32(8080 + i%2)}}}}
		if pick(3) > 0 {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		if pick(6) == 0 {
			now := metav1.Now()
			p.DeletionTimestamp = &now
		}
		switch pick(12) {
		case 0:
			p.Status.Phase = corev1.PodFailed
		case 1:
			p.Status.PodIP, p.Status.PodIPs = "", nil
		case 2:
			p.Spec.Hostname, p.Spec.Subdomain = fmt.Sprint("host-", i), "web"
		case 3:
			p.Spec.Containers[0].Ports = nil
		}
		out = append(out, p)
	}
	return out
}

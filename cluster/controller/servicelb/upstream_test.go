package servicelb_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientset "k8s.io/client-go/kubernetes"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	upstream "k8s.io/cloud-provider/controllers/service"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/upstreamtest"
	"kviz/cluster/sim"
)

// said is what a controller did, in order: calls to the cloud, patches and Events.
type said []string

func (s *said) add(format string, args ...any) { *s = append(*s, fmt.Sprintf(format, args...)) }

// answers is a cloud that answers at once, and refuses one call.
type answers struct {
	refuses string // "ensure", "update", "delete", "get", or ""
	has     bool
}

var errRefused = errors.New("refused")

func (a *answers) answer(call string) error {
	if a.refuses == call {
		return errRefused
	}
	return nil
}

func status() *corev1.LoadBalancerStatus {
	return &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "203.0.113.1"}}}
}

func listed(nodes []*corev1.Node) string {
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// here is that cloud as kviz' controller asks it.
type here struct {
	*answers
	said *said
}

func (h here) Get(*sim.Task, *corev1.Service) (*corev1.LoadBalancerStatus, error) {
	h.said.add("get")
	if err := h.answer("get"); err != nil || !h.has {
		return nil, err
	}
	return status(), nil
}

func (h here) Ensure(_ *sim.Task, _ *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	h.said.add("ensure %s", listed(nodes))
	if err := h.answer("ensure"); err != nil {
		return nil, err
	}
	h.has = true
	return status(), nil
}

func (h here) Update(_ *sim.Task, _ *corev1.Service, nodes []*corev1.Node) error {
	h.said.add("update %s", listed(nodes))
	return h.answer("update")
}

func (h here) Delete(*sim.Task, *corev1.Service) error {
	h.said.add("delete")
	if err := h.answer("delete"); err != nil {
		return err
	}
	h.has = false
	return nil
}

// there is the same cloud as upstream's asks it.
type there struct {
	cloudprovider.Interface
	here
}

func (t there) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	return balancers{here: t.here}, true
}

// balancers are its load balancers.
type balancers struct {
	cloudprovider.LoadBalancer
	here
}

func (t balancers) GetLoadBalancer(context.Context, string, *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	s, err := t.Get(nil, nil)
	return s, s != nil, err
}

func (t balancers) EnsureLoadBalancer(_ context.Context, _ string, _ *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	return t.Ensure(nil, nil, nodes)
}

func (t balancers) UpdateLoadBalancer(_ context.Context, _ string, _ *corev1.Service, nodes []*corev1.Node) error {
	return t.Update(nil, nil, nodes)
}

func (t balancers) EnsureLoadBalancerDeleted(context.Context, string, *corev1.Service) error {
	return t.Delete(nil, nil)
}

// kube takes what upstream's controller writes.
type kube struct {
	clientset.Interface
	said *said
}

type (
	core struct {
		coreclient.CoreV1Interface
		kube
	}
	services struct {
		coreclient.ServiceInterface
		kube
	}
	events struct {
		coreclient.EventInterface
		kube
	}
)

func (k kube) CoreV1() coreclient.CoreV1Interface          { return core{kube: k} }
func (c core) Services(string) coreclient.ServiceInterface { return services{kube: c.kube} }
func (c core) Events(string) coreclient.EventInterface     { return events{kube: c.kube} }
func (s services) Patch(_ context.Context, _ string, _ types.PatchType, patch []byte, _ metav1.PatchOptions, sub ...string) (*corev1.Service, error) {
	s.said.add("patch %s %s", strings.Join(sub, ""), patch)
	return nil, nil
}

func (events) CreateWithEventNamespace(e *corev1.Event) (*corev1.Event, error) { return e, nil }

func (events) CreateWithEventNamespaceWithContext(_ context.Context, e *corev1.Event) (*corev1.Event, error) {
	return e, nil
}

// kept is a cache whose handlers a test calls, with a period of their own.
type kept struct{ *upstreamtest.Cache }

func (i kept) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}
func (i kept) Informer() cache.SharedIndexInformer { return i }

type (
	serviceInformer struct{ kept }
	nodeInformer    struct{ kept }
)

func (i serviceInformer) Lister() corelisters.ServiceLister {
	return corelisters.NewServiceLister(i.Indexer)
}
func (i nodeInformer) Lister() corelisters.NodeLister { return corelisters.NewNodeLister(i.Indexer) }

// world is what there is when a controller starts.
type world struct {
	svc     *corev1.Service
	nodes   []*corev1.Node
	has     bool
	refuses string
}

func anyWorld(r *rapid.T) world {
	w := world{svc: web(), has: rapid.Bool().Draw(r, "has"), refuses: rapid.SampledFrom([]string{"", "", "ensure", "delete", "get"}).Draw(r, "refuses")}
	w.svc.UID = "5a1c"
	switch rapid.IntRange(0, 3).Draw(r, "type") {
	case 0:
		w.svc.Spec.Type = corev1.ServiceTypeClusterIP
	case 1:
		class := "example.com/metal"
		w.svc.Spec.LoadBalancerClass = &class
	}
	if rapid.Bool().Draw(r, "finalizer") {
		w.svc.Finalizers = []string{"service.kubernetes.io/load-balancer-cleanup"}
		if rapid.Bool().Draw(r, "deleting") {
			at := metav1.NewTime(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
			w.svc.DeletionTimestamp = &at
		}
	}
	if rapid.Bool().Draw(r, "addressed") {
		w.svc.Status.LoadBalancer = *status()
	}
	for i := range rapid.IntRange(0, 4).Draw(r, "nodes") {
		n := node(i + 1)
		switch rapid.IntRange(0, 5).Draw(r, "node") {
		case 0:
			n.Labels[corev1.LabelNodeExcludeBalancers] = rapid.SampledFrom([]string{"", "true", "false", "maybe"}).Draw(r, "label")
		case 1:
			n.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule}}
		}
		w.nodes = append(w.nodes, n)
	}
	return w
}

// theirs is upstream's controller in a world, before it runs.
func theirs(t *testing.T, w world, did *said) *upstream.Controller {
	svcs, nodes := serviceInformer{kept{upstreamtest.NewCache()}}, nodeInformer{kept{upstreamtest.NewCache()}}
	svcs.Hold(w.svc)
	for _, n := range w.nodes {
		_ = nodes.Indexer.Add(n)
	}
	c, err := upstream.New(there{here: here{&answers{w.refuses, w.has}, did}}, kube{said: did}, svcs, nodes, "kviz", nil)
	if err != nil {
		t.Fatal(err)
	}
	svcs.Came(w.svc)
	return c
}

// upstreams is what upstream's controller does about the world in its first second.
func upstreams(t *testing.T, w world) (did said) {
	synctest.Test(t, func(t *testing.T) {
		c := theirs(t, w, &did)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.Run(ctx, 1, controllersmetrics.NewControllerManagerMetrics("test"))
		}()
		time.Sleep(time.Second)
		cancel()
		<-done
		time.Sleep(time.Second) // for what looks at the queues now and then
	})
	return did
}

// Of any Service, nodes and cloud: the same calls with the same nodes and the same patches, in
// the same order.
func TestDoesWhatUpstreamDoes(t *testing.T) {
	klog.SetLogger(klog.New(nil)) // upstream tells of every step
	defer klog.ClearLogger()
	handlers := utilruntime.ErrorHandlers // they wait by the clock, of which each bubble has its own
	utilruntime.ErrorHandlers = nil
	defer func() { utilruntime.ErrorHandlers = handlers }()
	upstreamtest.Check(t, "60", func(r *rapid.T) {
		w := anyWorld(r)
		want := upstreams(t, w)
		var did said
		clienttest.Run(r, 1, func(b *clienttest.Bench, t *sim.Task) {
			c := recorder{b.Client(), &did}
			for _, n := range w.nodes {
				clienttest.Must(client.Create(t, b.Client(), client.Nodes, "", n.DeepCopy()))
			}
			svc := w.svc.DeepCopy()
			svc.DeletionTimestamp = nil
			svc = clienttest.Must(client.Create(t, b.Client(), client.Services, "demo", svc)).DeepCopy()
			svc.Status = w.svc.Status
			clienttest.Must(client.UpdateStatus(t, b.Client(), client.Services, "demo", svc))
			if w.svc.DeletionTimestamp != nil {
				clienttest.Must(struct{}{}, b.Client().Delete(t, client.Services, "demo", "web", metav1.DeleteOptions{}))
			}
			start(b, c, here{&answers{w.refuses, w.has}, &did})
			t.Sleep(time.Second)
		})
		if !slices.Equal(want, did) {
			r.Fatalf("upstream:\n%s\nhere:\n%s", strings.Join(want, "\n"), strings.Join(did, "\n"))
		}
	})
}

// recorder takes down what a controller patches of Services.
type recorder struct {
	client.Interface
	said *said
}

func (c recorder) Patch(t *sim.Task, r client.Resource, namespace, name string, kind types.PatchType, patch []byte, sub string) (runtime.Object, error) {
	if r == client.Services {
		c.said.add("patch %s %s", sub, patch)
	}
	return c.Interface.Patch(t, r, namespace, name, kind, patch, sub)
}

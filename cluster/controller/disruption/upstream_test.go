package disruption_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/discovery"
	clientset "k8s.io/client-go/kubernetes"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	policyclient "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/client-go/scale"
	"k8s.io/klog/v2"
	upstream "k8s.io/kubernetes/pkg/controller/disruption"
	testingclock "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/upstreamtest"
	"kviz/cluster/sim"
)

// kube takes the statuses that upstream's controller writes, as Kubernetes' connection.
type kube struct {
	clientset.Interface
	wrote chan *policyv1.PodDisruptionBudget
}

type (
	core    struct{ coreclient.CoreV1Interface }
	events  struct{ coreclient.EventInterface }
	budgets struct {
		policyclient.PodDisruptionBudgetInterface
		kube
	}
	policies struct {
		policyclient.PolicyV1Interface
		kube
	}
	scales struct {
		scale.ScaleInterface
		uids map[string]types.UID
	}
	scaleOfAll struct{ uids map[string]types.UID }
	served     struct{ discovery.DiscoveryInterface }
)

func (k kube) CoreV1() coreclient.CoreV1Interface       { return core{} }
func (k kube) PolicyV1() policyclient.PolicyV1Interface { return policies{kube: k} }
func (core) Events(string) coreclient.EventInterface    { return events{} }
func (events) CreateWithEventNamespace(e *corev1.Event) (*corev1.Event, error) {
	return e, nil
}

func (events) PatchWithEventNamespace(e *corev1.Event, _ []byte) (*corev1.Event, error) {
	return e, nil
}

func (p policies) PodDisruptionBudgets(string) policyclient.PodDisruptionBudgetInterface {
	return budgets{kube: p.kube}
}

func (b budgets) UpdateStatus(_ context.Context, pdb *policyv1.PodDisruptionBudget, _ metav1.UpdateOptions) (*policyv1.PodDisruptionBudget, error) {
	b.wrote <- pdb
	return pdb, nil
}

func (s scaleOfAll) Scales(string) scale.ScaleInterface { return scales{uids: s.uids} }

func (s scales) Get(_ context.Context, r schema.GroupResource, name string, _ metav1.GetOptions) (*autoscalingv1.Scale, error) {
	if uid, ok := s.uids[r.Resource+"/"+name]; ok {
		return &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}}, nil
	}
	return nil, apierrors.NewNotFound(r, name)
}

func (served) ServerResourcesForGroupVersion(string) (*metav1.APIResourceList, error) {
	return &metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "jobs"}, {Name: "jobs/status"}}}, nil
}

// Of any budget, pods and owners of them, both controllers write the same status, or
// neither writes one.
func TestStatusIsUpstreams(t *testing.T) {
	upstreamtest.Check(t, "60", func(r *rapid.T) {
		s := anySample(r)
		var was, is *policyv1.PodDisruptionBudget
		var now time.Time
		caches := map[client.Resource]*upstreamtest.Cache{}
		kinds := []client.Resource{client.Pods, client.PodDisruptionBudgets, client.ReplicationControllers, client.ReplicaSets, client.Deployments, client.StatefulSets}
		clienttest.Run(r, 1, func(b *clienttest.Bench, t *sim.Task) {
			s.create(b, t)
			was = b.Object(client.PodDisruptionBudgets, "demo", "web").(*policyv1.PodDisruptionBudget)
			for _, k := range kinds {
				caches[k] = upstreamtest.NewCache()
				caches[k].Hold(b.Objects(k)...)
			}
			now = t.Now()
			start(b)
			t.Sleep(time.Second)
			is = b.Object(client.PodDisruptionBudgets, "demo", "web").(*policyv1.PodDisruptionBudget)
		})
		if want := upstreams(r, caches, was, now); text(want) != text(is) {
			r.Fatalf("-upstream +here:\n%s", cmp.Diff(text(want), text(is)))
		}
	})
}

// upstreams is the budget after a sync of upstream's controller.
func upstreams(r *rapid.T, caches map[client.Resource]*upstreamtest.Cache, web *policyv1.PodDisruptionBudget, now time.Time) *policyv1.PodDisruptionBudget {
	k := kube{wrote: make(chan *policyv1.PodDisruptionBudget)}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{batchv1.SchemeGroupVersion})
	mapper.Add(client.Jobs.GVK(), meta.RESTScopeNamespace)
	mapper.Add(client.ReplicaSets.GVK(), meta.RESTScopeNamespace)
	scale := scaleOfAll{map[string]types.UID{}}
	for _, obj := range caches[client.ReplicaSets].Indexer.List() {
		rs := obj.(*appsv1.ReplicaSet)
		scale.uids["replicasets/"+rs.Name] = rs.UID
	}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
	ended := make(chan struct{})
	defer func() { cancel(); <-ended }()
	// A budget whose status is always written comes last: then the other one was synced.
	last := web.DeepCopy()
	last.Name, last.Status = "zz-last", policyv1.PodDisruptionBudgetStatus{}
	if err := caches[client.PodDisruptionBudgets].Indexer.Add(last); err != nil {
		r.Fatal(err)
	}
	c := upstream.NewDisruptionControllerInternal(ctx, upstreamtest.Pods{Cache: caches[client.Pods]}, upstreamtest.Budgets{Cache: caches[client.PodDisruptionBudgets]},
		upstreamtest.Controllers{Cache: caches[client.ReplicationControllers]}, upstreamtest.ReplicaSets{Cache: caches[client.ReplicaSets]},
		upstreamtest.Deployments{Cache: caches[client.Deployments]}, upstreamtest.StatefulSets{Cache: caches[client.StatefulSets]},
		k, mapper, scale, served{}, testingclock.NewFakeClock(now), upstream.DeletionTimeout)
	caches[client.PodDisruptionBudgets].Came(web)
	caches[client.PodDisruptionBudgets].Came(last)
	go func() { c.Run(ctx, 1); close(ended) }()
	if wrote := <-k.wrote; wrote.Name == web.Name {
		<-k.wrote
		return wrote
	}
	return web
}

// onePod is the pod that upstream happens to meet first.
var onePod = regexp.MustCompile(`pod "web-[0-9]"`)

// text is a budget's status without what differs from run to run upstream: the times, which
// are the machine's, and which of several pods is named.
func text(b *policyv1.PodDisruptionBudget) string {
	st := b.Status.DeepCopy()
	for i := range st.Conditions {
		st.Conditions[i].LastTransitionTime = metav1.Time{}
		st.Conditions[i].Message = onePod.ReplaceAllString(st.Conditions[i].Message, "a pod")
	}
	data, err := json.MarshalIndent(st, "", " ")
	if err != nil {
		panic(err)
	}
	return string(data)
}

// sample is a budget, its pods, and their owners.
type sample struct {
	owners  []runtime.Object // those above come first
	pods    []*corev1.Pod
	budget  *policyv1.PodDisruptionBudget
	evicted map[string]time.Duration // how long ago, by pod
}

func anySample(r *rapid.T) *sample {
	replicas := func(what string) *int32 { n := rapid.Int32Range(0, 5).Draw(r, what); return &n }
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "demo", Name: name} }
	s := &sample{evicted: map[string]time.Duration{}}
	d := &appsv1.Deployment{ObjectMeta: named("deploy"), Spec: appsv1.DeploymentSpec{Replicas: replicas("deployment")}}
	s.owners = append(s.owners, d)
	var refs []*metav1.OwnerReference
	for _, name := range []string{"deploy-1", "deploy-2", "bare"} {
		rs := &appsv1.ReplicaSet{ObjectMeta: named(name), Spec: appsv1.ReplicaSetSpec{Replicas: replicas(name)}}
		if name != "bare" {
			rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, client.Deployments.GVK())}
		}
		s.owners, refs = append(s.owners, rs), append(refs, metav1.NewControllerRef(rs, client.ReplicaSets.GVK()))
	}
	rc := &corev1.ReplicationController{ObjectMeta: named("rc"), Spec: corev1.ReplicationControllerSpec{Replicas: replicas("rc")}}
	sts := &appsv1.StatefulSet{ObjectMeta: named("sts"), Spec: appsv1.StatefulSetSpec{Replicas: replicas("sts")}}
	s.owners = append(s.owners, rc, sts)
	refs = append(refs, metav1.NewControllerRef(rc, client.ReplicationControllers.GVK()), metav1.NewControllerRef(sts, client.StatefulSets.GVK()))
	// Another of the same name, what has no scale, and what nobody knows. Upstream names
	// the first that it meets, in any order, so there is one sort of them in a sample.
	gone := *refs[2]
	gone.UID = "gone"
	odd := rapid.SampledFrom([]metav1.OwnerReference{
		gone,
		{APIVersion: "batch/v1", Kind: "Job", Name: "once", UID: "once", Controller: refs[0].Controller},
		{APIVersion: "example.com/v1", Kind: "Widget", Name: "w", UID: "w", Controller: refs[0].Controller},
	}).Draw(r, "odd")

	s.budget = &policyv1.PodDisruptionBudget{ObjectMeta: named("web")}
	s.budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	amount := rapid.SampledFrom([]intstr.IntOrString{intstr.FromInt32(0), intstr.FromInt32(1), intstr.FromInt32(3), intstr.FromString("0%"), intstr.FromString("25%"), intstr.FromString("50%"), intstr.FromString("100%")}).Draw(r, "amount")
	if rapid.Bool().Draw(r, "maxUnavailable") {
		s.budget.Spec.MaxUnavailable = &amount
	} else {
		s.budget.Spec.MinAvailable = &amount
	}
	n := func(what string) int32 { return rapid.Int32Range(0, 3).Draw(r, what) }
	s.budget.Status = policyv1.PodDisruptionBudgetStatus{
		CurrentHealthy: n("was healthy"), DesiredHealthy: n("was desired"), ExpectedPods: n("was expected"), DisruptionsAllowed: n("was allowed"),
		ObservedGeneration: int64(n("observed") % 2),
	}
	if rapid.Bool().Draw(r, "condition") {
		s.budget.Status.Conditions = []metav1.Condition{{
			Type: policyv1.DisruptionAllowedCondition, Status: rapid.SampledFrom([]metav1.ConditionStatus{"True", "False"}).Draw(r, "was"),
			Reason:  rapid.SampledFrom([]string{policyv1.SufficientPodsReason, policyv1.InsufficientPodsReason, policyv1.SyncFailedReason}).Draw(r, "reason"),
			Message: rapid.SampledFrom([]string{"", "before"}).Draw(r, "message"), LastTransitionTime: metav1.Unix(1, 0),
		}}
	}
	for i := range rapid.IntRange(0, 6).Draw(r, "pods") {
		draw := func(what string, most int) int { return rapid.IntRange(0, most).Draw(r, fmt.Sprint(what, " ", i)) }
		p := &corev1.Pod{ObjectMeta: named(fmt.Sprint("web-", i))}
		p.Labels = map[string]string{"app": "web"}
		switch draw("owner", 19) {
		case 0:
		case 1:
			p.OwnerReferences = []metav1.OwnerReference{odd}
		default:
			p.OwnerReferences = []metav1.OwnerReference{*refs[draw("of", len(refs)-1)]}
		}
		if draw("other", 9) == 0 {
			p.Labels["app"] = "other"
		}
		if draw("ready", 3) > 0 {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		if draw("deleted", 5) == 0 {
			p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		}
		if draw("noted", 2) == 0 {
			s.evicted[p.Name] = time.Duration(draw("since", 4)*50+15) * time.Second
		}
		s.pods = append(s.pods, p)
	}
	return s
}

// create makes the objects, each reference with the UID that its owner got.
func (s *sample) create(b *clienttest.Bench, t *sim.Task) {
	uids := map[string]types.UID{}
	create := func(r client.Resource, obj runtime.Object) {
		m := obj.(metav1.Object)
		for i, ref := range m.GetOwnerReferences() {
			if ref.UID == "" {
				m.GetOwnerReferences()[i].UID = uids[ref.Name]
			}
		}
		made := clienttest.Must(b.Client().Create(t, r, "demo", obj)).(metav1.Object)
		uids[made.GetName()] = made.GetUID()
	}
	for _, o := range s.owners {
		switch o.(type) {
		case *appsv1.StatefulSet:
			create(client.StatefulSets, o)
		default:
			r, _ := client.ResourceOf(o)
			create(r, o)
		}
	}
	for name, since := range s.evicted {
		if s.budget.Status.DisruptedPods == nil {
			s.budget.Status.DisruptedPods = map[string]metav1.Time{"none": metav1.NewTime(t.Now())}
		}
		s.budget.Status.DisruptedPods[name] = metav1.NewTime(t.Now().Add(-since).Truncate(time.Second))
	}
	for _, p := range s.pods {
		create(client.Pods, p)
	}
	create(client.PodDisruptionBudgets, s.budget)
}

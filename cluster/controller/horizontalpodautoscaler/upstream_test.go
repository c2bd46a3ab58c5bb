package horizontalpodautoscaler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"testing"
	"testing/synctest"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	autoscalingclient "k8s.io/client-go/kubernetes/typed/autoscaling/v2"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	autoscalinglisters "k8s.io/client-go/listers/autoscaling/v2"
	scaleclient "k8s.io/client-go/scale"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	upstream "k8s.io/kubernetes/pkg/controller/podautoscaler"
	upstreammetrics "k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	"k8s.io/kubernetes/pkg/controller/util/consistency"
	custom "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	external "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metrics "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	hpa "kviz/cluster/controller/horizontalpodautoscaler"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/upstreamtest"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

//go:linkname reconcileKey k8s.io/kubernetes/pkg/controller/podautoscaler.(*HorizontalController).reconcileKey
func reconcileKey(a *upstream.HorizontalController, ctx context.Context, key string) (deleted bool, err error)

// Through any story of pods, values, targets and specs, both controllers write the same scales
// and statuses, tell the same Events and end with the same errors at every run, minutes of recommendations and of scale
// events in mind.
func TestRunsAreUpstreams(t *testing.T) {
	upstreamtest.Check(t, "40", func(r *rapid.T) {
		runs := ours(r, anyStory(r))
		if len(runs) == 0 {
			r.Fatal("no run")
		}
		told := 0
		for i, theirs := range upstreams(t, runs) {
			if told += len(theirs.Events); told > recorded {
				theirs.Events, runs[i].out.Events = nil, nil
			}
			if diff := cmp.Diff(theirs, runs[i].out); diff != "" {
				in, _ := json.MarshalIndent(runs[i].hpa.Spec, "", " ")
				r.Fatalf("run %d of %d at %s: -upstream +here:\n%s\n%s", i+1, len(runs), runs[i].at, diff, in)
			}
		}
	})
}

// recorded is how many Events are compared of a story. Of more our recorder, which is not upstream's
// controller's concern, combines some and drops others.
const recorded = 10

// outcome is what one run does.
type outcome struct {
	Scaled []int32 // what it writes into the scale
	Status string
	Events []string
	Err    string
}

// oneRun is a run of our controller with everything that it looks at.
type oneRun struct {
	at     time.Duration // since the story began
	hpa    *autoscalingv2.HorizontalPodAutoscaler
	pods   []runtime.Object
	scale  *autoscalingv1.Scale
	values values
	out    outcome
}

// values are those of all metrics.
type values struct {
	pods   []podValue
	object *string
	queue  []string
}

// podValue is what a pod uses; of a sidecar too, where that is not "".
type podValue struct {
	name, cpu, memory, sidecar string
	requests                   string // the metric
	measured, window           time.Duration
	at                         time.Time
}

// scene is one part of a story.
type scene struct {
	pods     []podState
	values   values
	replicas *int32 // nil: as it is
	reported int32
	spec     *autoscalingv2.HorizontalPodAutoscalerSpec // nil: as it is
	wait     time.Duration
}

type podState struct {
	name           string
	phase          corev1.PodPhase
	ready          *bool
	started, since time.Duration // how long ago
	gone, noStart  bool
	requests       string
	whole          bool // it has requests of its own
}

func anyStory(r *rapid.T) (story []scene) {
	n := func(what string, least, most int) int { return rapid.IntRange(least, most).Draw(r, what) }
	for i := range n("scenes", 2, 10) {
		s := scene{reported: int32(n("reported", 0, 8)), wait: time.Duration(n("rounds", 1, 3)) * 15 * time.Second}
		for j := range n("pods", 0, 6) {
			p := podState{
				name: fmt.Sprint("web-", j), phase: corev1.PodRunning, requests: rapid.SampledFrom([]string{"100m", "100m", "100m", "300m"}).Draw(r, "requests"),
				started: time.Duration(n("started", 0, 40)*20) * time.Second, since: time.Duration(n("since", 0, 70)*7) * time.Second,
			}
			switch n("state", 0, 19) {
			case 0:
				p.phase = corev1.PodPending
			case 1:
				p.phase = corev1.PodFailed
			case 2:
				p.gone = true
			case 3:
				p.noStart = true
			case 4:
				p.requests = ""
			case 5:
				p.whole = true
			}
			switch n("ready", 0, 7) {
			case 0:
			case 1, 2:
				p.ready = ptr.To(false)
			default:
				p.ready = ptr.To(true)
			}
			s.pods = append(s.pods, p)
			v := podValue{
				name: p.name, cpu: fmt.Sprint(n("cpu", 0, 200), "m"), memory: fmt.Sprint(n("memory", 0, 300), "Mi"), requests: fmt.Sprint(n("value", 0, 9000), "m"),
				measured: time.Duration(n("measured", 0, 30)) * time.Second, window: time.Duration(n("window", 5, 60)) * time.Second,
			}
			if n("sidecar", 0, 3) == 0 {
				v.sidecar = fmt.Sprint(n("sidecar's cpu", 0, 100), "m")
			}
			if n("value?", 0, 7) > 0 {
				s.values.pods = append(s.values.pods, v)
			}
		}
		if n("object?", 0, 7) > 0 {
			s.values.object = ptr.To(fmt.Sprint(n("object", 0, 60)))
		}
		for range n("queue?", 0, 2) {
			s.values.queue = append(s.values.queue, fmt.Sprint(n("queue", 0, 40)))
		}
		if i == 0 || n("scale?", 0, 4) == 0 {
			s.replicas = ptr.To(int32(n("replicas", 0, 9)))
		}
		if i == 0 || n("spec?", 0, 5) == 0 {
			s.spec = anySpec(r)
		}
		story = append(story, s)
	}
	return story
}

func anySpec(r *rapid.T) *autoscalingv2.HorizontalPodAutoscalerSpec {
	n := func(what string, least, most int) int { return rapid.IntRange(least, most).Draw(r, what) }
	s := &autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web"},
		MaxReplicas:    int32(n("max", 3, 12)),
	}
	if n("min?", 0, 3) > 0 {
		s.MinReplicas = ptr.To(int32(n("min", 0, 3)))
	}
	percent := func(name corev1.ResourceName) autoscalingv2.MetricSpec {
		return utilization(name, int32(n("target", 20, 130)))
	}
	for range n("metrics", 1, 2) {
		var m autoscalingv2.MetricSpec
		switch n("metric", 0, 9) {
		case 0, 1:
			m = percent(corev1.ResourceCPU)
		case 2:
			m = percent(corev1.ResourceMemory)
		case 3:
			m = averageUsage(corev1.ResourceCPU, fmt.Sprint(n("target", 20, 130), "m"))
		case 4:
			m = ofContainer(rapid.SampledFrom([]string{"app", "app", "sidecar"}).Draw(r, "container"), int32(n("target", 20, 130)))
		case 5:
			m = ofPods("requests", average(fmt.Sprint(n("target", 1, 5))))
		case 6:
			m = ofObject("Ingress", "main", "hits", value(fmt.Sprint(n("target", 1, 20))))
		case 7:
			m = ofObject("Ingress", "main", "hits", average(fmt.Sprint(n("target", 1, 20))))
		case 8:
			m = outside("length", value(fmt.Sprint(n("target", 1, 20))))
		default:
			m = outside("length", average(fmt.Sprint(n("target", 1, 20))))
		}
		s.Metrics = append(s.Metrics, m)
	}
	if n("behavior", 0, 2) == 0 {
		return s
	}
	direction := func(what string) *autoscalingv2.HPAScalingRules {
		d := rules(int32(rapid.SampledFrom([]int{0, 20, 40, 100}).Draw(r, what)), rapid.SampledFrom([]autoscalingv2.ScalingPolicySelect{"Max", "Max", "Min", "Disabled"}).Draw(r, what+" select"))
		for range n(what+" policies", 1, 2) {
			d.Policies = append(d.Policies, autoscalingv2.HPAScalingPolicy{
				Type: rapid.SampledFrom([]autoscalingv2.HPAScalingPolicyType{"Pods", "Percent"}).Draw(r, what+" type"), Value: int32(n(what+" value", 1, 120)),
				PeriodSeconds: int32(rapid.SampledFrom([]int{10, 25, 50, 110}).Draw(r, what+" period")),
			})
			if p := &d.Policies[len(d.Policies)-1]; p.Type == autoscalingv2.PodsScalingPolicy {
				p.Value = 1 + p.Value%4
			}
		}
		if n(what+" tolerance?", 0, 2) == 0 {
			d.Tolerance = ptr.To(resource.MustParse(fmt.Sprint(n(what+" tolerance", 0, 60)*10, "m")))
		}
		return d
	}
	s.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: direction("up"), ScaleDown: direction("down")}
	if n("usual window", 0, 2) == 0 {
		s.Behavior.ScaleDown.StabilizationWindowSeconds = nil
	}
	return s
}

// stage is the cluster of a story.
type stage struct {
	*clienttest.Bench
	t      *sim.Task
	c      client.Interface
	values values
	runs   []*oneRun
	seen   int // of the events of the trace
}

// ours plays a story for our controller.
func ours(r *rapid.T, story []scene) []*oneRun {
	var st *stage
	clienttest.Run(r, 1, func(b *clienttest.Bench, t *sim.Task) {
		st = &stage{Bench: b, t: t, c: b.Client()}
		b.AggregatedGroups = []schema.GroupVersion{metrics.SchemeGroupVersion, custom.SchemeGroupVersion, external.SchemeGroupVersion}
		b.Aggregated = st.answer
		p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
		f := informer.NewFactory(p, p.Lane, b.Client())
		env := reconcile.NewEnv(p, hpa.Name, hpa.Source, b.Client(), f, 1)
		env.Around = func(_ string, sync reconcile.Sync) reconcile.Sync {
			return func(run *reconcile.Run) error { return st.watched(run, sync) }
		}
		for i := range story {
			st.play(&story[i], i == 0)
			if i == 0 {
				hpa.New(env).Start()
				f.Start()
				t.Sleep(6 * time.Second) // so that nothing changes during a run
			}
			t.Sleep(story[i].wait)
		}
	})
	return st.runs
}

// watched takes down what a run sees and does.
func (st *stage) watched(run *reconcile.Run, sync reconcile.Sync) error {
	in := &oneRun{
		at: run.T.Elapsed(), values: st.values, pods: st.Objects(client.Pods),
		hpa: st.Object(client.HorizontalPodAutoscalers, "demo", "web").(*autoscalingv2.HorizontalPodAutoscaler).DeepCopy(),
	}
	in.scale = clienttest.Must(client.Scale(run.T, st.c, client.ReplicaSets, "demo", "web"))
	st.seen = len(st.Events)
	err := sync(run)
	if err != nil {
		in.out.Err = normal(err.Error())
	}
	if n := clienttest.Must(client.Scale(run.T, st.c, client.ReplicaSets, "demo", "web")).Spec.Replicas; n != in.scale.Spec.Replicas {
		in.out.Scaled = append(in.out.Scaled, n)
	}
	for _, e := range st.Events[st.seen:] {
		if p, ok := e.Payload.(*trace.KubeEvent); ok && p.From == hpa.Source {
			in.out.Events = append(in.out.Events, normal(p.Type+" "+p.Reason+": "+p.Message))
		}
	}
	in.out.Status = statusText(&st.Object(client.HorizontalPodAutoscalers, "demo", "web").(*autoscalingv2.HorizontalPodAutoscaler).Status)
	st.runs = append(st.runs, in)
	return err
}

// play sets a scene.
func (st *stage) play(s *scene, first bool) {
	t, c, now := st.t, st.c, st.t.Now()
	if first {
		requests := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}}
		requests.Spec.Replicas, requests.Spec.Selector = s.replicas, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		clienttest.Must(client.Create(t, c, client.ReplicaSets, "demo", requests))
		clienttest.Must(client.Create(t, c, client.HorizontalPodAutoscalers, "demo", &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}, Spec: *s.spec}))
	}
	for _, obj := range st.Objects(client.Pods) {
		_ = c.Delete(t, client.Pods, "demo", obj.(*corev1.Pod).Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
	}
	for _, p := range s.pods {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: p.name, Labels: map[string]string{"app": "web"}}}
		pod.Spec.NodeName = "node-1"
		pod.Spec.Containers = []corev1.Container{{Name: "app"}, {Name: "sidecar"}}
		asked := corev1.ResourceList{}
		if p.requests != "" {
			asked = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(p.requests), corev1.ResourceMemory: resource.MustParse("100Mi")}
		}
		pod.Spec.Containers[0].Resources.Requests = asked
		pod.Spec.Containers[1].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("10Mi")}
		if p.whole {
			pod.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m")}}
		}
		clienttest.Must(client.Create(t, c, client.Pods, "demo", pod))
		pod.Status.Phase = p.phase
		if !p.noStart {
			pod.Status.StartTime = ptr.To(metav1.NewTime(now.Add(-p.started)))
		}
		if p.ready != nil {
			is := corev1.ConditionFalse
			if *p.ready {
				is = corev1.ConditionTrue
			}
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: is, LastTransitionTime: metav1.NewTime(now.Add(-p.since))}}
		}
		pod.ResourceVersion = ""
		clienttest.Must(client.UpdateStatus(t, c, client.Pods, "demo", pod))
		if p.gone {
			_ = c.Delete(t, client.Pods, "demo", p.name, metav1.DeleteOptions{})
		}
	}
	rs := clienttest.Must(client.Get[*appsv1.ReplicaSet](t, c, client.ReplicaSets, "demo", "web"))
	if s.replicas != nil {
		rs.Spec.Replicas = s.replicas
		rs = clienttest.Must(client.Update(t, c, client.ReplicaSets, "demo", rs))
	}
	rs.Status.Replicas = s.reported
	clienttest.Must(client.UpdateStatus(t, c, client.ReplicaSets, "demo", rs))
	if s.spec != nil && !first {
		h := clienttest.Must(client.Get[*autoscalingv2.HorizontalPodAutoscaler](t, c, client.HorizontalPodAutoscalers, "demo", "web"))
		h.Spec = *s.spec
		clienttest.Must(client.Update(t, c, client.HorizontalPodAutoscalers, "demo", h))
	}
	st.values = s.values
	for i := range st.values.pods {
		st.values.pods[i].at = now.Add(-st.values.pods[i].measured).Truncate(time.Second) // as JSON has it
	}
}

// answer is that of the programs that serve the values.
func (st *stage) answer(r client.AggregatedRead) (int, []byte) {
	var list any
	switch r.Resource.Group {
	case metrics.GroupName:
		l := metrics.PodMetricsList{}
		for _, v := range st.values.pods {
			m := metrics.PodMetrics{ObjectMeta: metav1.ObjectMeta{Name: v.name}, Timestamp: metav1.NewTime(v.at), Window: metav1.Duration{Duration: v.window}}
			for _, c := range v.containers() {
				m.Containers = append(m.Containers, metrics.ContainerMetrics{Name: c.name, Usage: c.usage})
			}
			l.Items = append(l.Items, m)
		}
		list = l
	case custom.GroupName:
		l := custom.MetricValueList{}
		if r.Name == "*" {
			for _, v := range st.values.pods {
				l.Items = append(l.Items, custom.MetricValue{DescribedObject: corev1.ObjectReference{Name: v.name}, Timestamp: metav1.NewTime(v.at), WindowSeconds: ptr.To(int64(v.window.Seconds())), Value: resource.MustParse(v.requests)})
			}
		} else if st.values.object != nil {
			l.Items = append(l.Items, custom.MetricValue{Value: resource.MustParse(*st.values.object)})
		}
		list = l
	default:
		l := external.ExternalMetricValueList{}
		for _, v := range st.values.queue {
			l.Items = append(l.Items, external.ExternalMetricValue{Value: resource.MustParse(v)})
		}
		list = l
	}
	return 200, clienttest.Must(json.Marshal(list))
}

type containerValue struct {
	name  string
	usage corev1.ResourceList
}

func (v podValue) containers() []containerValue {
	out := []containerValue{{"app", corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(v.cpu), corev1.ResourceMemory: resource.MustParse(v.memory)}}}
	if v.sidecar != "" {
		out = append(out, containerValue{"sidecar", corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(v.sidecar), corev1.ResourceMemory: resource.MustParse("1Mi")}})
	}
	return out
}

var aPod = regexp.MustCompile(`Pod web-[0-9]`)

// normal is a message without the pod that upstream happens to meet first.
func normal(s string) string { return aPod.ReplaceAllString(s, "a pod") }

// statusText is a status without its times.
func statusText(st *autoscalingv2.HorizontalPodAutoscalerStatus) string {
	st = st.DeepCopy()
	if st.LastScaleTime != nil {
		st.LastScaleTime = ptr.To(metav1.Unix(1, 0))
	}
	for i := range st.Conditions {
		st.Conditions[i].LastTransitionTime = metav1.Time{}
		st.Conditions[i].Message = normal(st.Conditions[i].Message)
	}
	return string(clienttest.Must(json.MarshalIndent(st, "", " ")))
}

// there is what upstream's controller has of a cluster: one run at a time.
type there struct {
	run *oneRun
	out *outcome
	now time.Time // when it began there
	hpa *autoscalingv2.HorizontalPodAutoscaler
}

// latency is how long each request takes, as here.
func latency() { time.Sleep(clienttest.Latency) }

// upstreams has upstream's controller do the same runs at the same times.
func upstreams(t *testing.T, runs []*oneRun) (out []outcome) {
	klog.SetLogger(klog.Logger{})
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
	defer cancel()
	w := &there{}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{appsv1.SchemeGroupVersion})
	mapper.Add(client.ReplicaSets.GVK(), meta.RESTScopeNamespace)
	pods, hpas := upstreamtest.NewCache(), upstreamtest.NewCache()
	c := upstream.NewHorizontalController(ctx, events{}, scales{w: w}, autoscalers{w: w}, mapper, given{w},
		autoscalerInformer{hpas}, upstreamtest.Pods{Cache: pods}, hpa.SyncPeriod, hpa.Stabilization, hpa.Tolerance, hpa.CPUInitialization, hpa.InitialReadiness)
	*upstreamtest.Field[record.EventRecorder](c, "eventRecorder") = recorder{w: w}
	*upstreamtest.Field[consistency.ConsistencyStore](c, "consistencyStore") = consistency.NewNoopConsistencyStore()
	hpas.Came(runs[0].hpa)
	synctest.Test(t, func(*testing.T) {
		w.now = time.Now()
		var status *autoscalingv2.HorizontalPodAutoscalerStatus
		for _, run := range runs {
			time.Sleep(run.at - time.Since(w.now))
			w.run, w.out = run, &outcome{}
			w.hpa = run.hpa.DeepCopy()
			if status != nil {
				w.hpa.Status = *status
			}
			hpas.Hold(w.hpa)
			pods.Hold(w.shifted(run.pods)...)
			status = w.hpa.Status.DeepCopy()
			_, err := reconcileKey(c, ctx, "demo/web")
			if err != nil {
				w.out.Err = normal(err.Error())
			}
			if w.hpa.Status.DesiredReplicas >= 0 {
				status = w.hpa.Status.DeepCopy()
			}
			w.out.Status = statusText(status)
			out = append(out, *w.out)
		}
	})
	return out
}

// shift is a time of the story as it is there.
func (w *there) shift(at time.Time) time.Time { return w.now.Add(at.Sub(sim.DefaultEpoch)) }

func (w *there) shifted(pods []runtime.Object) (out []runtime.Object) {
	for _, obj := range pods {
		p := obj.(*corev1.Pod).DeepCopy()
		if p.Status.StartTime != nil {
			p.Status.StartTime = ptr.To(metav1.NewTime(w.shift(p.Status.StartTime.Time)))
		}
		for i := range p.Status.Conditions {
			p.Status.Conditions[i].LastTransitionTime = metav1.NewTime(w.shift(p.Status.Conditions[i].LastTransitionTime.Time))
		}
		out = append(out, p)
	}
	return out
}

type (
	events   struct{}
	recorder struct {
		record.EventRecorder
		w *there
	}
	scales struct {
		scaleclient.ScaleInterface
		w *there
	}
	autoscalers struct {
		autoscalingclient.HorizontalPodAutoscalerInterface
		w *there
	}
	autoscalerInformer struct{ *upstreamtest.Cache }
	given              struct{ w *there }
)

func (events) Events(string) coreclient.EventInterface { return upstreamtest.Events{} }

func (i autoscalerInformer) Informer() cache.SharedIndexInformer { return i }

func (i autoscalerInformer) Lister() autoscalinglisters.HorizontalPodAutoscalerLister {
	return autoscalinglisters.NewHorizontalPodAutoscalerLister(i.Indexer)
}

func (i autoscalerInformer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

func (r recorder) Event(_ runtime.Object, kind, reason, message string) {
	r.w.out.Events = append(r.w.out.Events, normal(kind+" "+reason+": "+message))
}

func (r recorder) Eventf(o runtime.Object, kind, reason, message string, args ...any) {
	r.Event(o, kind, reason, fmt.Sprintf(message, args...))
}

func (s scales) Scales(string) scaleclient.ScaleInterface { return s }

func (s scales) Get(context.Context, schema.GroupResource, string, metav1.GetOptions) (*autoscalingv1.Scale, error) {
	latency()
	return s.w.run.scale.DeepCopy(), nil
}

func (s scales) Update(_ context.Context, _ schema.GroupResource, scale *autoscalingv1.Scale, _ metav1.UpdateOptions) (*autoscalingv1.Scale, error) {
	latency()
	s.w.out.Scaled = append(s.w.out.Scaled, scale.Spec.Replicas)
	return scale, nil
}

func (a autoscalers) HorizontalPodAutoscalers(string) autoscalingclient.HorizontalPodAutoscalerInterface {
	return a
}

func (a autoscalers) UpdateStatus(_ context.Context, h *autoscalingv2.HorizontalPodAutoscaler, _ metav1.UpdateOptions) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	latency()
	a.w.hpa = h
	return h, nil
}

func (g given) GetResourceMetric(_ context.Context, name corev1.ResourceName, _ string, _ labels.Selector, container string) (upstreammetrics.PodMetricsInfo, time.Time, error) {
	latency()
	if len(g.w.run.values.pods) == 0 {
		return nil, time.Time{}, errors.New("no metrics returned from resource metrics API")
	}
	out := upstreammetrics.PodMetricsInfo{}
	for _, v := range g.w.run.values.pods {
		sum, found := int64(0), false
		for _, c := range v.containers() {
			if container == "" || c.name == container {
				used := c.usage[name]
				sum, found = sum+used.MilliValue(), true
			}
		}
		if found {
			out[v.name] = upstreammetrics.PodMetric{Timestamp: g.w.shift(v.at), Window: v.window, Value: sum}
		}
	}
	return out, time.Time{}, nil
}

func (g given) GetRawMetric(string, string, labels.Selector, labels.Selector) (upstreammetrics.PodMetricsInfo, time.Time, error) {
	latency()
	if len(g.w.run.values.pods) == 0 {
		return nil, time.Time{}, errors.New("no metrics returned from custom metrics API")
	}
	out := upstreammetrics.PodMetricsInfo{}
	for _, v := range g.w.run.values.pods {
		out[v.name] = upstreammetrics.PodMetric{Timestamp: g.w.shift(v.at), Window: v.window, Value: ptr.To(resource.MustParse(v.requests)).MilliValue()}
	}
	return out, time.Time{}, nil
}

func (g given) GetObjectMetric(string, string, *autoscalingv2.CrossVersionObjectReference, labels.Selector) (int64, time.Time, error) {
	latency()
	if g.w.run.values.object == nil {
		return 0, time.Time{}, errors.New("unable to fetch metrics from custom metrics API: the custom metrics API server returned 0 results when we asked for exactly one")
	}
	return ptr.To(resource.MustParse(*g.w.run.values.object)).MilliValue(), time.Time{}, nil
}

func (g given) GetExternalMetric(string, string, labels.Selector) (out []int64, _ time.Time, err error) {
	latency()
	for _, v := range g.w.run.values.queue {
		out = append(out, ptr.To(resource.MustParse(v)).MilliValue())
	}
	if len(out) == 0 {
		err = errors.New("no metrics returned from external metrics API")
	}
	return out, time.Time{}, err
}

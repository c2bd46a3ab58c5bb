package horizontalpodautoscaler_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	custom "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	external "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metrics "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"k8s.io/utils/ptr"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	hpa "kviz/cluster/controller/horizontalpodautoscaler"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/replicaset"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// world is a cluster with the controllers of ReplicaSets and of autoscalers, and the programs
// that tell of metrics.
type world struct {
	*clienttest.Bench
	t *sim.Task
	c client.Interface

	cpu, memory string            // that each pod uses
	other       map[string]string // values of other metrics
	late        string            // the value of a pod whose name begins so is missing
}

// run runs a story and gives what the controller said and did in it.
func run(t *testing.T, golden string, story func(*world)) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
		w := &world{Bench: b, t: task, c: b.Client(), cpu: "0", memory: "0", other: map[string]string{}}
		b.Aggregated = w.answer
		(&clienttest.Nodes{Names: []string{"node-1"}, Start: 2 * time.Second, Stop: time.Second}).Run(task.Process(), w.c)
		for _, name := range []string{"sets", trace.CompKCM} {
			p := b.Kernel.NewProcess(trace.Lane{Component: name})
			f := informer.NewFactory(p, p.Lane, w.c)
			if name == "sets" {
				replicaset.New(reconcile.NewEnv(p, replicaset.Name, replicaset.Name, w.c, f, 1)).Start()
			} else {
				hpa.New(reconcile.NewEnv(p, hpa.Name, hpa.Source, w.c, f, 1)).Start()
			}
			f.Start()
		}
		story(w)
	})
	clienttest.Golden(t, golden, transcript(b))
}

// transcript is what the controller says: its decisions, with what it leaves undone, its Events,
// and the lines of the story. What it says again every 15 seconds is there once.
func transcript(b *clienttest.Bench) string {
	var out strings.Builder
	said := map[string]string{}
	for _, e := range b.Events {
		line, sort := "", ""
		switch p := e.Payload.(type) {
		case *trace.Action:
			if p.Controller == hpa.Name {
				line, sort = fmt.Sprintf("%s %s: %s", p.Verb, p.Target.Name, p.Why), p.Key+" "+p.Verb
			}
		case *trace.Reconcile:
			if p.Controller == hpa.Name && p.Waits != "" {
				line, sort = "  waits: "+p.Waits, p.Key+" waits"
			}
		case *trace.KubeEvent:
			if p.From == hpa.Source {
				line = fmt.Sprintf("  Event %s x%d on %s: %s: %s", p.Type, p.Count, p.Regarding.Name, p.Reason, p.Message)
			}
		}
		again := strings.TrimSuffix(line, ": write the status")
		if i := strings.LastIndex(again, ": in "); i > 0 {
			again = again[:i]
		}
		switch {
		case e.Kind == trace.CommandStart:
			fmt.Fprintf(&out, "# %s\n", e.Object.Name)
			said = map[string]string{}
		case line != "" && (sort == "" || said[sort] != again):
			fmt.Fprintf(&out, "%8.3fs  %s\n", e.At.Seconds(), line)
			said[sort] = again
		}
	}
	return out.String()
}

func (w *world) note(line string)     { clienttest.Note(w.t, line) }
func (w *world) wait(d time.Duration) { w.t.Sleep(d) }
func (w *world) serve(gv ...schema.GroupVersion) {
	w.AggregatedGroups = append(w.AggregatedGroups, gv...)
}

// set makes the ReplicaSet web, whose pods request 100m and 100Mi.
func (w *world) set(replicas int32) {
	app := map[string]string{"app": "web"}
	requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("100Mi")}
	clienttest.Must(client.Create(w.t, w.c, client.ReplicaSets, "demo", &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: app},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "web:1", Resources: corev1.ResourceRequirements{Requests: requests}}}},
			},
		},
	}))
	w.wait(5 * time.Second)
}

func (w *world) scale(replicas int32) {
	rs := clienttest.Must(client.Get[*appsv1.ReplicaSet](w.t, w.c, client.ReplicaSets, "demo", "web"))
	rs.Spec.Replicas = &replicas
	clienttest.Must(client.Update(w.t, w.c, client.ReplicaSets, "demo", rs))
}

// autoscale makes an autoscaler of web.
func (w *world) autoscale(name string, least, most int32, behavior *autoscalingv2.HorizontalPodAutoscalerBehavior, by ...autoscalingv2.MetricSpec) {
	clienttest.Must(client.Create(w.t, w.c, client.HorizontalPodAutoscalers, "demo", &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web"},
			MinReplicas:    &least, MaxReplicas: most, Metrics: by, Behavior: behavior,
		},
	}))
}

// change changes an autoscaler.
func (w *world) change(name string, how func(*autoscalingv2.HorizontalPodAutoscalerSpec)) {
	h := clienttest.Must(client.Get[*autoscalingv2.HorizontalPodAutoscaler](w.t, w.c, client.HorizontalPodAutoscalers, "demo", name))
	how(&h.Spec)
	clienttest.Must(client.Update(w.t, w.c, client.HorizontalPodAutoscalers, "demo", h))
}

// show writes an autoscaler's status into the story.
func (w *world) show(name string) {
	st := w.Object(client.HorizontalPodAutoscalers, "demo", name).(*autoscalingv2.HorizontalPodAutoscaler).Status
	w.note(fmt.Sprintf("status: %d replicas, %d desired, metrics %s", st.CurrentReplicas, st.DesiredReplicas, clienttest.Must(json.Marshal(st.CurrentMetrics))))
	for _, c := range st.Conditions {
		w.note(fmt.Sprintf("  %s %s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
}

// answer is that of metrics-server and of an adapter.
func (w *world) answer(r client.AggregatedRead) (int, []byte) {
	of := clienttest.Must(labels.Parse(r.Query.Get("labelSelector")))
	now := metav1.NewTime(w.t.Now())
	var list any
	switch r.Resource.Group {
	case metrics.GroupName:
		l := metrics.PodMetricsList{}
		for _, p := range w.pods(of) {
			m := metrics.PodMetrics{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Timestamp: now, Window: metav1.Duration{Duration: time.Second}}
			m.Containers = []metrics.ContainerMetrics{{Name: "app", Usage: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(w.cpu), corev1.ResourceMemory: resource.MustParse(w.memory)}}}
			l.Items = append(l.Items, m)
		}
		list = l
	case custom.GroupName:
		l := custom.MetricValueList{}
		name := r.Subresource
		if r.Resource.Resource == "metrics" {
			name = r.Name
		}
		value, known := w.other[name]
		switch {
		case !known:
			err := apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "", 0, true)
			err.ErrStatus.Message, err.ErrStatus.Kind = "the server could not find the metric "+name+" for "+r.Resource.Resource+" "+r.Name, "Status"
			return http.StatusNotFound, clienttest.Must(json.Marshal(err.ErrStatus))
		case r.Name == "*":
			for _, p := range w.pods(of) {
				l.Items = append(l.Items, custom.MetricValue{DescribedObject: corev1.ObjectReference{Name: p.Name}, Timestamp: now, Value: resource.MustParse(value)})
			}
		default:
			l.Items = append(l.Items, custom.MetricValue{DescribedObject: corev1.ObjectReference{Name: r.Name}, Timestamp: now, Value: resource.MustParse(value)})
		}
		list = l
	default:
		l := external.ExternalMetricValueList{}
		if value, known := w.other[r.Resource.Resource]; known {
			for _, v := range strings.Fields(value) {
				l.Items = append(l.Items, external.ExternalMetricValue{MetricName: r.Resource.Resource, Timestamp: now, Value: resource.MustParse(v)})
			}
		}
		list = l
	}
	return http.StatusOK, clienttest.Must(json.Marshal(list))
}

// pods are those of which there are metrics.
func (w *world) pods(of labels.Selector) (out []*corev1.Pod) {
	for _, obj := range w.Objects(client.Pods) {
		p := obj.(*corev1.Pod)
		if p.Status.Phase == corev1.PodRunning && of.Matches(labels.Set(p.Labels)) && (w.late == "" || !strings.HasPrefix(p.Name, w.late)) {
			out = append(out, p)
		}
	}
	return out
}

func utilization(name corev1.ResourceName, target int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
		Name: name, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &target},
	}}
}

func averageUsage(name corev1.ResourceName, target string) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{Name: name, Target: average(target)}}
}

func average(q string) autoscalingv2.MetricTarget {
	return autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: ptr.To(resource.MustParse(q))}
}

func value(q string) autoscalingv2.MetricTarget {
	return autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: ptr.To(resource.MustParse(q))}
}

func ofContainer(container string, target int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ContainerResourceMetricSourceType, ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
		Name: corev1.ResourceCPU, Container: container, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &target},
	}}
}

func ofPods(name string, target autoscalingv2.MetricTarget) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{Metric: autoscalingv2.MetricIdentifier{Name: name}, Target: target}}
}

func ofObject(kind, name, metric string, target autoscalingv2.MetricTarget) autoscalingv2.MetricSpec {
	apiVersion := "v1"
	if kind == "Ingress" {
		apiVersion = "networking.k8s.io/v1"
	}
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricSource{
		DescribedObject: autoscalingv2.CrossVersionObjectReference{APIVersion: apiVersion, Kind: kind, Name: name}, Metric: autoscalingv2.MetricIdentifier{Name: metric}, Target: target,
	}}
}

func outside(name string, target autoscalingv2.MetricTarget) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
		Metric: autoscalingv2.MetricIdentifier{Name: name, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"queue": "jobs"}}}, Target: target,
	}}
}

// An autoscaler by CPU through the day: no metrics yet, load that grows, a ratio that is near
// enough, pods that are not ready yet, a value that is missing, the bound, load that drops, metrics that
// go away, and somebody who scales to 0.
func TestFollowsTheLoad(t *testing.T) {
	run(t, "life.txt", func(w *world) {
		w.set(4)
		w.note("an autoscaler of web, and nobody who tells of metrics")
		w.autoscale("web", 2, 10, nil, utilization(corev1.ResourceCPU, 60))
		w.wait(40 * time.Second)
		w.show("web")
		w.note("metrics-server is there, and pods use 90m of the 100m that they request")
		w.serve(metrics.SchemeGroupVersion)
		w.cpu = "90m"
		w.wait(14 * time.Second)
		w.show("web")
		w.note("the load spreads over all 6: 64m")
		w.cpu = "64m"
		w.wait(30 * time.Second)
		w.show("web")
		w.note("130m; a value is missing")
		w.cpu, w.late = "130m", "web-bbbbb"
		w.wait(15 * time.Second)
		w.cpu, w.late = "70m", ""
		w.wait(30 * time.Second)
		w.show("web")
		w.note("the load drops to 10m")
		w.cpu = "10m"
		w.wait(330 * time.Second)
		w.show("web")
		w.note("metrics-server is gone")
		w.AggregatedGroups = nil
		w.wait(15 * time.Second)
		w.show("web")
		w.note("somebody scales web to 0")
		w.serve(metrics.SchemeGroupVersion)
		w.scale(0)
		w.wait(20 * time.Second)
		w.show("web")
		w.note("and to 20")
		w.scale(20)
		w.wait(20 * time.Second)
		w.show("web")
	})
}

// All sorts of metrics: each by itself, then all, of which the highest counts; then some without a
// value.
func TestAsksAllSortsOfMetrics(t *testing.T) {
	run(t, "metrics.txt", func(w *world) {
		w.serve(metrics.SchemeGroupVersion)
		w.set(4)
		w.cpu, w.memory = "50m", "120Mi"
		w.other = map[string]string{"requests": "2500m", "hits": "14", "quota": "30", "length": "17 14"}
		all := []autoscalingv2.MetricSpec{
			averageUsage(corev1.ResourceMemory, "100Mi"), ofContainer("app", 45), ofPods("requests", average("2")), ofObject("Ingress", "main", "hits", value("10")),
			ofObject("Namespace", "demo", "quota", average("5")), outside("length", value("20")), outside("length", average("4")),
		}
		nothing := []autoscalingv2.MetricSpec{ofPods("unknown", average("1")), outside("unknown", value("1")), ofContainer("sidecar", 50), ofObject("Widget", "w", "hits", value("1"))}
		once := func(by ...autoscalingv2.MetricSpec) {
			for _, m := range by {
				w.note(fmt.Sprintf("%s metric", m.Type))
			}
			w.autoscale("web", 1, 30, nil, by...)
			w.wait(10 * time.Second)
			st := w.Object(client.HorizontalPodAutoscalers, "demo", "web").(*autoscalingv2.HorizontalPodAutoscaler).Status
			w.note(fmt.Sprintf("status: %s", clienttest.Must(json.Marshal(st.CurrentMetrics))))
			clienttest.Must(0, w.c.Delete(w.t, client.HorizontalPodAutoscalers, "demo", "web", metav1.DeleteOptions{}))
			w.scale(4)
			w.wait(10 * time.Second)
		}
		w.note("nobody tells of other metrics yet")
		once(all[2])
		once(all[5])
		w.note("an adapter does")
		w.serve(custom.SchemeGroupVersion, external.SchemeGroupVersion)
		for _, m := range append(all[:len(all):len(all)], nothing...) {
			once(m)
		}
		once(append(all, nothing[0])...)
		w.note("fewer would do, but not all can say so")
		w.cpu, w.memory = "5m", "10Mi"
		w.other = map[string]string{"requests": "250m", "hits": "1", "quota": "3", "length": "1 1"}
		once(all[0], nothing[0])
		w.note("a pod without a value, which counts as all that it requests")
		w.late = "web-bbbbb"
		once(utilization(corev1.ResourceMemory, 50))
		once(averageUsage(corev1.ResourceMemory, "30Mi"))
	})
}

func rules(window int32, choose autoscalingv2.ScalingPolicySelect, policies ...autoscalingv2.HPAScalingPolicy) *autoscalingv2.HPAScalingRules {
	return &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: &window, SelectPolicy: &choose, Policies: policies}
}

// spec.behavior: policies up and down, by number and by percentage, the windows of both
// directions, tolerances, and a direction that is off.
func TestBehaves(t *testing.T) {
	podsIn := func(n, period int32) autoscalingv2.HPAScalingPolicy {
		return autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: n, PeriodSeconds: period}
	}
	percentIn := func(n, period int32) autoscalingv2.HPAScalingPolicy {
		return autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: n, PeriodSeconds: period}
	}
	run(t, "behavior.txt", func(w *world) {
		w.serve(external.SchemeGroupVersion)
		w.set(2)
		w.other["length"] = "20"
		up := rules(0, autoscalingv2.MaxChangePolicySelect, podsIn(2, 60), percentIn(100, 60))
		down := rules(30, autoscalingv2.MinChangePolicySelect, podsIn(3, 30), percentIn(50, 30))
		w.note("20 in the queue, 1 for each pod; at most 2 pods or 100% a minute")
		w.autoscale("web", 1, 12, &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: up, ScaleDown: down}, outside("length", average("1")))
		w.wait(150 * time.Second)
		w.show("web")
		w.note("3 in the queue: down by at most 3 pods or 50% in 30 s, whichever is less, after 30 s")
		w.other["length"] = "3"
		w.wait(150 * time.Second)
		w.show("web")
		w.note("it may not shrink, and grows when it was asked to for 30 s")
		w.change("web", func(s *autoscalingv2.HorizontalPodAutoscalerSpec) {
			s.Behavior.ScaleUp = rules(30, autoscalingv2.MaxChangePolicySelect, percentIn(900, 15))
			s.Behavior.ScaleDown = rules(0, autoscalingv2.DisabledPolicySelect)
		})
		w.wait(15 * time.Second)
		w.other["length"] = "8"
		w.wait(50 * time.Second)
		w.other["length"] = "1"
		w.wait(20 * time.Second)
		w.note("within 50% nothing changes upwards")
		w.change("web", func(s *autoscalingv2.HorizontalPodAutoscalerSpec) {
			s.Behavior.ScaleUp = rules(0, autoscalingv2.MaxChangePolicySelect, percentIn(900, 15))
			s.Behavior.ScaleUp.Tolerance = ptr.To(resource.MustParse("0.5"))
		})
		w.other["length"] = "11"
		w.wait(20 * time.Second)
		w.show("web")
	})
}

// By a metric from outside a target may have no pods; once somebody else scales it to 0 it is
// left alone.
func TestScalesToZeroAndBack(t *testing.T) {
	run(t, "zero.txt", func(w *world) {
		w.serve(external.SchemeGroupVersion)
		w.set(2)
		w.other["length"] = "0"
		w.autoscale("web", 0, 5, nil, outside("length", value("10")))
		w.wait(320 * time.Second)
		w.show("web")
		w.note("35 in the queue")
		w.other["length"] = "35"
		w.wait(20 * time.Second)
		w.show("web")
		w.note("none; somebody else scales to 0")
		w.other["length"] = "0"
		w.scale(0)
		w.wait(20 * time.Second)
		w.note("35 again")
		w.other["length"] = "35"
		w.wait(20 * time.Second)
		w.show("web")
	})
}

// What cannot be scaled, and what may not be: a target that is not there, kinds that nobody knows
// or that have no scale, two autoscalers of the same pods, a selector that is missing, and a scale that somebody else
// writes at the same time.
func TestTellsWhatIsInTheWay(t *testing.T) {
	run(t, "refused.txt", func(w *world) {
		w.serve(metrics.SchemeGroupVersion)
		w.cpu = "90m"
		aim := func(apiVersion, kind string) {
			w.note("a target of kind " + kind + " of " + apiVersion)
			w.change("web", func(s *autoscalingv2.HorizontalPodAutoscalerSpec) {
				s.ScaleTargetRef.APIVersion, s.ScaleTargetRef.Kind = apiVersion, kind
			})
			w.wait(5 * time.Second)
			w.show("web")
		}
		w.note("no web yet")
		w.autoscale("web", 1, 10, nil, utilization(corev1.ResourceCPU, 60))
		w.wait(5 * time.Second)
		w.show("web")
		aim("example.com/v1", "Widget")
		aim("a/b/c", "ReplicaSet")
		clienttest.Must(client.Create(w.t, w.c, client.ConfigMaps, "demo", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}}))
		aim("v1", "ConfigMap")
		aim("apps/v1", "ReplicaSet")
		w.note("web, whose scale others write too")
		w.set(2)
		w.wait(10 * time.Second)
		w.Refuse = func(verb string, r client.Resource, _, name string) error {
			if verb != "update" || r != client.ReplicaSets {
				return nil
			}
			return apierrors.NewConflict(r.GroupResource(), name, fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
		}
		w.wait(15 * time.Second)
		w.show("web")
		w.Refuse = nil
		w.wait(15 * time.Second)
		w.note("another autoscaler of web")
		w.autoscale("other", 1, 20, nil, utilization(corev1.ResourceCPU, 80))
		w.wait(20 * time.Second)
		w.show("web")
		w.show("other")
		w.note("and it is gone")
		clienttest.Must(0, w.c.Delete(w.t, client.HorizontalPodAutoscalers, "demo", "other", metav1.DeleteOptions{}))
		w.wait(20 * time.Second)
		w.show("web")
	})
}

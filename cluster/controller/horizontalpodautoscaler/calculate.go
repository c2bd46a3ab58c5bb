package horizontalpodautoscaler

import (
	"errors"
	"fmt"
	"math"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kviz/cluster/controller/pods"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// tolerances are how far from 1 a ratio may be without any change.
type tolerances struct{ down, up float64 }

func (t tolerances) within(ratio float64) bool { return 1.0-t.down <= ratio && ratio <= 1.0+t.up }

// tolerancesOf are those of an autoscaler (tolerancesForHpa).
func tolerancesOf(hpa *autoscalingv2.HorizontalPodAutoscaler) tolerances {
	t := tolerances{Tolerance, Tolerance}
	if b := hpa.Spec.Behavior; b != nil {
		if b.ScaleDown != nil && b.ScaleDown.Tolerance != nil {
			t.down = b.ScaleDown.Tolerance.AsApproximateFloat64()
		}
		if b.ScaleUp != nil && b.ScaleUp.Tolerance != nil {
			t.up = b.ScaleUp.Tolerance.AsApproximateFloat64()
		}
	}
	return t
}

// calculator says how many replicas a metric asks for (ReplicaCalculator).
type calculator struct {
	source source
	pods   func(namespace string, of labels.Selector) []*corev1.Pod
}

// question is what a metric is asked for one autoscaler.
type question struct {
	t         *sim.Task
	namespace string
	pods      labels.Selector // of the target
	current   int32           // replicas that its spec asks for
	reported  int32           // replicas that its status tells of
	tolerances
}

// proposal is the answer.
type proposal struct {
	replicas int32
	percent  int32 // of what is requested, where the target is a utilization
	usage    int64 // on average or in all, times 1000
	told     trace.AutoscaleMetric
}

// utilization compares what pods use with a percentage of what they request (GetResourceReplicas).
func (c *calculator) utilization(q question, target int32, resource corev1.ResourceName, container string) (proposal, error) {
	values, err := c.source.Resource(q.t, resource, q.namespace, q.pods, container)
	if err != nil {
		return proposal{}, fmt.Errorf("unable to get metrics for resource %s: %w", resource, err)
	}
	var requests map[string]int64
	return c.byPods(q, values, pointOfView{
		resource: resource, words: inPercent(target),
		prepare: func(list []*corev1.Pod) (err error) {
			requests, err = requestsOf(list, container, resource)
			return err
		},
		measure: func(values podMetrics) (measured, error) { return ofRequests(values, requests, target) },
		full: func(pod string) int64 { // all that it requests, or more where that is the target
			return requests[pod] * int64(max(100, target)) / 100
		},
		asFull: fmt.Sprintf("as %d%% of what they request", max(100, target)),
	})
}

// averageUsage compares what pods use on average with a number (GetRawResourceReplicas).
func (c *calculator) averageUsage(q question, target int64, resource corev1.ResourceName, container string) (proposal, error) {
	values, err := c.source.Resource(q.t, resource, q.namespace, q.pods, container)
	if err != nil {
		return proposal{}, fmt.Errorf("unable to get metrics for resource %s: %w", resource, err)
	}
	return c.average(q, values, target, resource)
}

// averageMetric does so with another metric of pods (GetMetricReplicas).
func (c *calculator) averageMetric(q question, target int64, metric string, which labels.Selector) (proposal, error) {
	values, err := c.source.Pods(q.t, metric, q.namespace, q.pods, which)
	if err != nil {
		return proposal{}, fmt.Errorf("unable to get metric %s: %w", metric, err)
	}
	return c.average(q, values, target, "")
}

// average is calcPlainMetricReplicas.
func (c *calculator) average(q question, values podMetrics, target int64, resource corev1.ResourceName) (proposal, error) {
	return c.byPods(q, values, pointOfView{
		resource: resource, words: inQuantities(resource, target),
		measure: func(values podMetrics) (measured, error) {
			sum := int64(0)
			for _, v := range values {
				sum += v.value
			}
			usage := sum / int64(len(values))
			return measured{ratio: float64(usage) / float64(target), usage: usage}, nil
		},
		full:   func(string) int64 { return target },
		asFull: "as the target",
	})
}

// measured is the values of pods together, by the target.
type measured struct {
	ratio   float64
	percent int32
	usage   int64
}

// ofRequests measures values by a percentage of what is requested (GetResourceUtilizationRatio).
func ofRequests(values podMetrics, requests map[string]int64, target int32) (measured, error) {
	used, requested, n := int64(0), int64(0), int64(0)
	for pod, v := range values {
		if request, ok := requests[pod]; ok {
			used, requested, n = used+v.value, requested+request, n+1
		}
	}
	if requested == 0 {
		return measured{}, errors.New("no metrics returned matched known pods")
	}
	percent := int32(used * 100 / requested)
	return measured{float64(percent) / float64(target), percent, used / n}, nil
}

// pointOfView is how values of pods are looked at.
type pointOfView struct {
	resource corev1.ResourceName
	words    words
	prepare  func([]*corev1.Pod) error // nil for nothing
	measure  func(podMetrics) (measured, error)
	full     func(pod string) int64 // what a pod without a value counts as, where the target may shrink
	asFull   string                 // in words
}

// byPods multiplies the number of pods with the ratio of their values to the target. Pods without
// a value that counts make the ratio less far from 1, and never turn it around.
func (c *calculator) byPods(q question, values podMetrics, as pointOfView) (proposal, error) {
	list := c.pods(q.namespace, q.pods)
	if len(list) == 0 {
		return proposal{}, errors.New("no pods returned by selector while calculating replica count")
	}
	g := group(list, values, as.resource, q.t.Now())
	for _, pod := range g.ignored {
		delete(values, pod)
	}
	for _, pod := range g.unready {
		delete(values, pod)
	}
	if len(values) == 0 {
		return proposal{}, errors.New("did not receive metrics for targeted pods (pods might be unready)")
	}
	if as.prepare != nil {
		if err := as.prepare(list); err != nil {
			return proposal{}, err
		}
	}
	m, err := as.measure(values)
	if err != nil {
		return proposal{}, err
	}
	p := proposal{replicas: q.current, percent: m.percent, usage: m.usage}
	p.told = trace.AutoscaleMetric{
		Ready: g.ready, Unready: len(g.unready), Missing: len(g.missing), Ignored: len(g.ignored),
		Ratio: finite(m.ratio), Down: q.down, Up: q.up,
	}
	say := as.words.begin(&p.told, as.resource, m)
	unreadyAsZero := len(g.unready) > 0 && m.ratio > 1.0
	if !unreadyAsZero && len(g.missing) == 0 {
		if q.within(m.ratio) {
			say.near(m.ratio)
			return p, nil
		}
		p.multiply(m.ratio, g.ready)
		say.product(m.ratio, false)
		return p, nil
	}
	for _, pod := range g.missing {
		switch {
		case m.ratio < 1.0:
			values[pod] = podMetric{value: as.full(pod)}
		case m.ratio > 1.0:
			values[pod] = podMetric{}
		}
	}
	if unreadyAsZero {
		for _, pod := range g.unready {
			values[pod] = podMetric{}
		}
	}
	filled, err := as.measure(values)
	if err != nil {
		return proposal{}, err
	}
	p.told.Filled = finite(filled.ratio)
	say.filled(m.ratio, filled.ratio, as.asFull)
	switch {
	case q.within(filled.ratio):
		say.near(filled.ratio)
	case m.ratio < 1.0 && filled.ratio > 1.0 || m.ratio > 1.0 && filled.ratio < 1.0:
		say.turned()
	default:
		p.multiply(filled.ratio, len(values))
		say.product(filled.ratio, true)
		if filled.ratio < 1.0 && p.replicas > q.current || filled.ratio > 1.0 && p.replicas < q.current {
			say.against(q.current)
			p.replicas, p.told.By = q.current, 0
		}
	}
	return p, nil
}

func (p *proposal) multiply(ratio float64, n int) {
	p.told.By = n
	p.replicas = int32(math.Ceil(ratio * float64(n)))
}

// objectValue compares one object's value with the target (GetObjectMetricReplicas).
func (c *calculator) objectValue(q question, target int64, metric string, of *autoscalingv2.CrossVersionObjectReference, which labels.Selector) (proposal, error) {
	usage, err := c.source.Object(q.t, metric, q.namespace, of, which)
	if err != nil {
		return proposal{}, fmt.Errorf("unable to get metric %s on %s %s/%s: %w", metric, of.Kind, q.namespace, of.Name, err)
	}
	return c.byRatio(q, usage, target)
}

// externalValue compares the sum of an external metric with the target (GetExternalMetricReplicas).
func (c *calculator) externalValue(q question, target int64, metric string, which *metav1.LabelSelector) (proposal, error) {
	sum, err := c.external(q, metric, which)
	if err != nil {
		return proposal{}, err
	}
	return c.byRatio(q, sum, target)
}

// external adds up the values of an external metric.
func (c *calculator) external(q question, metric string, which *metav1.LabelSelector) (sum int64, err error) {
	sel, err := metav1.LabelSelectorAsSelector(which)
	if err != nil {
		return 0, err
	}
	values, err := c.source.External(q.t, metric, q.namespace, sel)
	if err != nil {
		return 0, fmt.Errorf("unable to get external metric %s/%s/%+v: %s", q.namespace, metric, which, err) //nolint:errorlint // as upstream's
	}
	for _, v := range values {
		if v > 0 && sum > math.MaxInt64-v {
			return math.MaxInt64, nil
		}
		sum += v
	}
	return sum, nil
}

// byRatio multiplies the number of ready pods with the ratio of a value to the target. From zero
// pods the ratio is the number itself (getUsageRatioReplicaCount).
func (c *calculator) byRatio(q question, usage, target int64) (proposal, error) {
	ratio := float64(usage) / float64(target)
	p := proposal{replicas: q.current, usage: usage, told: trace.AutoscaleMetric{Ratio: finite(ratio), Down: q.down, Up: q.up}}
	say := inQuantities("", target).of(&p.told, usage)
	switch {
	case q.current == 0:
		p.replicas = int32(math.Ceil(ratio))
		say.fromZero(ratio)
	case q.within(ratio):
		say.near(ratio)
	default:
		ready, err := c.ready(q)
		if err != nil {
			return proposal{}, fmt.Errorf("unable to calculate ready pods: %s", err) //nolint:errorlint // as upstream's
		}
		p.told.Ready, p.told.By = ready, ready
		n := ratio * float64(ready)
		if p.replicas = math.MaxInt32; n <= math.MaxInt32 {
			p.replicas = int32(math.Ceil(n))
		}
		say.times(ratio, ready)
	}
	return p, nil
}

// ready counts the ready pods (getReadyPodsCount).
func (c *calculator) ready(q question) (n int, err error) {
	list := c.pods(q.namespace, q.pods)
	if len(list) == 0 {
		return 0, errors.New("no pods returned by selector while calculating replica count")
	}
	for _, pod := range list {
		if pod.Status.Phase == corev1.PodRunning && pods.Ready(pod) {
			n++
		}
	}
	return n, nil
}

// objectAverage divides one object's value by what is meant for each pod (GetObjectPerPodMetricReplicas).
func (c *calculator) objectAverage(q question, target int64, metric string, of *autoscalingv2.CrossVersionObjectReference, which labels.Selector) (proposal, error) {
	usage, err := c.source.Object(q.t, metric, q.namespace, of, which)
	if err != nil {
		return proposal{}, fmt.Errorf("unable to get metric %s on %s %s/%s: %w", metric, of.Kind, q.namespace, of.Name, err)
	}
	p := q.perPod(usage, target, func(n float64) int32 { return int32(n) })
	p.usage = int64(math.Ceil(float64(usage) / float64(q.reported)))
	return p, nil
}

// externalAverage does so with the sum of an external metric (GetExternalPerPodMetricReplicas).
func (c *calculator) externalAverage(q question, target int64, metric string, which *metav1.LabelSelector) (proposal, error) {
	sum, err := c.external(q, metric, which)
	if err != nil {
		return proposal{}, err
	}
	p := q.perPod(sum, target, func(n float64) int32 {
		if n > math.MaxInt32 {
			return math.MaxInt32
		}
		return int32(n)
	})
	if p.usage = math.MaxInt64; float64(sum) < math.MaxInt64 {
		p.usage = int64(math.Ceil(float64(sum) / float64(q.reported)))
	}
	return p, nil
}

// perPod is the number of pods that each get as much as is meant for one.
func (q *question) perPod(sum, target int64, number func(float64) int32) proposal {
	ratio := float64(sum) / (float64(target) * float64(q.reported))
	p := proposal{replicas: q.reported, told: trace.AutoscaleMetric{Ratio: finite(ratio), Down: q.down, Up: q.up}}
	say := inQuantities("", target).each(&p.told, sum, q.reported)
	if q.within(ratio) {
		say.near(ratio)
		return p
	}
	p.replicas = number(math.Ceil(float64(sum) / float64(target)))
	say.quotient(sum, target)
	return p
}

// finite is a ratio as data can have it: 0 where there is nothing to divide by.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

package view

import (
	"fmt"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"kviz/cluster/trace"
)

// Autoscaler is what the controller has worked out for a HorizontalPodAutoscaler, run by run.
type Autoscaler struct {
	gen
	sums []AutoscalerSum
}

func (a *Autoscaler) seal() { clip(&a.sums) }

// AutoscalerSum is one run's sum.
type AutoscalerSum struct {
	*trace.Autoscale
	Why   string // in words, as the controller said it
	Event trace.ID
	At    time.Duration
}

const (
	maxSums    = 80 // twenty minutes of runs
	autoscaler = "HorizontalPodAutoscaler"
	scaledBy   = "horizontal-pod-autoscaler-controller"
)

// autoscaled notes the sum of a run.
func (b *Builder) autoscaled(e *trace.Event, p *trace.Action) {
	if p.Autoscale == nil {
		return
	}
	a := edit(b, b.s.autoscalers, p.Key)
	a.sums = recent(a.sums, AutoscalerSum{p.Autoscale, p.Why, e.ID, e.At}, maxSums)
}

// Autoscaler is what has been worked out for an autoscaler; nil for every other object, and
// before its first run.
func (s *State) Autoscaler(o *Object) *Autoscaler {
	if o == nil || o.Ref.Kind != autoscaler {
		return nil
	}
	return s.AutoscalerNamed(o.Ref.Key())
}

// AutoscalerNamed is the same by namespace/name.
func (s *State) AutoscalerNamed(key string) *Autoscaler { a, _ := s.autoscalers.get(key); return a }

// AutoscalerNames are the names of those for which something has been worked out.
func (s *State) AutoscalerNames() []string { return s.autoscalers.keys() }

// Sums are those of its last runs, oldest first.
func (a *Autoscaler) Sums() []AutoscalerSum { return last(a.sums, maxSums) }

// Last is the sum of its last run.
func (a *Autoscaler) Last() *AutoscalerSum {
	if len(a.sums) == 0 {
		return nil
	}
	return &a.sums[len(a.sums)-1]
}

// Recommendations are what the runs of the last while proposed, oldest first, as far as the controller still
// has them in its memory.
func (s *State) Recommendations(a *Autoscaler, window time.Duration) (out []AutoscalerSum) {
	since := s.At - window
	for _, name := range []string{trace.CompKCM, scaledBy} {
		if p := s.Process(name); p != nil {
			since = max(since, p.Since)
		}
	}
	for _, sum := range a.sums {
		if sum.Computed && sum.At >= since {
			out = append(out, sum)
		}
	}
	return out
}

// Proposal is the metric that proposed most; nil where none proposed anything.
func (x *AutoscalerSum) Proposal() *trace.AutoscaleMetric {
	var most *trace.AutoscaleMetric
	for i := range x.Metrics {
		if m := &x.Metrics[i]; m.Error == "" && (most == nil || m.Proposed > most.Proposed) {
			most = m
		}
	}
	return most
}

// Line is the sum in one line: "4 × 90 / 60 = 6 → at most 5 (maxReplicas)".
func (x *AutoscalerSum) Line() string {
	var line string
	m := x.Proposal()
	switch {
	case m != nil:
		line = arithmetic(m)
	case len(x.Metrics) > 0:
		return "no value of " + x.Metrics[0].Name + fmt.Sprintf(" → %d %s", x.Desired, stays(x.Desired))
	case x.Current == 0 && x.Desired == 0:
		return "the target has 0 replicas, set by hand → left alone"
	default:
		line = fmt.Sprintf("it has %d", x.Current)
	}
	if x.Computed && x.Stabilized != x.Proposed {
		which := "highest"
		if x.Stabilized < x.Proposed {
			which = "lowest"
		}
		line += fmt.Sprintf(" → %d (%s of the last %s)", x.Stabilized, which, brief(x.Window))
	}
	bound, why := x.bound()
	switch {
	case why != "":
		line += fmt.Sprintf(" → %s %d (%s)", bound, x.Desired, why)
	case x.Desired != x.Current && (m == nil || x.Proposed != x.Desired):
		line += fmt.Sprintf(" → %d", x.Desired)
	}
	return line
}

// bound is what held the number where it is, if something did.
func (x *AutoscalerSum) bound() (bound, why string) {
	if !x.Computed {
		switch {
		case x.Current > x.Max && x.Desired == x.Max:
			return "at most", "maxReplicas"
		case x.Current < x.Min && x.Desired == x.Min:
			return "at least", "minReplicas"
		}
		return "", ""
	}
	if !x.Limited {
		return "", ""
	}
	switch x.Limit {
	case "TooManyReplicas":
		return "at most", "maxReplicas"
	case "TooFewReplicas":
		return "at least", "minReplicas"
	case "ScaleDownLimit":
		return "at least", "behavior.scaleDown"
	case "ScaleUpLimit":
		if x.Policy {
			return "at most", "behavior.scaleUp"
		}
		return "at most", "twice as many, or 4"
	}
	return "", ""
}

func stays(n int32) string {
	if n == 1 {
		return "stays"
	}
	return "stay"
}

// arithmetic is what a metric's number comes from, the end of what the controller said of it.
func arithmetic(m *trace.AutoscaleMetric) string {
	if i := strings.LastIndex(m.Why, ": "); i >= 0 {
		return m.Why[i+2:]
	}
	return m.Why
}

// Arithmetic is what the number of a metric comes from: "4 × 90 / 60 = 6".
func (x *AutoscalerSum) Arithmetic(m *trace.AutoscaleMetric) string { return arithmetic(m) }

// brief is a duration as people write it: 5m, not 5m0s.
func brief(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	return s
}

// ScaleTarget is the object that an autoscaler scales, and the ref that names it; nil if it is not there.
func (s *State) ScaleTarget(o *Object) (target *Object, ref trace.Ref) {
	hpa, ok := o.Value.(*autoscalingv2.HorizontalPodAutoscaler)
	if !ok {
		return nil, ref
	}
	of := hpa.Spec.ScaleTargetRef
	ref = trace.Ref{APIVersion: of.APIVersion, Kind: of.Kind, Namespace: o.Namespace(), Name: of.Name}
	return s.ObjectOf(ref), ref
}

// Scalers are the autoscalers of an object, by name.
func (s *State) Scalers(of *Object) (out []*Object) {
	s.EachObject("horizontalpodautoscalers", of.Namespace(), func(o *Object) bool {
		if _, ref := s.ScaleTarget(o); ref.Kind == of.Ref.Kind && ref.Name == of.Ref.Name {
			out = append(out, o)
		}
		return true
	})
	return out
}

// MetricNow is a metric of an autoscaler's spec beside what its status says of it.
type MetricNow struct {
	Type, Name      string
	Target, Current string // Current is "<unknown>" where the status has none
}

// MetricsNow are the metrics of an autoscaler, as kubectl get prints them.
func MetricsNow(hpa *autoscalingv2.HorizontalPodAutoscaler) (out []MetricNow) {
	for i := range hpa.Spec.Metrics {
		spec := &hpa.Spec.Metrics[i]
		var status *autoscalingv2.MetricStatus
		if i < len(hpa.Status.CurrentMetrics) && hpa.Status.CurrentMetrics[i].Type == spec.Type {
			status = &hpa.Status.CurrentMetrics[i]
		}
		m := MetricNow{Type: string(spec.Type)}
		var target *autoscalingv2.MetricTarget
		var current *autoscalingv2.MetricValueStatus
		switch {
		case spec.Resource != nil:
			m.Name, target = string(spec.Resource.Name), &spec.Resource.Target
			if status != nil && status.Resource != nil {
				current = &status.Resource.Current
			}
		case spec.ContainerResource != nil:
			m.Name, target = string(spec.ContainerResource.Name)+" of container "+spec.ContainerResource.Container, &spec.ContainerResource.Target
			if status != nil && status.ContainerResource != nil {
				current = &status.ContainerResource.Current
			}
		case spec.Pods != nil:
			m.Name, target = spec.Pods.Metric.Name, &spec.Pods.Target
			if status != nil && status.Pods != nil {
				current = &status.Pods.Current
			}
		case spec.Object != nil:
			m.Name, target = spec.Object.Metric.Name+" of "+spec.Object.DescribedObject.Kind+"/"+spec.Object.DescribedObject.Name, &spec.Object.Target
			if status != nil && status.Object != nil {
				current = &status.Object.Current
			}
		case spec.External != nil:
			m.Name, target = spec.External.Metric.Name, &spec.External.Target
			if status != nil && status.External != nil {
				current = &status.External.Current
			}
		}
		m.Target, m.Current = targetText(target), valueText(target, current)
		out = append(out, m)
	}
	return out
}

func targetText(t *autoscalingv2.MetricTarget) string {
	switch {
	case t == nil:
		return ""
	case t.AverageUtilization != nil:
		return fmt.Sprintf("%d%%", *t.AverageUtilization)
	case t.AverageValue != nil:
		return t.AverageValue.String() + " a pod"
	case t.Value != nil:
		return t.Value.String()
	}
	return ""
}

func valueText(t *autoscalingv2.MetricTarget, v *autoscalingv2.MetricValueStatus) string {
	switch {
	case v == nil || t == nil:
	case t.AverageUtilization != nil && v.AverageUtilization != nil:
		return fmt.Sprintf("%d%%", *v.AverageUtilization)
	case v.AverageValue != nil && (t.AverageValue != nil || v.Value == nil):
		return v.AverageValue.String()
	case v.Value != nil:
		return v.Value.String()
	}
	return "<unknown>"
}

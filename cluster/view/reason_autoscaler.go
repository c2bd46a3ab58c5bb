package view

import (
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	custommetrics "k8s.io/metrics/pkg/apis/custom_metrics"
	externalmetrics "k8s.io/metrics/pkg/apis/external_metrics"
	"k8s.io/metrics/pkg/apis/metrics"

	"kviz/cluster/trace"
)

// autoscale says why an autoscaler's target has as many replicas as it has: the last sum, what
// each metric proposed, and what keeps it from having fewer or more.
func (s *State) autoscale(o *Object) *Reason {
	a := s.Autoscaler(o)
	hpa, ok := o.Value.(*autoscalingv2.HorizontalPodAutoscaler)
	if !ok || a == nil || a.Last() == nil || o.Deleting() {
		return nil
	}
	sum := a.Last()
	target := fmt.Sprintf("%s %s", sum.Target.Kind, sum.Target.Key())
	r := &Reason{}
	switch {
	case !sum.Computed && len(sum.Metrics) > 0:
		r.Says = fmt.Sprintf("%s leaves %s at %s: it has no value of its metric, and without that it scales nothing", o.Ref, target, count(int(sum.Desired), "replica"))
	case sum.Rescale != "":
		r.Says = fmt.Sprintf("%s scales %s from %d to %d: %s", o.Ref, target, sum.Current, sum.Desired, sum.Line())
	default:
		r.Says = fmt.Sprintf("%s keeps %s at %s: %s", o.Ref, target, count(int(sum.Desired), "replica"), sum.Line())
	}
	without := false
	var served []Keeper // of the metrics that have no value
	for i := range sum.Metrics {
		m := &sum.Metrics[i]
		k := Keeper{What: m.Name, Why: strings.TrimPrefix(m.Why, m.Name+": "), Good: m.Error == "", Ref: o.Ref, Event: sum.Event}
		if m.Error != "" {
			k.Why = "no value: " + m.Error
			without = true
		}
		r.From = append(r.From, k)
		if k, ok := s.metricsAPI(m); m.Error != "" && ok {
			served = append(served, k)
		}
	}
	slices.SortFunc(served, func(a, b Keeper) int { return strings.Compare(a.What, b.What) })
	r.From = append(r.From, slices.CompactFunc(served, func(a, b Keeper) bool { return a.What == b.What })...)
	if k, ok := s.heldBack(o, a, sum); ok {
		r.From = append(r.From, k)
	}
	if bound, why := sum.bound(); why != "" {
		r.From = append(r.From, Keeper{What: why, Why: fmt.Sprintf("%s %d, where %d would be", bound, sum.Desired, max(sum.Stabilized, sum.Proposed)), Ref: o.Ref, Event: sum.Event})
	}
	for _, c := range hpa.Status.Conditions {
		if c.Type == autoscalingv2.ScalingActive && c.Status == corev1.ConditionFalse && !without {
			r.From = append(r.From, Keeper{What: string(c.Type), Why: c.Reason + tail(": ", c.Message), Ref: o.Ref, Event: o.Changed})
		}
	}
	if change := a.changed(); change != nil && change.Event != sum.Event {
		r.From = append(r.From, Keeper{
			What: "last change", Good: true, Ref: o.Ref, Event: change.Event,
			Why: fmt.Sprintf("%d to %d, %s ago: %s", change.Current, change.Desired, brief((s.At - change.At).Truncate(1e9)), change.Line()),
		})
	}
	return s.idle(r, autoscaler)
}

// metricsAPI says why the API that an autoscaler reads this metric from cannot answer; false
// where it is served.
func (s *State) metricsAPI(m *trace.AutoscaleMetric) (Keeper, bool) {
	group, from := metrics.GroupName, "a metrics server does: kubectl apply -f manifests/metrics-server.yaml"
	switch autoscalingv2.MetricSourceType(m.Type) {
	case autoscalingv2.PodsMetricSourceType, autoscalingv2.ObjectMetricSourceType:
		group, from = custommetrics.GroupName, "a metrics adapter does: kubectl apply -f manifests/metrics-adapter.yaml"
	case autoscalingv2.ExternalMetricSourceType:
		group, from = externalmetrics.GroupName, "a metrics adapter does: kubectl apply -f manifests/metrics-adapter.yaml"
	}
	none := Keeper{What: group, Why: "nothing serves this API in the cluster; " + from}
	s.EachObject("apiservices", "", func(o *Object) bool {
		svc, ok := o.Value.(*apiregistration.APIService)
		if !ok || svc.Spec.Group != group || o.Deleted {
			return true
		}
		none = Keeper{What: group, Why: "its APIService " + o.Name() + " is not Available yet", Ref: o.Ref, Event: o.Changed}
		for _, c := range svc.Status.Conditions {
			if c.Type == apiregistration.Available {
				none.Good = c.Status == apiregistration.ConditionTrue
				none.Why = "its APIService " + o.Name() + " is not Available: " + c.Reason + tail(": ", c.Message)
			}
		}
		return !none.Good
	})
	return none, !none.Good
}

// changed is the last run that scaled the target; nil if none at hand did.
func (a *Autoscaler) changed() *AutoscalerSum {
	for i := len(a.sums) - 1; i >= 0; i-- {
		if a.sums[i].Rescale != "" {
			return &a.sums[i]
		}
	}
	return nil
}

// heldBack says which recommendation keeps the target from shrinking, and for how long.
func (s *State) heldBack(o *Object, a *Autoscaler, sum *AutoscalerSum) (Keeper, bool) {
	if !sum.Computed || sum.Stabilized == sum.Proposed {
		return Keeper{}, false
	}
	k := Keeper{What: "stabilization", Ref: o.Ref, Event: sum.Event}
	kind := "highest"
	if sum.Stabilized < sum.Proposed {
		kind = "lowest"
	}
	k.Why = fmt.Sprintf("the %s recommendation of the last %s counts, %d; now it is %d", kind, brief(sum.Window), sum.Stabilized, sum.Proposed)
	for _, of := range s.Recommendations(a, sum.Window) {
		if of.Proposed == sum.Stabilized {
			k.Event = of.Event
			if left := of.At + sum.Window - s.At; left > 0 {
				k.Why = fmt.Sprintf("the %s recommendation of the last %s counts: %d, %s ago, so for %s more; now it is %d",
					kind, brief(sum.Window), sum.Stabilized, brief((s.At - of.At).Truncate(1e9)), brief(left.Truncate(1e9)), sum.Proposed)
			}
		}
	}
	return k, true
}

// unknownMetric says why kubectl prints <unknown> for an autoscaler's metric: nobody has
// written status.currentMetrics.
func (s *State) unknownMetric(o *Object) *Reason {
	if o.Ref.Kind != autoscaler || s.Autoscaler(o) != nil {
		return nil
	}
	hpa, ok := o.Value.(*autoscalingv2.HorizontalPodAutoscaler)
	if ok && len(hpa.Status.CurrentMetrics) > 0 {
		return nil
	}
	if texts := o.Inert(); len(texts) > 0 {
		return sentence("%s has no value of its metric, and kubectl prints <unknown>: %s", o.Ref, texts[0])
	}
	a := sentence("%s has no value of its metric yet, and kubectl prints <unknown>", o.Ref)
	if ok {
		for _, c := range hpa.Status.Conditions {
			a.From = append(a.From, Keeper{What: string(c.Type), Why: c.Reason + tail(": ", c.Message), Good: c.Status == corev1.ConditionTrue, Ref: o.Ref, Event: o.Changed})
		}
	}
	return a
}

package view

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

const autoscaler = "HorizontalPodAutoscaler"

// unknownMetric says why kubectl prints <unknown> for an autoscaler's metric: nobody has
// written status.currentMetrics.
func (s *State) unknownMetric(o *Object) *Reason {
	if o.Ref.Kind != autoscaler {
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

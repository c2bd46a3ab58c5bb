package horizontalpodautoscaler

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"kviz/cluster/client"
)

// condition sets a condition. Its time is that of the last change of its status (setConditionInList).
func (r *round) condition(kind autoscalingv2.HorizontalPodAutoscalerConditionType, is corev1.ConditionStatus, reason, message string, args ...any) {
	if len(args) > 0 {
		message = fmt.Sprintf(message, args...)
	}
	list := &r.hpa.Status.Conditions
	at := -1
	for i := range *list {
		if (*list)[i].Type == kind {
			at = i
			break
		}
	}
	if at < 0 {
		*list = append(*list, autoscalingv2.HorizontalPodAutoscalerCondition{Type: kind})
		at = len(*list) - 1
	}
	c := &(*list)[at]
	if c.Status != is {
		c.LastTransitionTime = client.Now(r.run.T)
	}
	c.Status, c.Reason, c.Message = is, reason, message
}

// found tells of the metrics in the status (setStatus).
func (r *round) found(current, desired int32, metrics []autoscalingv2.MetricStatus, rescaled bool) {
	st, generation := &r.hpa.Status, r.hpa.Generation
	*st = autoscalingv2.HorizontalPodAutoscalerStatus{
		CurrentReplicas: current, DesiredReplicas: desired, LastScaleTime: st.LastScaleTime, CurrentMetrics: metrics, Conditions: st.Conditions,
		ObservedGeneration: &generation,
	}
	if rescaled {
		now := client.Now(r.run.T)
		st.LastScaleTime = &now
	}
}

// says reports whether the status says something new.
func (r *round) says() bool { return !equality.Semantic.DeepEqual(r.was, &r.hpa.Status) }

// write writes the status, if it says something new (updateStatusIfNeeded).
func (r *round) write() error {
	if !r.says() {
		return nil
	}
	updated, err := client.UpdateStatus(r.run.T, r.Client, client.HorizontalPodAutoscalers, r.hpa.Namespace, r.hpa)
	if err != nil {
		r.warn("FailedUpdateStatus", "%s", err.Error())
		return fmt.Errorf("failed to update status for %s: %w", r.hpa.Name, err)
	}
	r.written.At(r.run.Key, r.hpas, updated)
	return nil
}

func (r *round) warn(reason, message string, args ...any) {
	r.Events.Event(r.run.T, r.hpa, corev1.EventTypeWarning, reason, message, args...)
}

// scaledToZero reports whether it was the controller that has scaled the target to zero: then it
// may scale it up again (getScaledToZeroConditionStatus).
func scaledToZero(hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	for _, c := range hpa.Status.Conditions {
		if c.Type == autoscalingv2.ScaledToZero {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

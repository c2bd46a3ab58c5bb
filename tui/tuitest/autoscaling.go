package tuitest

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
)

// Autoscaling is a cluster in which an autoscaler follows the load of a Deployment: up to what maxReplicas allows, and,
// since the load has dropped, not yet down again.
func Autoscaling() *Tape {
	t := Calm(3, 3)
	shop := Ref("Deployment", "demo", "shop")
	write := func(replicas int32) {
		d := Deployment(replicas, replicas)
		d.ObjectMeta = meta("Deployment", "demo", "shop", nil)
		d.Status = appsv1.DeploymentStatus{Replicas: replicas, ReadyReplicas: replicas, UpdatedReplicas: replicas, AvailableReplicas: replicas}
		t.madeOf("Deployment", "deployments", "shop", d)
	}
	write(4)
	t.load(shop, trace.LoadFigure{What: "cpu", Curve: "360m, 2m: 100m"}, trace.LoadFigure{What: "metric", Name: "requests-per-second", Curve: "120"})
	runs := []struct{ current, use, ready, proposed, desired int32 }{
		{4, 90, 4, 6, 5}, {5, 72, 5, 6, 5}, {5, 72, 5, 6, 5}, {5, 72, 5, 6, 5}, {5, 72, 5, 6, 5}, {5, 20, 5, 2, 5}, {5, 20, 5, 2, 5},
	}
	for i, r := range runs {
		t.After(15 * time.Second)
		use, utilization := r.use, int32(60)
		hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: meta("HorizontalPodAutoscaler", "demo", "shop", nil)}
		hpa.Spec = autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "shop"}, MinReplicas: ptr(int32(2)), MaxReplicas: 5,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &utilization},
			}}},
		}
		hpa.Status = autoscalingv2.HorizontalPodAutoscalerStatus{
			CurrentReplicas: r.current, DesiredReplicas: r.desired,
			CurrentMetrics: []autoscalingv2.MetricStatus{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricStatus{
				Name: corev1.ResourceCPU, Current: autoscalingv2.MetricValueStatus{AverageUtilization: &use},
			}}},
			Conditions: []autoscalingv2.HorizontalPodAutoscalerCondition{
				{Type: autoscalingv2.AbleToScale, Status: corev1.ConditionTrue, Reason: "ScaleDownStabilized", Message: "recent recommendations were higher than current one, applying the highest recent recommendation"},
				{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionTrue, Reason: "ValidMetricFound", Message: "the HPA was able to successfully calculate a replica count from cpu resource utilization (percentage of request)"},
				{Type: autoscalingv2.ScalingLimited, Status: corev1.ConditionTrue, Reason: "TooManyReplicas", Message: "the desired replica count is more than the maximum replica count"},
			},
		}
		t.madeOf("HorizontalPodAutoscaler", "horizontalpodautoscalers", "shop", hpa)
		stabilized := max(r.proposed, 6)
		sum := &trace.Autoscale{
			Target: shop, Current: r.current, Computed: true, Proposed: r.proposed, Stabilized: stabilized, Allowed: 5, Min: 2, Max: 5, Desired: r.desired,
			Limit: "TooManyReplicas", Limited: true,
			Metrics: []trace.AutoscaleMetric{{
				Type: "Resource", Name: "cpu", Current: fmt.Sprintf("%d%%", r.use), Target: "60%", Ready: int(r.ready), By: int(r.ready), Proposed: r.proposed,
				Why: fmt.Sprintf("%d ready pods use %d%% of what they request, the target is 60%%: %d × %d / 60 = %d", r.ready, r.use, r.current, r.use, r.proposed),
			}},
		}
		if stabilized != r.proposed {
			sum.Window = 5 * time.Minute
		}
		verb, why := "keep", sum.Metrics[0].Why+"; maxReplicas is 5; 5 stay"
		if r.current != r.desired {
			sum.Rescale, verb, why = "cpu resource utilization (percentage of request) above target", "scale", sum.Metrics[0].Why+"; maxReplicas is 5; scale from 4 to 5"
		}
		const controller, queue = "horizontal-pod-autoscaler-controller", "horizontalpodautoscaler"
		move := &trace.QueueItem{Queue: queue, Key: "demo/shop", Ready: 1}
		t.Emit(controller, "", trace.QueueAdd, trace.Ref{}, move)
		taken := *move
		taken.Ready, taken.Processing = 0, 1
		t.Emit(controller, "", trace.QueueGet, trace.Ref{}, &taken)
		start := t.Emit(controller, "", trace.ReconcileStart, Ref("HorizontalPodAutoscaler", "demo", "shop"), &trace.Reconcile{Controller: controller, Key: "demo/shop"})
		t.Emit(controller, "", trace.ReconcileAction, Ref("HorizontalPodAutoscaler", "demo", "shop"), &trace.Action{
			Controller: controller, Key: "demo/shop", Verb: verb, Target: shop, Why: why, Desired: fmt.Sprint(r.desired), Observed: fmt.Sprint(r.current), Autoscale: sum,
		}, start)
		t.Emit(controller, "", trace.ReconcileEnd, Ref("HorizontalPodAutoscaler", "demo", "shop"), &trace.Reconcile{Controller: controller, Key: "demo/shop", Result: "done"}, start)
		done := *move
		done.Ready = 0
		t.Emit(controller, "", trace.QueueDone, trace.Ref{}, &done)
		if i == 0 {
			write(5)
		}
	}
	return t
}

// load sets load of an object.
func (t *Tape) load(of trace.Ref, figures ...trace.LoadFigure) {
	t.Emit(trace.CompSimulation, "", trace.LoadSet, of, &trace.Load{Target: of, Figures: figures})
}

package horizontalpodautoscaler

import (
	"errors"
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/trace"
)

// round is one run for one autoscaler.
type round struct {
	*Controller
	run *reconcile.Run
	hpa *autoscalingv2.HorizontalPodAutoscaler // a copy, whose status is filled in
	was *autoscalingv2.HorizontalPodAutoscalerStatus
	sum *trace.Autoscale
	say []string // the sum in words, a step each

	target    client.Resource
	reference string // KIND/NAMESPACE/NAME
	scale     *autoscalingv1.Scale
	least     int32 // spec.minReplicas
}

// sync looks at one autoscaler. Whatever comes of it, the next look is 15 seconds later
// (reconcileKey, processNextWorkItem).
func (c *Controller) sync(run *reconcile.Run) error {
	if err := c.written.Seen(run.Key); err != nil {
		return err
	}
	obj, ok := c.hpas.Get(run.Key)
	if !ok {
		c.written.Forget(run.Key)
		c.memory.forget(run.Key)
		run.Gone()
		return nil
	}
	hpa := obj.(*autoscalingv2.HorizontalPodAutoscaler).DeepCopy()
	r := &round{Controller: c, run: run, hpa: hpa, was: hpa.Status.DeepCopy(), least: 1}
	if hpa.Spec.MinReplicas != nil {
		r.least = *hpa.Spec.MinReplicas
	}
	err := r.reconcile()
	if err == nil {
		run.Again(SyncPeriod)
	}
	return err
}

// reconcile is reconcileAutoscaler.
func (r *round) reconcile() error {
	if err := r.find(); err != nil {
		return err
	}
	current := r.scale.Spec.Replicas
	r.sum = &trace.Autoscale{Target: r.target.Ref(r.hpa.Namespace, r.scale.Name), Current: current, Min: r.least, Max: r.hpa.Spec.MaxReplicas}
	r.sum.Target.UID = string(r.scale.UID)
	r.memory.begin(r.run.Key, current, r.run.T.Now())

	fromZero := scaledToZero(r.hpa) // it was this controller that has scaled the target to zero
	outside := asksOutside(r.hpa)
	desired, reason, rescale := int32(0), "", true
	var statuses []autoscalingv2.MetricStatus
	var partial error
	switch {
	case current == 0 && (!fromZero || r.least == 0 && !outside):
		rescale = false
		r.condition(autoscalingv2.ScalingActive, corev1.ConditionFalse, "ScalingDisabled", "scaling is disabled since the replica count of the target is zero")
		r.tell("the target has 0 replicas, and not because of this autoscaler, so it is left alone")
		r.run.Waits("the target has spec.replicas 0, which somebody else has set: it is scaled again once it has others")
	case current != 0 && current > r.hpa.Spec.MaxReplicas:
		reason, desired = "Current number of replicas above Spec.MaxReplicas", r.hpa.Spec.MaxReplicas
		r.tell("the target has %d replicas, and maxReplicas is %d", current, desired)
	case current != 0 && current < r.least:
		reason, desired = "Current number of replicas below Spec.MinReplicas", r.least
		r.tell("the target has %s, and minReplicas is %d", plural(int(current), "replica"), desired)
	default:
		metric := ""
		var proposed int32
		proposed, metric, statuses, partial = r.ask()
		if partial != nil && proposed == -1 {
			return r.failed(current, statuses, partial)
		}
		by := ""
		if proposed > desired {
			desired, by = proposed, metric
		}
		if desired > current {
			reason = by + " above target"
		}
		if desired < current {
			reason = "All metrics below target"
		}
		r.sum.Computed, r.sum.Proposed, r.sum.By = true, desired, by
		desired = r.normalize(current, desired)
		if current == 0 && r.least != 0 && fromZero && desired < r.least {
			desired = r.least
			if reason == "" {
				reason = "Current number of replicas below Spec.MinReplicas"
			}
			r.tell("minReplicas is %d now", desired)
		}
		rescale = desired != current
	}
	if !rescale {
		desired = current
	}
	r.sum.Desired = desired
	if rescale {
		r.sum.Rescale = reason
		if err := r.apply(current, desired, reason, outside, statuses); err != nil {
			return err
		}
		r.found(current, desired, statuses, true)
	} else {
		r.found(current, desired, statuses, false)
		r.act("keep", fmt.Sprintf("%d %s", current, verb(int(current), "stays", "stay")))
	}
	r.run.Converged(client.RefOf(r.hpa), r.hpa.Generation, !rescale && partial == nil)
	if err := r.write(); err != nil {
		return err
	}
	return partial
}

// find finds the target's scale, or says why not.
func (r *round) find() error {
	ref := r.hpa.Spec.ScaleTargetRef
	r.reference = fmt.Sprintf("%s/%s/%s", ref.Kind, r.hpa.Namespace, ref.Name)
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return r.lost(err, fmt.Errorf("invalid API version in scale target reference: %w", err))
	}
	if r.target, err = r.kinds.resource(schema.GroupKind{Group: gv.Group, Kind: ref.Kind}); err != nil {
		return r.lost(err, fmt.Errorf("unable to determine resource for scale target reference: %w", err))
	}
	if r.scale, err = r.scaleOf(r.run.T, r.target, r.hpa.Namespace, ref.Name); err != nil {
		return r.lost(err, fmt.Errorf("failed to query scale subresource for %s: %w", r.reference, err))
	}
	r.condition(autoscalingv2.AbleToScale, corev1.ConditionTrue, "SucceededGetScale", "the HPA controller was able to get the target's current scale")
	return nil
}

// lost tells of a target whose scale cannot be read.
func (r *round) lost(err, out error) error {
	r.warn("FailedGetScale", "%s", err.Error())
	r.condition(autoscalingv2.AbleToScale, corev1.ConditionFalse, "FailedGetScale", "the HPA controller was unable to get the target's current scale: %v", err)
	if r.says() {
		r.run.Act("update", client.RefOf(r.hpa), nil, nil, "%s", fmt.Sprintf("the scale of %s cannot be read (%v): write the status", r.reference, err))
	}
	r.run.Waits("nothing is scaled while the scale of %s cannot be read: %v", r.reference, err)
	_ = r.write() // an Event tells why not
	return out
}

// failed tells of metrics of which none says what to do, or too few to scale down by.
func (r *round) failed(current int32, statuses []autoscalingv2.MetricStatus, err error) error {
	r.found(current, r.hpa.Status.DesiredReplicas, statuses, false)
	r.sum.Desired = current
	r.act("keep", fmt.Sprintf("without that nothing is scaled, and %d %s", current, verb(int(current), "stays", "stay")))
	r.run.Waits("%d %s until the metrics have values", current, verb(int(current), "stays", "stay"))
	_ = r.write() // an Event tells why not
	r.warn("FailedComputeMetricsReplicas", "%s", err.Error())
	return fmt.Errorf("failed to compute desired number of replicas based on listed metrics for %s: %w", r.reference, err)
}

// asksOutside reports whether a metric has a value also while there are no pods
// (hasObjectOrExternalMetrics).
func asksOutside(hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	for _, m := range hpa.Spec.Metrics {
		if m.Type == autoscalingv2.ObjectMetricSourceType || m.Type == autoscalingv2.ExternalMetricSourceType {
			return true
		}
	}
	return false
}

// apply writes the new scale and tells of it.
func (r *round) apply(current, desired int32, reason string, outside bool, statuses []autoscalingv2.MetricStatus) error {
	t := r.run.T
	r.act("scale", fmt.Sprintf("scale from %d to %d", current, desired))
	if err := r.rescale(t, r.target, r.scale, r.hpa.Namespace, r.hpa.Spec.ScaleTargetRef.Name, desired); err != nil {
		r.warn("FailedRescale", "New size: %d; reason: %s; error: %v", desired, reason, err.Error())
		r.condition(autoscalingv2.AbleToScale, corev1.ConditionFalse, "FailedUpdateScale", "the HPA controller was unable to update the target scale: %v", err)
		r.found(current, r.hpa.Status.DesiredReplicas, statuses, false)
		_ = r.write() // an Event tells why not
		return fmt.Errorf("failed to rescale %s: %w", r.reference, err)
	}
	r.condition(autoscalingv2.AbleToScale, corev1.ConditionTrue, "SucceededRescale", "the HPA controller was able to update the target scale to %d", desired)
	r.Events.Event(t, r.hpa, corev1.EventTypeNormal, "SuccessfulRescale", "New size: %d; reason: %s", desired, reason)
	r.memory.scaled(r.hpa.Spec.Behavior, r.run.Key, current, desired, t.Now())
	if current > 0 && desired == 0 && r.least == 0 && outside {
		r.condition(autoscalingv2.ScaledToZero, corev1.ConditionTrue, "ScaledToZero", "the HPA controller scaled the workload to zero")
	} else {
		r.condition(autoscalingv2.ScaledToZero, corev1.ConditionFalse, "NotScaledToZero", "the HPA controller did not scale the workload to zero")
	}
	return nil
}

// normalize brings what the metrics propose within what stabilization, policies and bounds allow
// (normalizeDesiredReplicas, normalizeDesiredReplicasWithBehaviors).
func (r *round) normalize(current, proposed int32) int32 {
	now, key, b := r.run.T.Now(), r.run.Key, r.hpa.Spec.Behavior
	var s stabilized
	var out bounded
	if b == nil {
		s = r.memory.stabilize(key, proposed, now)
		out = bound(current, s.replicas, r.least, r.hpa.Spec.MaxReplicas)
	} else {
		if b.ScaleDown != nil && b.ScaleDown.StabilizationWindowSeconds == nil {
			usual := int32(Stabilization.Seconds())
			b.ScaleDown.StabilizationWindowSeconds = &usual
		}
		a := normalization{key: key, up: b.ScaleUp, down: b.ScaleDown, min: r.least, max: r.hpa.Spec.MaxReplicas, current: current, desired: proposed}
		s = r.memory.stabilizeBy(a, now)
		a.desired = s.replicas
		out = r.memory.rate(a, now)
	}
	if s.replicas != proposed {
		r.condition(autoscalingv2.AbleToScale, corev1.ConditionTrue, s.reason, "%s", s.message)
	} else {
		r.condition(autoscalingv2.AbleToScale, corev1.ConditionTrue, "ReadyForNewScale", "recommended size matches current size")
	}
	limited := corev1.ConditionFalse
	if out.replicas != s.replicas {
		limited = corev1.ConditionTrue
	}
	r.condition(autoscalingv2.ScalingLimited, limited, out.reason, "%s", out.message)

	r.sum.Stabilized, r.sum.Allowed, r.sum.Policy = s.replicas, out.allowed, out.policy != ""
	r.sum.Limit, r.sum.Limited = out.reason, out.replicas != s.replicas
	if s.replicas != proposed {
		r.sum.Window = s.window
		r.tellStabilized(s, proposed, now)
	}
	if out.replicas != s.replicas {
		r.tellLimit(out, s.replicas)
	}
	return out.replicas
}

func (r *round) tellStabilized(s stabilized, proposed int32, now time.Time) {
	which, scales, other := "highest", "shrinks", "higher"
	if s.reason == "ScaleUpStabilized" {
		which, scales, other = "lowest", "grows", "lower"
	}
	r.tell("stabilization: the %s recommendation of the last %s counts, so %d", which, s.window, s.replicas)
	if left := s.until.Sub(now); left > 0 {
		r.run.Waits("%d %s recommended, and the target %s to that once no recommendation of the last %s is %s: in %s", proposed, verb(int(proposed), "is", "are"), scales, s.window, other, left.Truncate(time.Second))
	}
}

func (r *round) tellLimit(out bounded, asked int32) {
	switch {
	case out.policy != "":
		r.tell("%s, so %d", out.policy, out.replicas)
		r.run.Waits("%d %s asked for; %s", asked, verb(int(asked), "is", "are"), out.policy)
	case out.reason == tooMany.reason:
		r.tell("maxReplicas is %d", out.replicas)
		r.run.Waits("%d are asked for; maxReplicas is %d", asked, out.replicas)
	default:
		r.tell("minReplicas is %d", out.replicas)
	}
}

// tell adds a step to the sum in words.
func (r *round) tell(step string, args ...any) { r.say = append(r.say, fmt.Sprintf(step, args...)) }

// act says what is done, after the sum.
func (r *round) act(verb, end string) {
	if verb == "keep" && r.says() {
		end += ": write the status"
	}
	why := ""
	for _, s := range append(r.say, end) {
		if why != "" {
			why += "; "
		}
		why += s
	}
	r.run.ActOn(r.sum, verb, why)
}

// podsOf are the pods that a selector selects.
func (c *Controller) podsOf(namespace string, of labels.Selector) []*corev1.Pod {
	var out []*corev1.Pod
	for _, obj := range c.pods.ListNamespace(namespace) {
		if pod := obj.(*corev1.Pod); of.Matches(labels.Set(pod.Labels)) {
			out = append(out, pod)
		}
	}
	return out
}

// selector is that of the target, if no other autoscaler selects one of its pods
// (validateAndParseSelector).
func (r *round) selector() (labels.Selector, error) {
	invalid := func(event, reason, why, condition string) error {
		r.warn(event, "%s", why)
		r.condition(autoscalingv2.ScalingActive, corev1.ConditionFalse, reason, "%s", condition)
		r.tell("%s", why)
		return errors.New(why)
	}
	text, key, namespace := r.scale.Status.Selector, r.run.Key, r.hpa.Namespace
	if text == "" {
		return nil, invalid("SelectorRequired", "InvalidSelector", "selector is required", "the HPA target's scale is missing a selector")
	}
	sel, err := labels.Parse(text)
	if err != nil {
		why := fmt.Sprintf("couldn't convert selector into a corresponding internal selector object: %v", err)
		return nil, invalid("InvalidSelector", "InvalidSelector", why, why)
	}
	if !r.selectors.has(namespace, key) {
		return nil, fmt.Errorf("HPA %s/%s was deleted during reconciliation", namespace, r.hpa.Name)
	}
	r.selectors.put(namespace, key, sel)
	selected := r.podsOf(namespace, sel)
	r.run.Look(len(selected))
	if by := r.selectors.matching(namespace, selected, 2); len(by) > 1 {
		why := fmt.Sprintf("pods by selector %v are controlled by more than one HPA (e.g. %v)", text, by)
		return nil, invalid("AmbiguousSelector", "AmbiguousSelector", why, why)
	}
	return sel, nil
}

package devicetainteviction

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	resourcev1ac "k8s.io/client-go/applyconfigurations/resource/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/trace"
)

// statusPeriod is the shortest time between two writes of a rule's status (ruleStatusPeriod).
const statusPeriod = 10 * time.Second

// syncRule writes into a rule's status how far its evictions are (maybeUpdateRuleStatus).
func (c *Controller) syncRule(run *reconcile.Run, of trace.Ref) error {
	obj, ok := c.rules.Get(of.Name)
	if !ok {
		return nil
	}
	rule := obj.(*resourcev1.DeviceTaintRule)
	if string(rule.UID) != of.UID {
		return nil // another has its name now
	}
	now := client.Now(run.T)
	var was metav1.Condition
	if i := slices.IndexFunc(rule.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == resourcev1.DeviceTaintConditionEvictionInProgress
	}); i >= 0 {
		was = rule.Status.Conditions[i]
		if since := run.T.Now().Sub(was.LastTransitionTime.Time); was.ObservedGeneration == rule.Generation && since < statusPeriod {
			run.Waits("the status of DeviceTaintRule %s was written %s ago: it is not written again before %s are over", rule.Name, since.Round(time.Millisecond), statusPeriod)
			run.Again(statusPeriod - since)
			return nil
		}
	}
	is := c.condition(run, rule)
	is.LastTransitionTime = was.LastTransitionTime // it does not count
	if is == was {
		return nil
	}
	is.LastTransitionTime = now
	run.Act("apply", client.RefOf(rule), string(is.Status)+" "+is.Reason, strings.TrimSpace(string(was.Status)+" "+was.Reason),
		"%s: apply the condition %s=%s (%s) to the status of DeviceTaintRule %s", says(is), is.Type, is.Status, is.Reason, rule.Name)
	configuration, err := json.Marshal(resourcev1ac.DeviceTaintRule(rule.Name).WithUID(rule.UID).WithStatus(
		resourcev1ac.DeviceTaintRuleStatus().WithConditions(&metav1ac.ConditionApplyConfiguration{
			Type: &is.Type, Status: &is.Status, Reason: &is.Reason, Message: &is.Message,
			ObservedGeneration: &is.ObservedGeneration, LastTransitionTime: &is.LastTransitionTime,
		}),
	))
	if err != nil {
		return err
	}
	if _, err := c.Client.ApplyStatus(run.T, client.DeviceTaintRules, "", rule.Name, configuration, Name); err != nil {
		return fmt.Errorf("add condition to DeviceTaintRule status: %w", err)
	}
	return nil
}

// says is what a condition says, for the middle of a sentence.
func says(is metav1.Condition) string {
	if is.Message == "" {
		return "no pod has to go because of it"
	}
	return strings.TrimSuffix(is.Message, ".")
}

// condition is what the status of a rule is to say, without its time.
func (c *Controller) condition(run *reconcile.Run, rule *resourcev1.DeviceTaintRule) metav1.Condition {
	is := metav1.Condition{
		Type: resourcev1.DeviceTaintConditionEvictionInProgress, Status: metav1.ConditionFalse, ObservedGeneration: rule.Generation,
	}
	evicted := c.count[rule.UID]
	switch rule.Spec.Taint.Effect {
	case resourcev1.DeviceTaintEffectNoExecute:
		pending, namespaces := c.pending(run, &c.judge, rule)
		switch {
		case pending > 0:
			is.Status, is.Reason = metav1.ConditionTrue, "PodsPendingEviction"
			is.Message = counted(pending, "1 pod needs to be evicted in ", "%d pods need to be evicted in ") +
				counted(namespaces, "1 namespace.", "%d different namespaces.")
		case evicted > 0:
			is.Reason = "Completed"
		default:
			is.Reason = "NotStarted"
		}
	case resourcev1.DeviceTaintEffectNone:
		published, taken := c.judge.selected(rule)
		pending, namespaces := c.pending(run, c.judge.as(rule, resourcev1.DeviceTaintEffectNoExecute), rule)
		is.Reason = "NoEffect"
		is.Message = counted(published, "1 published device selected. ", "%d published devices selected. ") +
			counted(taken, "1 allocated device selected. ", "%d allocated devices selected. ") +
			counted(pending, "1 pod would be evicted in ", "%d pods would be evicted in ") +
			counted(namespaces, "1 namespace ", "%d different namespaces ") +
			"if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update."
	default:
		is.Reason, is.Message = "OtherEffect", "Eviction only happens for the NoExecute effect."
	}
	if evicted > 0 {
		if is.Message != "" {
			is.Message += " "
		}
		is.Message += counted(evicted, "1 pod ", "%d pods ") + "evicted since starting the controller."
	}
	return is
}

func counted(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf(many, n)
}

// pending counts the pods that must go because of a rule, and their namespaces (countPendingPods).
func (c *Controller) pending(run *reconcile.Run, j *judge, rule *resourcev1.DeviceTaintRule) (n, namespaces int) {
	seen := map[string]bool{}
	all := c.pods.List()
	run.Look(len(all))
	for _, obj := range all {
		pod := obj.(*corev1.Pod)
		if pod.DeletionTimestamp != nil {
			continue
		}
		goes := j.pod(pod)
		if goes == nil {
			continue
		}
		for _, by := range goes.because {
			if by.rule != nil && by.rule.UID == rule.UID {
				n++
				seen[pod.Namespace] = true
			}
		}
	}
	return n, len(seen)
}

// as is a judge of the same claims and slices, for whom a rule has an effect and no other rule is
// there.
func (j *judge) as(rule *resourcev1.DeviceTaintRule, effect resourcev1.DeviceTaintEffect) *judge {
	rule = rule.DeepCopy()
	rule.Spec.Taint.Effect = effect
	other := newJudge()
	other.pools, other.rules[rule.Name] = j.pools, rule
	for _, is := range j.claims { // in any order: each by itself
		other.allocated(is.ResourceClaim)
	}
	return &other
}

// selected counts the published and the allocated devices that a rule selects (countTaintedDevices).
func (j *judge) selected(rule *resourcev1.DeviceTaintRule) (published, taken int) {
	for of, p := range j.pools {
		for _, s := range p.current() {
			for i := range s.Spec.Devices {
				if selects(rule, of.driver, of.name, s.Spec.Devices[i].Name) {
					published++
				}
			}
		}
	}
	for _, claim := range j.claims {
		for _, d := range claim.Status.Allocation.Devices.Results {
			if selects(rule, d.Driver, d.Pool, d.Device) {
				taken++
			}
		}
	}
	return published, taken
}

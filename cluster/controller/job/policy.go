package job

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// verdict is what a Job's podFailurePolicy says of a failed pod.
type verdict struct {
	action  batchv1.PodFailurePolicyAction // "" where no rule matches
	ignored bool                           // the failure does not count
	failJob string                         // why the whole Job fails; "" where it does not
}

// judge finds the first rule that matches a failed pod (matchPodFailurePolicy).
func judge(policy *batchv1.PodFailurePolicy, pod *corev1.Pod) verdict {
	if policy == nil {
		return verdict{}
	}
	for i, rule := range policy.Rules {
		why := ""
		if codes := rule.OnExitCodes; codes != nil {
			c := matchExitCode(pod.Status.ContainerStatuses, codes)
			if c == nil {
				c = matchExitCode(pod.Status.InitContainerStatuses, codes)
			}
			if c == nil {
				continue
			}
			why = fmt.Sprintf("Container %s for pod %s/%s failed with exit code %v matching %v rule at index %d",
				c.Name, pod.Namespace, pod.Name, c.State.Terminated.ExitCode, rule.Action, i)
		} else {
			c := matchCondition(pod.Status.Conditions, rule.OnPodConditions)
			if c == nil {
				continue
			}
			why = fmt.Sprintf("Pod %s/%s has condition %v matching %v rule at index %d", pod.Namespace, pod.Name, c.Type, rule.Action, i)
		}
		switch rule.Action {
		case batchv1.PodFailurePolicyActionIgnore:
			return verdict{action: rule.Action, ignored: true}
		case batchv1.PodFailurePolicyActionFailIndex, batchv1.PodFailurePolicyActionCount:
			return verdict{action: rule.Action}
		case batchv1.PodFailurePolicyActionFailJob:
			return verdict{action: rule.Action, failJob: why}
		}
	}
	return verdict{}
}

func matchExitCode(containers []corev1.ContainerStatus, want *batchv1.PodFailurePolicyOnExitCodesRequirement) *corev1.ContainerStatus {
	for i, c := range containers {
		t := c.State.Terminated
		if t == nil || t.ExitCode == 0 || want.ContainerName != nil && *want.ContainerName != c.Name {
			continue
		}
		in := slices.Contains(want.Values, t.ExitCode)
		if want.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn && in || want.Operator == batchv1.PodFailurePolicyOnExitCodesOpNotIn && !in {
			return &containers[i]
		}
	}
	return nil
}

func matchCondition(conditions []corev1.PodCondition, want []batchv1.PodFailurePolicyOnPodConditionsPattern) *corev1.PodCondition {
	for i, c := range conditions {
		if slices.ContainsFunc(want, func(p batchv1.PodFailurePolicyOnPodConditionsPattern) bool {
			return p.Type == c.Type && p.Status == c.Status
		}) {
			return &conditions[i]
		}
	}
	return nil
}

// met tells which rule of a successPolicy the succeeded indexes fulfil; "" if none
// (matchSuccessPolicy).
func met(policy *batchv1.SuccessPolicy, completions int32, succeeded intervals) string {
	if policy == nil || len(succeeded) == 0 {
		return ""
	}
	for i, rule := range policy.Rules {
		enough := false
		if rule.SucceededIndexes != nil {
			of := parseIndexes(*rule.SucceededIndexes, int(completions))
			if len(of) == 0 {
				continue
			}
			n := of.overlap(succeeded)
			enough = n == of.total() || rule.SucceededCount != nil && n >= int(*rule.SucceededCount)
		} else {
			enough = rule.SucceededCount != nil && succeeded.total() >= int(*rule.SucceededCount)
		}
		if enough {
			return fmt.Sprintf("Matched rules at index %d", i)
		}
	}
	return ""
}

package job

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ended reports whether a Job has ended, well or badly (IsJobFinished).
func ended(job *batchv1.Job) bool {
	return holds(job, batchv1.JobComplete) != nil || holds(job, batchv1.JobFailed) != nil
}

func conditionOf(job *batchv1.Job, t batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		if job.Status.Conditions[i].Type == t {
			return &job.Status.Conditions[i]
		}
	}
	return nil
}

// holds is a condition that is True, or nil.
func holds(job *batchv1.Job, t batchv1.JobConditionType) *batchv1.JobCondition {
	if c := conditionOf(job, t); c != nil && c.Status == corev1.ConditionTrue {
		return c
	}
	return nil
}

func condition(t batchv1.JobConditionType, status corev1.ConditionStatus, reason, message string, now metav1.Time) *batchv1.JobCondition {
	return &batchv1.JobCondition{Type: t, Status: status, LastProbeTime: now, LastTransitionTime: now, Reason: reason, Message: message}
}

// ensure sets a condition and reports whether that was news; that what was never True is
// False is none (ensureJobConditionStatus).
func ensure(job *batchv1.Job, c *batchv1.JobCondition) bool {
	if had := conditionOf(job, c.Type); had != nil {
		if had.Status == c.Status && had.Reason == c.Reason && had.Message == c.Message {
			return false
		}
		*had = *c
		return true
	}
	if c.Status == corev1.ConditionFalse {
		return false
	}
	job.Status.Conditions = append(job.Status.Conditions, *c)
	return true
}

func suspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }

// managedElsewhere is the controller that spec.managedBy leaves a Job to; "" for this one.
func managedElsewhere(job *batchv1.Job) string {
	if by := job.Spec.ManagedBy; by != nil && *by != batchv1.JobControllerName {
		return *by
	}
	return ""
}

// onlyReplaceFailed reports whether a pod is replaced only once it has failed, and not
// while it is being deleted.
func onlyReplaceFailed(job *batchv1.Job) bool {
	return job.Spec.PodReplacementPolicy != nil && *job.Spec.PodReplacementPolicy == batchv1.Failed
}

// failed reports whether a pod of a Job has failed, or counts as such because it is
// being deleted (isPodFailed).
func failed(pod *corev1.Pod, job *batchv1.Job) bool {
	return pod.Status.Phase == corev1.PodFailed ||
		!onlyReplaceFailed(job) && pod.DeletionTimestamp != nil && pod.Status.Phase != corev1.PodSucceeded
}

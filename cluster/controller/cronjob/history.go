package cronjob

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
)

// trim deletes the oldest Jobs that have ended, beyond the limits of the history, and
// reports whether the status is new (cleanupFinishedJobs).
func (c *Controller) trim(run *reconcile.Run, cj *batchv1.CronJob, jobs []*batchv1.Job) (changed bool) {
	for _, h := range []struct {
		how   batchv1.JobConditionType
		limit *int32
		field string
	}{
		{batchv1.JobComplete, cj.Spec.SuccessfulJobsHistoryLimit, "successfulJobsHistoryLimit"},
		{batchv1.JobFailed, cj.Spec.FailedJobsHistoryLimit, "failedJobsHistoryLimit"},
	} {
		if h.limit == nil {
			continue
		}
		var ended []*batchv1.Job
		for _, j := range jobs {
			if finished(j) == h.how {
				ended = append(ended, j)
			}
		}
		slices.SortStableFunc(ended, byStart)
		for _, j := range ended[:max(len(ended)-int(*h.limit), 0)] {
			why := fmt.Sprintf("%d Jobs are %s and %s is %d: delete the oldest, %s", len(ended), h.how, h.field, *h.limit, j.Name)
			changed = c.remove(run, cj, j, why) || changed
		}
	}
	return changed
}

// byStart has Jobs that were started first come first, and those that were not last.
func byStart(a, b *batchv1.Job) int {
	s, t := a.Status.StartTime, b.Status.StartTime
	switch {
	case s == nil && t != nil:
		return 1
	case s != nil && t == nil:
		return -1
	case s.Equal(t):
		return strings.Compare(a.Name, b.Name)
	}
	return s.Compare(t.Time)
}

// remove deletes a Job, and takes it from the list of active ones (deleteJob).
func (c *Controller) remove(run *reconcile.Run, cj *batchv1.CronJob, job *batchv1.Job, why string) bool {
	run.Act("delete", client.Jobs.Ref(job.Namespace, job.Name), nil, nil, "%s", why)
	background := metav1.DeletePropagationBackground
	if err := c.Client.Delete(run.T, client.Jobs, job.Namespace, job.Name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		c.warn(run, cj, "FailedDelete", "Deleted job: %v", err)
		return false
	}
	unlist(cj, job.UID)
	c.Events.Event(run.T, cj, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted job %v", job.Name)
	return true
}

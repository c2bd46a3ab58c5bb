package cronjob

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/controller/ownerref"
	"kviz/cluster/controller/reconcile"
)

// sync looks at one CronJob (sync, syncCronJob).
func (c *Controller) sync(run *reconcile.Run) error {
	obj, ok := c.crons.Get(run.Key)
	if !ok {
		return nil
	}
	cj := obj.(*batchv1.CronJob).DeepCopy()
	jobs := ownerref.ControlledBy[*batchv1.Job](c.jobs, cj.UID)
	run.Look(len(jobs))
	changed := c.trim(run, cj, jobs)
	next, changedToo, err := c.syncOne(run, cj, jobs)
	if changed || changedToo {
		run.Act("update", client.RefOf(cj), nil, nil, "%s: write the status", told(&cj.Status))
		if _, err := client.UpdateStatus(run.T, c.Client, client.CronJobs, cj.Namespace, cj); err != nil {
			return err
		}
	}
	if next > 0 {
		run.Again(next)
		return nil
	}
	return err
}

// told says what the status says.
func told(st *batchv1.CronJobStatus) string {
	s := fmt.Sprintf("%d Jobs run", len(st.Active))
	if len(st.Active) == 1 {
		s = "1 Job runs"
	}
	if at := st.LastScheduleTime; at != nil {
		s += ", the last was due at " + at.UTC().Format(time.RFC3339)
	}
	if at := st.LastSuccessfulTime; at != nil {
		s += ", the last success was at " + at.UTC().Format(time.RFC3339)
	}
	return s
}

// syncOne brings the list of active Jobs up to date and starts the Job that is due. It
// gives how long until the next one, 0 if there is none, and whether the status is new.
func (c *Controller) syncOne(run *reconcile.Run, cj *batchv1.CronJob, jobs []*batchv1.Job) (next time.Duration, changed bool, err error) {
	now := run.T.Now()
	if changed, err = c.follow(run, cj, jobs); err != nil || cj.DeletionTimestamp != nil {
		return 0, changed, err
	}
	if zone := cj.Spec.TimeZone; zone != nil {
		if _, err := time.LoadLocation(*zone); err != nil {
			c.warn(run, cj, "UnknownTimeZone", "invalid timeZone: %q: %s", *zone, err)
			return 0, changed, nil
		}
	}
	if cj.Spec.Suspend != nil && *cj.Spec.Suspend {
		run.Waits("spec.suspend is true: no Job is created, whatever is due")
		return 0, changed, nil
	}
	if strings.Contains(cj.Spec.Schedule, "TZ") {
		c.warn(run, cj, "UnsupportedSchedule", "CRON_TZ or TZ used in schedule %q is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details", cj.Spec.Schedule)
	}
	s, err := parse(cj)
	if err != nil {
		c.warn(run, cj, "UnparseableSchedule", "unparseable schedule: %q : %s", cj.Spec.Schedule, err)
		return 0, changed, nil
	}
	_, due, n, err := latest(cj, now, s, true)
	if due != nil && n == many {
		c.warn(run, cj, "TooManyMissedTimes", "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew")
	}
	if err != nil {
		c.warn(run, cj, "InvalidSchedule", "invalid schedule: %s : %s", cj.Spec.Schedule, err)
		return 0, changed, nil
	}
	if due == nil || !c.mayStart(run, cj, *due, now) {
		next = untilNext(cj, now, s)
		run.Waits("it is %s; by %q nothing is due: the next time is in %s", now.UTC().Format(time.TimeOnly), cj.Spec.Schedule, next.Round(time.Second))
		return next, changed, nil
	}
	noted, more, err := c.start(run, cj, *due)
	changed = changed || more
	if err != nil || !noted {
		return 0, changed, err
	}
	return untilNext(cj, now, s), changed, nil
}

func (c *Controller) warn(run *reconcile.Run, cj *batchv1.CronJob, reason, format string, args ...any) {
	c.Events.Event(run.T, cj, corev1.EventTypeWarning, reason, format, args...)
}

// follow takes from the list of active Jobs those that have ended or are gone.
func (c *Controller) follow(run *reconcile.Run, cj *batchv1.CronJob, jobs []*batchv1.Job) (changed bool, err error) {
	known := map[types.UID]bool{}
	for _, j := range jobs {
		known[j.UID] = true
		active, how := listed(cj, j.UID), finished(j)
		if !active && how == "" {
			// It crashed between creation and status, or the cache is behind, or
			// somebody made a Job by hand.
			fresh, err := client.Get[*batchv1.CronJob](run.T, c.Client, client.CronJobs, cj.Namespace, cj.Name)
			if err != nil {
				return changed, err
			}
			if listed(fresh, j.UID) {
				*cj = *fresh
				continue
			}
			c.warn(run, cj, "UnexpectedJob", "Saw a job that the controller did not create or forgot: %s", j.Name)
			continue
		}
		if how == "" {
			continue
		}
		if active {
			unlist(cj, j.UID)
			c.Events.Event(run.T, cj, corev1.EventTypeNormal, "SawCompletedJob", "Saw completed job: %s, condition: %v", j.Name, how)
			changed = true
		}
		if how == batchv1.JobComplete {
			at, last := j.Status.CompletionTime, cj.Status.LastSuccessfulTime
			if last == nil || at != nil && at.After(last.Time) {
				cj.Status.LastSuccessfulTime, changed = at, true
			}
		}
	}
	for _, ref := range slices.Clone(cj.Status.Active) {
		if known[ref.UID] {
			continue
		}
		_, err := c.Client.Get(run.T, client.Jobs, ref.Namespace, ref.Name) // the cache may be behind
		if apierrors.IsNotFound(err) {
			c.Events.Event(run.T, cj, corev1.EventTypeNormal, "MissingJob", "Active job went missing: %v", ref.Name)
			unlist(cj, ref.UID)
			changed = true
		} else if err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// mayStart reports whether the Job that is due may be started.
func (c *Controller) mayStart(run *reconcile.Run, cj *batchv1.CronJob, due, now time.Time) bool {
	if limit := cj.Spec.StartingDeadlineSeconds; limit != nil && due.Add(time.Second*time.Duration(*limit)).Before(now) {
		run.Waits("%s was due, and startingDeadlineSeconds %d have passed since: it is left out", due.UTC().Format(time.TimeOnly), *limit)
		c.warn(run, cj, "MissSchedule", "Missed scheduled time to start a job: %s", due.UTC().Format(time.RFC1123Z))
		return false
	}
	if slices.ContainsFunc(cj.Status.Active, func(r corev1.ObjectReference) bool { return r.Name == jobName(cj, due) && r.Namespace == cj.Namespace }) ||
		cj.Status.LastScheduleTime.Equal(&metav1.Time{Time: due}) {
		return false // that is done
	}
	if cj.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent && len(cj.Status.Active) > 0 {
		run.Waits("%s is due, %d Job runs still and concurrencyPolicy is Forbid: none is created", due.UTC().Format(time.TimeOnly), len(cj.Status.Active))
		c.Events.Event(run.T, cj, corev1.EventTypeNormal, "JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid")
		return false
	}
	return true
}

// start creates the Job of a time and notes it in the status. noted is false where the Job
// is there already, and is another's or in the status.
func (c *Controller) start(run *reconcile.Run, cj *batchv1.CronJob, due time.Time) (noted, changed bool, err error) {
	if cj.Spec.ConcurrencyPolicy == batchv1.ReplaceConcurrent {
		for _, ref := range slices.Clone(cj.Status.Active) {
			old, err := client.Get[*batchv1.Job](run.T, c.Client, client.Jobs, ref.Namespace, ref.Name)
			if err != nil {
				c.warn(run, cj, "FailedGet", "Get job: %v", err)
				return false, changed, err
			}
			if !c.remove(run, cj, old, fmt.Sprintf("Job %s still runs, and concurrencyPolicy is Replace: delete it", old.Name)) {
				return false, changed, fmt.Errorf("could not replace job %s/%s", old.Namespace, old.Name)
			}
			changed = true
		}
	}
	job, err := jobFor(cj, due)
	if err != nil {
		return false, changed, err
	}
	run.Act("create", client.Jobs.Ref(cj.Namespace, job.Name), nil, nil, "it is %s; by %q the newest time that is due is %s, and no Job was made for it: create %s",
		run.T.Now().UTC().Format(time.TimeOnly), cj.Spec.Schedule, due.UTC().Format(time.RFC3339), job.Name)
	made, err := client.Create(run.T, c.Client, client.Jobs, cj.Namespace, job)
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return false, changed, err
	case apierrors.IsAlreadyExists(err):
		// Made in an earlier try that did not come to write the status, or by somebody else.
		if made, err = client.Get[*batchv1.Job](run.T, c.Client, client.Jobs, cj.Namespace, job.Name); err != nil {
			return false, changed, err
		}
		if !metav1.IsControlledBy(made, cj) || listed(cj, made.UID) {
			return false, changed, nil
		}
	case err != nil:
		c.warn(run, cj, "FailedCreate", "Error creating job: %v", err)
		return false, changed, err
	default:
		c.Events.Event(run.T, cj, corev1.EventTypeNormal, "SuccessfulCreate", "Created job %v", made.Name)
	}
	cj.Status.Active = append(cj.Status.Active, corev1.ObjectReference{
		Kind: "Job", Namespace: made.Namespace, Name: made.Name, UID: made.UID, APIVersion: batchv1.SchemeGroupVersion.String(), ResourceVersion: made.ResourceVersion,
	})
	cj.Status.LastScheduleTime = &metav1.Time{Time: due}
	return true, true, nil
}

// jobName is the name of the Job for a time.
func jobName(cj *batchv1.CronJob, due time.Time) string {
	return fmt.Sprintf("%s-%d", cj.Name, due.Unix()/60)
}

// jobFor makes the Job of a time (getJobFromTemplate2).
func jobFor(cj *batchv1.CronJob, due time.Time) (*batchv1.Job, error) {
	zone := ""
	if cj.Spec.TimeZone != nil {
		zone = *cj.Spec.TimeZone
	}
	in, err := time.LoadLocation(zone)
	if err != nil {
		return nil, err
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: jobName(cj, due), Labels: maps.Clone(cj.Spec.JobTemplate.Labels), Annotations: maps.Clone(cj.Spec.JobTemplate.Annotations),
		CreationTimestamp: metav1.Time{Time: due}, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cj, client.CronJobs.GVK())},
	}}
	if job.Annotations == nil {
		job.Annotations = map[string]string{}
	}
	job.Annotations[batchv1.CronJobScheduledTimestampAnnotation] = due.In(in).Format(time.RFC3339)
	cj.Spec.JobTemplate.Spec.DeepCopyInto(&job.Spec)
	return job, nil
}

func listed(cj *batchv1.CronJob, uid types.UID) bool {
	return slices.ContainsFunc(cj.Status.Active, func(r corev1.ObjectReference) bool { return r.UID == uid })
}

func unlist(cj *batchv1.CronJob, uid types.UID) {
	cj.Status.Active = slices.DeleteFunc(slices.Clone(cj.Status.Active), func(r corev1.ObjectReference) bool { return r.UID == uid })
}

// finished is how a Job has ended, Complete or Failed; "" if it has not.
func finished(j *batchv1.Job) batchv1.JobConditionType {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.Type
		}
	}
	return ""
}

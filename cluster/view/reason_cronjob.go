package view

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// nextTold is how many runs to come an answer lists.
const nextTold = 3

// cronJob says when a CronJob runs next, what came of the last run, and what holds it back.
func (s *State) cronJob(o *Object) *Reason {
	cj, ok := o.Value.(*batchv1.CronJob)
	if !ok || o.Deleting() {
		return nil
	}
	r, err := RunsOf(cj, s.Now(), nextTold)
	if err != nil {
		return sentence("%s starts no Job: %s", o.Ref, err)
	}
	a := &Reason{From: s.cronLines(o, cj, r)}
	last := "; it has not run yet"
	if at := cj.Status.LastScheduleTime; at != nil {
		last = "; its last run was that of " + clockTime(at.In(r.Since.Location()))
	}
	next := "never runs"
	if len(r.Next) > 0 {
		next = fmt.Sprintf("runs next %s", s.due(r.Next[0]))
	}
	suspended := cj.Spec.Suspend != nil && *cj.Spec.Suspend
	switch active := cj.Status.Active; {
	case suspended && len(r.Next) > 0:
		a.Says = fmt.Sprintf("%s is suspended (spec.suspend is true), so no Job is started; by schedule %q it would run next %s%s", o.Ref, cj.Spec.Schedule, s.due(r.Next[0]), last)
	case suspended:
		a.Says = fmt.Sprintf("%s is suspended (spec.suspend is true), so no Job is started", o.Ref)
	case len(r.Missed) > 0 && cj.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent && len(active) > 0:
		a.Says = fmt.Sprintf("%s holds back the run of %s: concurrencyPolicy is Forbid, and Job %s still runs; it starts when that has ended%s", o.Ref, clockTime(r.Missed[0]), active[0].Name, s.tooLate(cj, r.Missed[0], " in time"))
	case len(r.Missed) == 1 && s.Now().Sub(r.Missed[0]) < time.Second && !s.lost(cj, r.Missed[0]):
		a.Says = fmt.Sprintf("%s is about to start the run of %s, by schedule %q", o.Ref, clockTime(r.Missed[0]), cj.Spec.Schedule)
	case len(r.Missed) > 0 && s.lost(cj, r.Missed[0]):
		a.Says = fmt.Sprintf("%s missed %s: the newest was due at %s, more than startingDeadlineSeconds %d ago, so no Job is started for it any more; it %s", o.Ref, missed(r), clockTime(r.Missed[0]), *cj.Spec.StartingDeadlineSeconds, next)
	case len(r.Missed) > 0:
		a.Says = fmt.Sprintf("%s missed %s since %s: only the newest, of %s, is made up for%s; it %s", o.Ref, missed(r), clockTime(r.Since), clockTime(r.Missed[0]), s.tooLate(cj, r.Missed[0], ""), next)
	default:
		a.Says = fmt.Sprintf("%s %s, by schedule %q%s", o.Ref, next, cj.Spec.Schedule, last)
		if cj.Spec.ConcurrencyPolicy == batchv1.ReplaceConcurrent && len(active) > 0 {
			a.Says += fmt.Sprintf("; Job %s still runs, and the next run replaces it, because concurrencyPolicy is Replace", active[0].Name)
		}
	}
	return s.idle(a, "CronJob")
}

// missed counts runs that were missed.
func missed(r Runs) string {
	if r.More {
		return fmt.Sprintf("more than %d runs", len(r.Missed)-1)
	}
	return count(len(r.Missed), "run")
}

// lost reports whether it is too late for a run.
func (s *State) lost(cj *batchv1.CronJob, due time.Time) bool {
	limit := cj.Spec.StartingDeadlineSeconds
	return limit != nil && due.Add(time.Duration(*limit)*time.Second).Before(s.Now())
}

// tooLate says until when a run may be started.
func (s *State) tooLate(cj *batchv1.CronJob, due time.Time, word string) string {
	limit := cj.Spec.StartingDeadlineSeconds
	if limit == nil {
		return ""
	}
	return fmt.Sprintf("%s, at the latest %s (startingDeadlineSeconds %d)", word, s.due(due.Add(time.Duration(*limit)*time.Second)), *limit)
}

// cronLines are the runs to come and the Jobs of those that were.
func (s *State) cronLines(o *Object, cj *batchv1.CronJob, r Runs) (from []Keeper) {
	for i, at := range r.Next {
		k := Keeper{What: "next run", Why: s.due(at), Good: true}
		if i > 0 {
			k.What = "then"
		}
		from = append(from, k)
	}
	objects, jobs := children[*batchv1.Job](s, o)
	for i, j := range jobs {
		k := Keeper{What: "Job " + j.Name, Why: "still runs", Ref: objects[i].Ref, Event: objects[i].Changed, Good: true}
		switch c := jobEnd(j); {
		case c == nil && jobSuspended(j):
			k.Why = "is suspended"
		case c == nil:
		case c.Type == batchv1.JobComplete:
			k.Why = fmt.Sprintf("is Complete; the last %d such are kept (successfulJobsHistoryLimit)", wanted(cj.Spec.SuccessfulJobsHistoryLimit))
		default:
			k.Good = false
			k.Why = fmt.Sprintf("has failed (%s); the last %d such are kept (failedJobsHistoryLimit)", c.Reason, wanted(cj.Spec.FailedJobsHistoryLimit))
		}
		if at := j.Annotations[batchv1.CronJobScheduledTimestampAnnotation]; at != "" {
			k.Why += ", made for " + at
		}
		from = append(from, k)
	}
	return told(from)
}

// jobEnd is the condition with which a Job has ended, or nil.
func jobEnd(job *batchv1.Job) *batchv1.JobCondition {
	if c := jobHolds(job, batchv1.JobComplete); c != nil {
		return c
	}
	return jobHolds(job, batchv1.JobFailed)
}

// jobHolds is a condition of a Job that is True, or nil.
func jobHolds(job *batchv1.Job, t batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		if c := &job.Status.Conditions[i]; c.Type == t && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

func jobSuspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }

package view

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"kviz/cluster/trace"
)

// Schedule is when a CronJob runs.
type Schedule struct {
	Of          trace.Ref
	Text        string // "*/5 * * * *"
	Zone        string // of the spec; "" for that of the controller, UTC
	Suspended   bool
	Concurrency string
	Last        time.Time   // of the last run; zero for none
	Next        []time.Time // in the schedule's time zone
	Missed      int         // runs that were due and have not begun, up to 100
	MissedFrom  time.Time   // the first of them
	Deadline    int64       // startingDeadlineSeconds; -1 for none
	Active      int         // Jobs that run
	Wrong       string      // why there is no next run
}

// Schedule is that of a CronJob, with its next n runs; nil for every other object.
func (s *State) Schedule(o *Object, n int) *Schedule {
	if o == nil || o.Deleted {
		return nil
	}
	v, ok := o.Value.(*batchv1.CronJob)
	if !ok {
		return nil
	}
	c := &Schedule{Of: o.Ref, Text: v.Spec.Schedule, Concurrency: string(v.Spec.ConcurrencyPolicy), Deadline: -1, Active: s.Family(o.UID, "jobs").In(Running)}
	if v.Spec.TimeZone != nil {
		c.Zone = *v.Spec.TimeZone
	}
	c.Suspended = v.Spec.Suspend != nil && *v.Spec.Suspend
	if v.Spec.StartingDeadlineSeconds != nil {
		c.Deadline = *v.Spec.StartingDeadlineSeconds
	}
	since := v.CreationTimestamp.UTC()
	if v.Status.LastScheduleTime != nil {
		c.Last = v.Status.LastScheduleTime.UTC()
		since = c.Last
	}
	plan, zone, err := schedule(v)
	if err != nil {
		c.Wrong = err.Error()
		return c
	}
	now := s.Now().In(zone)
	if c.Deadline >= 0 {
		if at := now.Add(-time.Duration(c.Deadline) * time.Second); at.After(since) {
			since = at // runs before that are not begun any more
		}
	}
	r := runsOf(plan, since.In(zone), now, n)
	c.Next, c.Missed = r.Next, len(r.Missed)
	if c.Missed > 0 {
		c.MissedFrom = r.Missed[c.Missed-1]
	}
	if len(c.Next) == 0 {
		c.Wrong = "no day is like that"
	}
	return c
}

package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
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

// missedCounted is how many missed runs are counted: upstream warns of more than 100.
const missedCounted = 101

// Now is what the cluster's clocks show.
func (s *State) Now() time.Time { return s.Run.Epoch.Add(s.At) }

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
	plan, in, err := planOf(v)
	if err != nil {
		c.Wrong = err.Error()
		return c
	}
	now := s.Now().In(in)
	if c.Deadline >= 0 {
		if at := now.Add(-time.Duration(c.Deadline) * time.Second); at.After(since) {
			since = at // runs before that are not begun any more
		}
	}
	for at := plan.Next(since.In(in)); c.Missed < missedCounted && !at.IsZero() && !at.After(now); at = plan.Next(at) {
		if c.Missed == 0 {
			c.MissedFrom = at
		}
		c.Missed++
	}
	for at := plan.Next(now); len(c.Next) < n && !at.IsZero(); at = plan.Next(at) {
		c.Next = append(c.Next, at)
	}
	if len(c.Next) == 0 {
		c.Wrong = "no day is like that"
	}
	return c
}

// planOf reads the schedule in its time zone (upstream's formatSchedule and ParseCronScheduleWithPanicRecovery: the library
// panics at some texts).
func planOf(v *batchv1.CronJob) (plan cron.Schedule, in *time.Location, err error) {
	in = time.UTC
	text := v.Spec.Schedule
	if zone := v.Spec.TimeZone; zone != nil && !strings.Contains(text, "TZ") {
		if l, err := time.LoadLocation(*zone); err == nil {
			in, text = l, fmt.Sprintf("TZ=%s %s", *zone, text)
		}
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("invalid schedule format: %v", r)
		}
	}()
	plan, err = cron.ParseStandard(text)
	return plan, in, err
}

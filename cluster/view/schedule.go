package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
)

// Runs are the times of a CronJob's schedule around now, in its time zone.
type Runs struct {
	Next   []time.Time // those that come, the first first
	Missed []time.Time // those that were due since the last that was started, the newest first
	More   bool        // more than these were missed
	Since  time.Time   // the last that was started, else when the CronJob was made
}

// maxMissed is how many missed runs are looked for; from a hundred on the controller warns of too many.
const maxMissed = 101

// RunsOf gives n next runs of a CronJob and those that it missed; an error where the
// schedule or the time zone cannot be read, in which case there are none.
func RunsOf(cj *batchv1.CronJob, now time.Time, n int) (r Runs, err error) {
	s, zone, err := schedule(cj)
	if err != nil {
		return r, err
	}
	since := cj.CreationTimestamp.Time
	if last := cj.Status.LastScheduleTime; last != nil {
		since = last.Time
	}
	return runsOf(s, since.In(zone), now.In(zone), n), nil
}

// runsOf gives the times of a schedule after since, up to now and n more.
func runsOf(s cron.Schedule, since, now time.Time, n int) Runs {
	r := Runs{Since: since}
	for at := s.Next(since); !at.IsZero() && !at.After(now); at = s.Next(at) {
		if len(r.Missed) == maxMissed {
			r.More = true
			break
		}
		r.Missed = append(r.Missed, at)
	}
	slices.Reverse(r.Missed)
	for at := s.Next(now); !at.IsZero() && len(r.Next) < n; at = s.Next(at) {
		r.Next = append(r.Next, at)
	}
	return r
}

// schedule reads a CronJob's schedule and time zone as its controller does (formatSchedule and
// ParseCronScheduleWithPanicRecovery: the library panics at some texts).
func schedule(cj *batchv1.CronJob) (s cron.Schedule, zone *time.Location, err error) {
	zone, text := time.UTC, cj.Spec.Schedule
	if name := cj.Spec.TimeZone; name != nil {
		if zone, err = time.LoadLocation(*name); err != nil {
			return nil, nil, fmt.Errorf("spec.timeZone %q is not known: %w", *name, err)
		}
		if !strings.Contains(text, "TZ") {
			text = fmt.Sprintf("TZ=%s %s", *name, text)
		}
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("spec.schedule %q cannot be read: %v", cj.Spec.Schedule, r)
		}
	}()
	if s, err = cron.ParseStandard(text); err != nil {
		err = fmt.Errorf("spec.schedule %q cannot be read: %w", cj.Spec.Schedule, err)
	}
	return s, zone, err
}

package cronjob

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
)

// padding is added to the time of the next run, for clocks that go a little wrong
// (nextScheduleDelta).
const padding = 100 * time.Millisecond

// missed is how many runs did not happen.
type missed int

const (
	none missed = iota
	few
	many // more than 100: worth a warning
)

// parse reads the schedule in its time zone (formatSchedule and
// ParseCronScheduleWithPanicRecovery, for the library panics at some texts).
func parse(cj *batchv1.CronJob) (s cron.Schedule, err error) {
	text := cj.Spec.Schedule
	if zone := cj.Spec.TimeZone; zone != nil && !strings.Contains(text, "TZ") {
		if _, err := time.LoadLocation(*zone); err == nil {
			text = fmt.Sprintf("TZ=%s %s", *zone, text)
		}
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("invalid schedule format: %v", r)
		}
	}()
	return cron.ParseStandard(text)
}

// latest is the newest run that is due by now, nil if none is, counted from earliest: the
// last run, the CronJob's creation or, if that matters here, what startingDeadlineSeconds
// still allows (mostRecentScheduleTime).
//
// It does not go from run to run, of which there may be millions, but from the distance
// of two and how often that fits in.
func latest(cj *batchv1.CronJob, now time.Time, s cron.Schedule, withDeadline bool) (earliest time.Time, due *time.Time, n missed, err error) {
	earliest, now = cj.CreationTimestamp.UTC(), now.UTC() // a schedule without a time zone is in that of the times
	if last := cj.Status.LastScheduleTime; last != nil {
		earliest = last.UTC()
	}
	if limit := cj.Spec.StartingDeadlineSeconds; withDeadline && limit != nil {
		if at := now.Add(-time.Second * time.Duration(*limit)); at.After(earliest) {
			earliest = at
		}
	}
	if longAgo := now.Add(-math.MaxInt64 / 2); earliest.Before(longAgo) { // stored without a creation time; a Duration has 292 years
		earliest = longAgo
	}
	first := s.Next(earliest)
	second := s.Next(first)
	switch {
	case now.Before(first):
		return earliest, nil, none, nil
	case now.Before(second):
		return earliest, &first, none, nil
	}
	distance := int64(second.Sub(first).Round(time.Second).Seconds())
	if distance < 1 { // a day that does not exist, such as February 31
		return earliest, nil, none, errors.New("time difference between two schedules is less than 1 second")
	}
	times := int64(now.Sub(first).Seconds())/distance + 1
	var newest time.Time
	for at := s.Next(first.Add(time.Duration((times-2)*distance) * time.Second)); !at.After(now); at = s.Next(at) {
		newest = at
	}
	switch {
	case times > 100:
		n = many
	case times > 0:
		n = few
	}
	if newest.IsZero() {
		return earliest, nil, n, nil
	}
	return earliest, &newest, n, nil
}

// untilNext is how long until the next run (nextScheduleTimeDuration).
func untilNext(cj *batchv1.CronJob, now time.Time, s cron.Schedule) time.Duration {
	earliest, from, n, err := latest(cj, now, s, false)
	switch {
	case err != nil, from == nil && n != none:
		from = &now
	case from == nil:
		from = &earliest
	}
	return s.Next(*from).Add(padding).Sub(now)
}

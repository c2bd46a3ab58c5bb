package cronjob

import (
	"fmt"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	_ "k8s.io/kubernetes/pkg/controller/cronjob" // what is linked to
	"pgregory.net/rapid"

	"kviz/cluster/controller/upstreamtest"
)

//go:linkname mostRecentScheduleTime k8s.io/kubernetes/pkg/controller/cronjob.mostRecentScheduleTime
func mostRecentScheduleTime(cj *batchv1.CronJob, now time.Time, schedule cron.Schedule, includeStartingDeadlineSeconds bool) (time.Time, *time.Time, int, error)

//go:linkname nextScheduleTimeDuration k8s.io/kubernetes/pkg/controller/cronjob.nextScheduleTimeDuration
func nextScheduleTimeDuration(cj *batchv1.CronJob, now time.Time, schedule cron.Schedule) *time.Duration

// Of any schedule in any time zone, around the nights in which clocks are changed and after clocks that
// jumped, the newest run that is due, how many were missed, and how long until the next
// are what upstream's functions say.
func TestTimesAreUpstreams(t *testing.T) {
	zones := []string{"", "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Kathmandu", "Africa/Casablanca", "Pacific/Apia", "Atlantic/Azores"}
	changes := []time.Time{ // of clocks, in some of them
		time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC), time.Date(2027, 3, 14, 7, 0, 0, 0, time.UTC),
		time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC), time.Date(2026, 4, 4, 15, 0, 0, 0, time.UTC), time.Date(2026, 10, 3, 15, 30, 0, 0, time.UTC),
		time.Date(2026, 9, 6, 4, 0, 0, 0, time.UTC), time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC), time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC),
	}
	upstreamtest.Check(t, "300", func(r *rapid.T) {
		draw := func(what string, least, most int) int { return rapid.IntRange(least, most).Draw(r, what) }
		field := func(what string, least, most int) string {
			n := draw(what, least, most)
			switch draw("form of "+what, 0, 5) {
			case 0:
				return fmt.Sprint(n)
			case 1:
				return fmt.Sprintf("*/%d", max(n, 1))
			case 2:
				return fmt.Sprintf("%d-%d", least, n)
			case 3:
				return fmt.Sprintf("%d,%d", least, n)
			}
			return "*"
		}
		cj := &batchv1.CronJob{}
		switch draw("kind", 0, 9) {
		case 0:
			cj.Spec.Schedule = rapid.SampledFrom([]string{"@hourly", "@daily", "@weekly", "@monthly", "@yearly", "@every 90m", "@every 1s", "@every 37h"}).Draw(r, "schedule")
		case 1:
			cj.Spec.Schedule = fmt.Sprintf("%d %d * * *", draw("minute", 0, 59), draw("hour", 0, 4)) // in the hours that there are twice, or not at all
		default:
			cj.Spec.Schedule = field("minute", 0, 59) + " " + field("hour", 0, 23) + " " + field("day", 1, 31) + " " + field("month", 1, 12) + " " + field("weekday", 0, 6)
		}
		if zone := rapid.SampledFrom(zones).Draw(r, "zone"); zone != "" {
			cj.Spec.TimeZone = &zone
		}
		s, err := parse(cj)
		if err != nil {
			r.Fatalf("%s: %v", cj.Spec.Schedule, err)
		}
		apart := func(what string) time.Duration {
			unit := rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour, 30 * 24 * time.Hour}).Draw(r, what)
			return time.Duration(draw(what+" of them", 0, 60))*unit + time.Duration(draw("milliseconds", 0, 999))*time.Millisecond
		}
		now := rapid.SampledFrom(changes).Draw(r, "change").Add(apart("since the change") - 2*time.Hour)
		cj.CreationTimestamp = metav1.NewTime(now.Add(-apart("age")).Truncate(time.Second))
		if draw("has run", 0, 2) > 0 {
			last := metav1.NewTime(now.Add(-apart("last run")).Truncate(time.Second))
			if draw("clock went back", 0, 5) == 0 {
				last = metav1.NewTime(now.Add(apart("in the future")).Truncate(time.Second))
			}
			cj.Status.LastScheduleTime = &last
		}
		if draw("deadline", 0, 2) == 0 {
			seconds := int64(apart("deadline").Seconds())
			cj.Spec.StartingDeadlineSeconds = &seconds
		}
		for _, with := range []bool{false, true} {
			from, due, n, err := latest(cj, now, s, with)
			wantFrom, wantDue, wantN, wantErr := mostRecentScheduleTime(cj, now, s, with)
			if !from.Equal(wantFrom) || (due == nil) != (wantDue == nil) || due != nil && !due.Equal(*wantDue) || int(n) != wantN || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				r.Fatalf("%q at %s, deadline %v: %s %v %d %v, upstream %s %v %d %v", cj.Spec.Schedule, now, with, from, due, n, err, wantFrom, wantDue, wantN, wantErr)
			}
		}
		if left, want := untilNext(cj, now, s), *nextScheduleTimeDuration(cj, now, s); left != want {
			r.Fatalf("%q at %s: next in %s, upstream in %s", cj.Spec.Schedule, now, left, want)
		}
	})
}

package cronjob

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// One that was stored without a creation time is as old as time can be counted, and the runs that it
// has missed are not gone through one by one.
func TestWithoutACreationTime(t *testing.T) {
	cj := &batchv1.CronJob{Spec: batchv1.CronJobSpec{Schedule: "@every 1s"}}
	s, err := parse(cj)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	_, due, n, err := latest(cj, now, s, true)
	if err != nil || n != many || due == nil || now.Sub(*due) > time.Second {
		t.Errorf("due %v, %v missed, %v", due, n, err)
	}
}

package ttlafterfinished

import (
	"fmt"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	_ "k8s.io/kubernetes/pkg/controller/ttlafterfinished" // what is linked to
	"pgregory.net/rapid"

	"kviz/cluster/controller/upstreamtest"
)

//go:linkname needsCleanup k8s.io/kubernetes/pkg/controller/ttlafterfinished.needsCleanup
func needsCleanup(*batchv1.Job) bool

//go:linkname timeLeft k8s.io/kubernetes/pkg/controller/ttlafterfinished.timeLeft
func timeLeft(klog.Logger, *batchv1.Job, *time.Time) (*time.Duration, *time.Time, error)

// Of any Job at any time, also one that has ended in the future since a clock jumped, it is as long until
// it is to be deleted as upstream's functions say.
func TestTimesAreUpstreams(t *testing.T) {
	upstreamtest.Check(t, "200", func(r *rapid.T) {
		draw := func(what string, least, most int) int { return rapid.IntRange(least, most).Draw(r, what) }
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "once"}}
		if draw("ttl?", 0, 4) > 0 {
			ttl := int32(draw("ttl", 0, 1<<31-1))
			if draw("short", 0, 2) > 0 {
				ttl %= 100
			}
			j.Spec.TTLSecondsAfterFinished = &ttl
		}
		for i := range draw("conditions", 0, 3) {
			c := batchv1.JobCondition{
				Type:   []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuspended, batchv1.JobFailureTarget}[draw(fmt.Sprint("type ", i), 0, 3)],
				Status: []corev1.ConditionStatus{"True", "True", "False"}[draw(fmt.Sprint("status ", i), 0, 2)],
			}
			if draw(fmt.Sprint("timed ", i), 0, 5) > 0 {
				c.LastTransitionTime = metav1.NewTime(now.Add(time.Duration(draw(fmt.Sprint("ended ", i), -200, 50)) * time.Second))
			}
			j.Status.Conditions = append(j.Status.Conditions, c)
		}
		at, has, err := expiry(j)
		if has != needsCleanup(j) {
			r.Fatalf("is to be deleted: %v, upstream %v", has, needsCleanup(j))
		}
		if !has {
			return
		}
		left, _, wantErr := timeLeft(klog.Logger{}, j, &now)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || err == nil && at.Sub(now) != *left {
			r.Fatalf("%s (%v), upstream %v (%v)", at.Sub(now), err, left, wantErr)
		}
	})
}

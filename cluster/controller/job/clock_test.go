package job

import (
	"fmt"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	_ "k8s.io/kubernetes/pkg/controller/job" // what is linked to
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"kviz/cluster/controller/upstreamtest"
)

//go:linkname getRemainingTimeForFailuresCount k8s.io/kubernetes/pkg/controller/job.getRemainingTimeForFailuresCount
func getRemainingTimeForFailuresCount(clock clock.WithTicker, defaultBackoff, maxBackoff time.Duration, failuresCount int32, lastFailureTime *time.Time) time.Duration

//go:linkname getFinishedTime k8s.io/kubernetes/pkg/controller/job.getFinishedTime
func getFinishedTime(*corev1.Pod) time.Time

// However often pods have failed and however the clock has jumped since, no pod is created for as long as
// upstream's function says; and of any pod both find that it ended at the same time.
func TestTimesAreUpstreams(t *testing.T) {
	upstreamtest.Check(t, "300", func(r *rapid.T) {
		draw := func(what string, least, most int) int { return rapid.IntRange(least, most).Draw(r, what) }
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		at := func(what string) metav1.Time {
			if draw(what+"?", 0, 7) == 0 {
				return metav1.Time{}
			}
			return metav1.NewTime(now.Add(time.Duration(draw(what, -1200, 120)) * time.Second))
		}
		last := now.Add(time.Duration(draw("last", -700000, 30000)) * time.Millisecond)
		f := failures{int32(draw("failures", 0, 12)), last}
		if left, want := f.left(now), getRemainingTimeForFailuresCount(clocktesting.NewFakeClock(now), failureBackoff, maxFailureBackoff, f.n, &last); left != want {
			r.Fatalf("%d failures, the last %s ago: wait %s, upstream %s", f.n, now.Sub(last), left, want)
		}
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at("created")}}
		statuses := func(of string) (list []corev1.ContainerStatus) {
			for i := range draw(of, 0, 2) {
				c := corev1.ContainerStatus{Name: fmt.Sprint(of, i)}
				if draw(fmt.Sprint(of, i, " ended"), 0, 3) > 0 {
					c.State.Terminated = &corev1.ContainerStateTerminated{FinishedAt: at(fmt.Sprint(of, i))}
				}
				list = append(list, c)
				init := corev1.Container{Name: c.Name}
				if draw(fmt.Sprint(of, i, " restarts"), 0, 1) == 0 {
					init.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
				}
				p.Spec.InitContainers = append(p.Spec.InitContainers, init)
			}
			return list
		}
		p.Status.ContainerStatuses, p.Status.InitContainerStatuses = statuses("main"), statuses("init")
		if draw("ready", 0, 1) == 0 {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: []corev1.ConditionStatus{"True", "False"}[draw("is ready", 0, 1)], LastTransitionTime: at("not ready")}}
		}
		if draw("deleted", 0, 1) == 0 {
			p.DeletionTimestamp = ptr.To(at("deletion"))
			if draw("grace", 0, 1) == 0 {
				p.DeletionGracePeriodSeconds = ptr.To[int64](30)
			}
		}
		if here, there := finished(p), getFinishedTime(p); !here.Equal(there) {
			r.Fatalf("ended at %s, upstream %s: %+v", here, there, p)
		}
	})
}

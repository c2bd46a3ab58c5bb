package ttlafterfinished_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/ttlafterfinished"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func start(b *clienttest.Bench) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
	f := informer.NewFactory(p, p.Lane, b.Client())
	ttlafterfinished.New(reconcile.NewEnv(p, ttlafterfinished.Name, ttlafterfinished.Name, b.Client(), f, 1)).Start()
	f.Start()
	return p
}

// Of three Jobs one has no limit, one gets more time before its own is over, also while
// the controller is dead, and one goes in time. Each is there until then.
func TestDeletesJobsInTime(t *testing.T) {
	there := func(b *clienttest.Bench) (names string) {
		for _, o := range b.Objects(client.Jobs) {
			if j := o.(*batchv1.Job); j.DeletionTimestamp == nil {
				names += j.Name + " "
			}
		}
		return names
	}
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
		c := b.Client()
		p := start(b)
		job := func(name string, ttl *int32) {
			clienttest.Must(client.Create(task, c, client.Jobs, "demo", &batchv1.Job{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{TTLSecondsAfterFinished: ttl},
				Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: client.Now(task)}}},
			}))
		}
		hundred, more := int32(100), int32(300)
		job("for-ever", nil)
		job("longer", &hundred)
		job("short", &hundred)
		task.Sleep(50 * time.Second)
		clienttest.Note(task, "longer gets 300 s, and the controller is started anew")
		p.Kill()
		j := clienttest.Must(client.Get[*batchv1.Job](task, c, client.Jobs, "demo", "longer"))
		j.Spec.TTLSecondsAfterFinished = &more
		clienttest.Must(client.Update(task, c, client.Jobs, "demo", j))
		start(b)
		for _, want := range []struct {
			at   time.Duration
			jobs string
		}{{99 * time.Second, "for-ever longer short "}, {101 * time.Second, "for-ever longer "}, {299 * time.Second, "for-ever longer "}, {301 * time.Second, "for-ever "}, {time.Hour, "for-ever "}} {
			task.SleepUntil(b.Kernel.Epoch().Add(want.at))
			if got := there(b); got != want.jobs {
				t.Errorf("after %s: %q, want %q", want.at, got, want.jobs)
			}
		}
	})
	clienttest.Golden(t, "life.txt", b.Transcript(trace.ReconcileAction, trace.CommandStart))
}

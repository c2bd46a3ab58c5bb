package cronjob_test

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/cronjob"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

var story = []trace.Kind{trace.ReconcileAction, trace.EventRecorded, trace.CommandStart}

func start(b *clienttest.Bench, c client.Interface) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
	f := informer.NewFactory(p, p.Lane, c)
	cronjob.New(reconcile.NewEnv(p, cronjob.Name, cronjob.Name, c, f, 1)).Start()
	f.Start()
	return p
}

func number(n int32) *int32 { return &n }

func tick(change func(*batchv1.CronJobSpec)) *batchv1.CronJob {
	cj := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "tick"}, Spec: batchv1.CronJobSpec{
		Schedule: "*/5 * * * *", ConcurrencyPolicy: batchv1.AllowConcurrent, SuccessfulJobsHistoryLimit: number(2), FailedJobsHistoryLimit: number(1),
	}}
	if change != nil {
		change(&cj.Spec)
	}
	return cj
}

// end has a Job be over.
func end(t *sim.Task, c client.Interface, name string, how batchv1.JobConditionType) {
	j, err := client.Get[*batchv1.Job](t, c, client.Jobs, "demo", name)
	if err != nil {
		return
	}
	now := client.Now(t)
	if j.Status.StartTime = &j.CreationTimestamp; how == batchv1.JobComplete {
		j.Status.CompletionTime = &now
	}
	j.Status.Conditions = []batchv1.JobCondition{{Type: how, Status: corev1.ConditionTrue, LastTransitionTime: now}}
	_, _ = client.UpdateStatus(t, c, client.Jobs, "demo", j)
}

// An hour of a CronJob: its Jobs succeed and fail and the oldest go, the controller is dead
// for a while, the schedule changes to another time zone, one Job does not end and is
// waited for, then replaced, and in the end it is suspended.
func TestAnHour(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		p := start(b, c)
		clienttest.Must(client.Create(t, c, client.CronJobs, "demo", tick(nil)))
		change := func(note string, fn func(*batchv1.CronJobSpec)) {
			clienttest.Note(t, note)
			cj := clienttest.Must(client.Get[*batchv1.CronJob](t, c, client.CronJobs, "demo", "tick"))
			fn(&cj.Spec)
			clienttest.Must(client.Update(t, c, client.CronJobs, "demo", cj))
		}
		pass := func(d time.Duration, how batchv1.JobConditionType) {
			for until := t.Elapsed() + d; t.Elapsed() < until; {
				t.Sleep(30 * time.Second)
				for _, o := range b.Objects(client.Jobs) {
					if j := o.(*batchv1.Job); how != "" && len(j.Status.Conditions) == 0 {
						end(t, c, j.Name, how)
					}
				}
			}
		}
		pass(18*time.Minute, batchv1.JobComplete)
		pass(10*time.Minute, batchv1.JobFailed)
		clienttest.Note(t, "the controller is dead for 12 minutes")
		p.Kill()
		t.Sleep(12 * time.Minute)
		start(b, c)
		pass(5*time.Minute, batchv1.JobComplete)
		change("every 10 minutes of an hour in Kathmandu; the next Job does not end, and the policy is Forbid", func(s *batchv1.CronJobSpec) {
			zone := "Asia/Kathmandu"
			s.Schedule, s.TimeZone, s.ConcurrencyPolicy = "0-59/10 * * * *", &zone, batchv1.ForbidConcurrent
		})
		pass(22*time.Minute, "")
		change("the policy is Replace", func(s *batchv1.CronJobSpec) { s.ConcurrencyPolicy = batchv1.ReplaceConcurrent })
		pass(10*time.Minute, "")
		change("suspended", func(s *batchv1.CronJobSpec) {
			yes := true
			s.Suspend = &yes
		})
		pass(30*time.Minute, batchv1.JobComplete)
		change("resumed, with a deadline of 10 s", func(s *batchv1.CronJobSpec) {
			no, limit := false, int64(10)
			s.Suspend, s.StartingDeadlineSeconds = &no, &limit
		})
		pass(11*time.Minute, batchv1.JobComplete)
	})
	clienttest.Golden(t, "life.txt", b.Transcript(story...))
}

// Whatever happens, and whenever the controller is killed, there is one Job for each time
// at most, and in a quiet quarter of an hour each time has its own.
func TestConvergesFromAnything(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		ops := rapid.SliceOfN(rapid.IntRange(0, 6), 1, 20).Draw(r, "ops")
		b := clienttest.Run(r, rapid.Uint64().Draw(r, "seed"), func(b *clienttest.Bench, t *sim.Task) {
			c := b.Client()
			p := start(b, c)
			clienttest.Must(client.Create(t, c, client.CronJobs, "demo", tick(func(s *batchv1.CronJobSpec) {
				s.Schedule, s.SuccessfulJobsHistoryLimit = "* * * * *", number(1000)
			})))
			for n, op := range ops {
				switch op {
				case 0, 1:
					p.Kill()
					t.Sleep(time.Duration(n*op) * 7 * time.Second)
					p = start(b, c)
				case 2:
					b.EndWatchesOf(client.CronJobs)
				case 3:
					b.EndWatchesOf(client.Jobs)
				case 4:
					b.Compact()
				case 5:
					if jobs := b.Objects(client.Jobs); len(jobs) > 0 {
						end(t, c, jobs[n%len(jobs)].(*batchv1.Job).Name, batchv1.JobComplete)
					}
				default:
					t.Sleep(time.Duration(n) * 11 * time.Second)
				}
			}
			t.Sleep(15*time.Minute + 30*time.Second - t.Now().Sub(t.Now().Truncate(time.Minute)))
		})
		times := map[string]bool{}
		for _, o := range b.Objects(client.Jobs) {
			at := o.(*batchv1.Job).Annotations[batchv1.CronJobScheduledTimestampAnnotation]
			if times[at] {
				r.Fatalf("two Jobs for %s", at)
			}
			times[at] = true
		}
		cj := b.Object(client.CronJobs, "demo", "tick").(*batchv1.CronJob)
		for at, n := cj.Status.LastScheduleTime.Time, 0; n < 12; at, n = at.Add(-time.Minute), n+1 {
			if !times[at.UTC().Format(time.RFC3339)] {
				r.Fatalf("no Job for %s", at.UTC())
			}
		}
		if want := fmt.Sprint(b.Kernel.Now().UTC().Truncate(time.Minute)); fmt.Sprint(cj.Status.LastScheduleTime.UTC()) != want {
			r.Fatalf("the last run was due at %s, want %s", cj.Status.LastScheduleTime.UTC(), want)
		}
	})
}

package job_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/job"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

var story = []trace.Kind{trace.ReconcileAction, trace.EventRecorded, trace.Converged, trace.CommandStart}

func start(b *clienttest.Bench) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
	f := informer.NewFactory(p, p.Lane, b.Client())
	job.New(reconcile.NewEnv(p, job.Name, job.Name, b.Client(), f, 1)).Start()
	f.Start()
	return p
}

// kubelet runs every pod for two seconds; code says with what exit code it ends, or -1 if
// it does not.
func kubelet(t *sim.Task, b *clienttest.Bench, code func(*corev1.Pod) int32) {
	c := b.Client()
	end := func(t *sim.Task, name string, code int32) {
		pod, err := client.Get[*corev1.Pod](t, c, client.Pods, "demo", name)
		if err != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			return
		}
		pod.Status.Phase = corev1.PodSucceeded
		if code != 0 {
			pod.Status.Phase = corev1.PodFailed
		}
		pod.Status.Conditions = nil
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: client.Now(t)}}}}
		_, _ = client.UpdateStatus(t, c, client.Pods, "demo", pod)
	}
	t.Process().Go("kubelet", func(t *sim.Task) {
		w := clienttest.Must(c.Watch(t, client.Pods, "", metav1.ListOptions{}))
		for {
			e, ok := w.Recv(t)
			if !ok {
				return
			}
			pod := e.Object.(*corev1.Pod)
			t.SetCauses()
			switch {
			case e.Type == watch.Added:
				t.Process().Go(pod.Name, func(t *sim.Task) {
					if now, err := client.Get[*corev1.Pod](t, c, client.Pods, "demo", pod.Name); err == nil {
						now.Status.Phase = corev1.PodRunning
						now.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
						_, _ = c.CreateSub(t, client.Pods, "demo", pod.Name, "binding", &corev1.Binding{Target: corev1.ObjectReference{Name: "node-1"}})
						now.ResourceVersion = ""
						_, _ = client.UpdateStatus(t, c, client.Pods, "demo", now)
					}
					if code := code(pod); code >= 0 {
						t.Sleep(2 * time.Second)
						end(t, pod.Name, code)
					}
				})
			case e.Type == watch.Modified && pod.DeletionTimestamp != nil:
				t.Process().Go(pod.Name, func(t *sim.Task) {
					t.Sleep(time.Second)
					end(t, pod.Name, 137)
					zero := int64(0)
					_ = c.Delete(t, client.Pods, "demo", pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero})
				})
			}
		}
	})
}

func once(change func(*batchv1.JobSpec)) *batchv1.Job {
	one, limit := int32(1), int32(6)
	labels := map[string]string{"job": "once"}
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "once"}, Spec: batchv1.JobSpec{
		Parallelism: &one, Completions: &one, BackoffLimit: &limit, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "once:1"}}}},
	}}
	if change != nil {
		change(&j.Spec)
	}
	return j
}

func number(n int32) *int32 { return &n }

// byTry is an exit code for each pod in turn; the last one is for all that come later.
func byTry(codes ...int32) func(*corev1.Pod) int32 {
	n := 0
	return func(*corev1.Pod) int32 {
		n++
		return codes[min(n, len(codes))-1]
	}
}

func run(t *testing.T, name string, wait time.Duration, j *batchv1.Job, code func(*corev1.Pod) int32) *clienttest.Bench {
	t.Helper()
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		kubelet(t, b, code)
		start(b)
		clienttest.Must(client.Create(t, b.Client(), client.Jobs, "demo", j))
		t.Sleep(wait)
	})
	clienttest.Golden(t, name, b.Transcript(story...))
	return b
}

func status(b *clienttest.Bench) batchv1.JobStatus {
	return b.Object(client.Jobs, "demo", "once").(*batchv1.Job).Status
}

// Five successes, two at a time; one pod fails, and the next waits for it.
func TestRunsToCompletion(t *testing.T) {
	b := run(t, "completion.txt", 2*time.Minute, once(func(s *batchv1.JobSpec) { s.Completions, s.Parallelism = number(5), number(2) }), byTry(0, 1, 0))
	if st := status(b); st.Succeeded != 5 || st.Failed != 1 || st.CompletionTime == nil {
		t.Errorf("status %+v", st)
	}
}

// A pod that always fails, until the limit is reached: 10 s, 20 s, 40 s.
func TestBackOffAndLimit(t *testing.T) {
	b := run(t, "backoff.txt", 5*time.Minute, once(func(s *batchv1.JobSpec) { s.BackoffLimit = number(3) }), byTry(1))
	if st := status(b); st.Failed != 4 {
		t.Errorf("status %+v", st)
	}
}

// Each index has its own limit: index 1 fails for good, the others succeed.
func TestIndexesHaveTheirLimits(t *testing.T) {
	indexed := batchv1.IndexedCompletion
	b := run(t, "indexes.txt", 3*time.Minute, once(func(s *batchv1.JobSpec) {
		s.CompletionMode, s.Completions, s.Parallelism, s.BackoffLimitPerIndex = &indexed, number(3), number(3), number(1)
	}), func(p *corev1.Pod) int32 {
		if p.Annotations[batchv1.JobCompletionIndexAnnotation] == "1" {
			return 1
		}
		return 0
	})
	if st := status(b); st.CompletedIndexes != "0,2" || *st.FailedIndexes != "1" || st.Failed != 2 {
		t.Errorf("status %+v", st)
	}
}

// Suspended from the start, resumed, suspended while it runs, and too long in the end.
func TestSuspendAndDeadline(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		kubelet(t, b, byTry(-1))
		start(b)
		yes := true
		clienttest.Must(client.Create(t, c, client.Jobs, "demo", once(func(s *batchv1.JobSpec) {
			limit := int64(30)
			s.Suspend, s.ActiveDeadlineSeconds = &yes, &limit
		})))
		for _, suspend := range []bool{false, true, false} {
			t.Sleep(20 * time.Second)
			clienttest.Note(t, fmt.Sprintf("suspend: %v", suspend))
			j := clienttest.Must(client.Get[*batchv1.Job](t, c, client.Jobs, "demo", "once"))
			j.Spec.Suspend = &suspend
			clienttest.Must(client.Update(t, c, client.Jobs, "demo", j))
		}
		t.Sleep(time.Minute)
	})
	clienttest.Golden(t, "suspend.txt", b.Transcript(story...))
	conditions := status(b).Conditions
	if !slices.ContainsFunc(conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobFailed && c.Reason == batchv1.JobReasonDeadlineExceeded
	}) {
		t.Errorf("conditions %+v", conditions)
	}
	if n := len(b.Objects(client.Pods)); n > 0 {
		t.Errorf("%d pods are left", n)
	}
}

// What another controller manages is left alone.
func TestLeavesWhatOthersManage(t *testing.T) {
	other := "example.com/controller"
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		start(b)
		clienttest.Must(client.Create(t, b.Client(), client.Jobs, "demo", once(func(s *batchv1.JobSpec) { s.ManagedBy = &other })))
		t.Sleep(time.Minute)
	})
	if got := b.Transcript(trace.ReconcileAction); got != "" {
		t.Errorf("it acted:\n%s", got)
	}
}

// A Job that is deleted leaves its pods to the garbage collector, and none of them with
// the finalizer.
func TestOrphansLoseTheirFinalizer(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		kubelet(t, b, byTry(-1))
		start(b)
		clienttest.Must(client.Create(t, b.Client(), client.Jobs, "demo", once(nil)))
		t.Sleep(5 * time.Second)
		clienttest.Must(0, b.Client().Delete(t, client.Jobs, "demo", "once", metav1.DeleteOptions{}))
		t.Sleep(5 * time.Second)
	})
	for _, o := range b.Objects(client.Pods) {
		if p := o.(*corev1.Pod); len(p.Finalizers) > 0 {
			t.Errorf("%s has %v", p.Name, p.Finalizers)
		}
	}
	clienttest.Golden(t, "orphan.txt", b.Transcript(story...))
}

// Whatever happens, and whenever the controller is killed, as many pods succeed as are
// asked for, each counts once, and none is left with the finalizer.
func TestConvergesFromAnything(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		ops := rapid.SliceOfN(rapid.IntRange(0, 7), 1, 20).Draw(r, "ops")
		codes := rapid.SliceOfN(rapid.SampledFrom([]int32{0, 0, 1}), 1, 8).Draw(r, "codes")
		mode := rapid.SampledFrom([]batchv1.CompletionMode{batchv1.NonIndexedCompletion, batchv1.IndexedCompletion}).Draw(r, "mode")
		b := clienttest.Run(r, rapid.Uint64().Draw(r, "seed"), func(b *clienttest.Bench, t *sim.Task) {
			c := b.Client()
			kubelet(t, b, byTry(append(codes, 0)...))
			p := start(b)
			clienttest.Must(client.Create(t, c, client.Jobs, "demo", once(func(s *batchv1.JobSpec) {
				s.CompletionMode, s.Completions, s.Parallelism, s.BackoffLimit = &mode, number(4), number(2), number(100)
			})))
			for n, op := range ops {
				switch op {
				case 0, 1:
					if pods := b.Objects(client.Pods); len(pods) > 0 {
						_ = c.Delete(t, client.Pods, "demo", pods[n%len(pods)].(*corev1.Pod).Name, metav1.DeleteOptions{})
					}
				case 2, 3:
					p.Kill()
					p = start(b)
				case 4:
					b.EndWatchesOf(client.Jobs)
				case 5:
					b.Compact()
				default:
					t.Sleep(time.Duration(n*op) * 100 * time.Millisecond)
				}
			}
			t.Sleep(2 * time.Hour)
		})
		st := status(b)
		if st.Succeeded != 4 || st.Active != 0 || st.CompletionTime == nil || len(st.UncountedTerminatedPods.Succeeded)+len(st.UncountedTerminatedPods.Failed) > 0 {
			r.Fatalf("status %+v", st)
		}
		for _, o := range b.Objects(client.Pods) {
			if p := o.(*corev1.Pod); len(p.Finalizers) > 0 {
				r.Fatalf("%s has %v", p.Name, p.Finalizers)
			}
		}
	})
}

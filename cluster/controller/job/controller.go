// Package job is the Job controller: it has pods run until enough of them have succeeded,
// and counts each pod that ends exactly once.
//
// The worked idea. A Job wants completions: 5, two at a time (parallelism: 2), and has 2
// pods that succeeded and 1 that runs:
//
//  1. the pods that ended are counted: their UIDs are written into
//     status.uncountedTerminatedPods, then the finalizer batch.kubernetes.io/job-tracking
//     is taken from them, and only then they move into status.succeeded. If the
//     controller dies in between, the next one sees from finalizer and UID how far it got
//  2. 5 - 2 = 3 pods have still to succeed, 2 may run at a time, 1 does: create 1
//  3. after failures it waits with that: 10 s, 20 s, 40 s … up to 10 minutes
//  4. once the end is certain, the status says so in two steps: SuccessCriteriaMet or
//     FailureTarget at once, Complete or Failed when no pod of the Job is left running
//
// Changes of pods do not wake it at once but a second later, so that a Job of a thousand
// pods is not looked at a thousand times.
//
// Mirrors pkg/controller/job. Simplified: no metrics, no pod groups (alpha). Nothing is watched before the first Job. Start reading at
// [Controller.sync].
package job

import (
	"maps"
	"reflect"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/controller/expect"
	"kviz/cluster/controller/ownerref"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Absent,
	What: "the metrics and the pod groups of the Job controller",
})

// Name is the controller's name.
const Name = "job-controller"

// Upstream's numbers.
const (
	batchPeriod       = time.Second      // from a change of a pod to the sync
	apiBackoff        = time.Second      // after an error
	maxAPIBackoff     = time.Minute      //
	failureBackoff    = 10 * time.Second // before a failed pod is replaced
	maxFailureBackoff = 10 * time.Minute //
	maxUncounted      = 500              // pods that one status names
	maxPodsPerSync    = 500              // created or deleted
)

// Controller is the Job controller.
type Controller struct {
	*reconcile.Env
	jobs, pods *informer.Informer
	expect     *expect.Expectations
	written    *expect.Written
	loop       *reconcile.Loop
	orphans    *reconcile.Loop // pods with a finalizer of a Job that does not count them

	failures map[string]failures           // by key of the Job
	removed  map[string]map[types.UID]bool // pods whose finalizer is gone, though the cache still has it
	finished map[types.UID]bool            // Jobs that have ended, though the cache does not say so
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	return &Controller{Env: env, expect: expect.New(), failures: map[string]failures{}, removed: map[string]map[types.UID]bool{}, finished: map[types.UID]bool{}}
}

// Start waits for the first Job and then begins to work.
func (c *Controller) Start() {
	c.Process.Go("await", func(t *sim.Task) {
		client.AwaitUseOf(t, c.Client, client.Jobs)
		c.watch()
		c.loop.Start(c.jobs, c.pods)
		c.orphans.Start(c.jobs, c.pods)
	})
}

func (c *Controller) watch() {
	c.jobs, c.pods = c.Informers.For(client.Jobs), c.Informers.For(client.Pods)
	c.loop = reconcile.NewLoop(c.Env, "job", client.Jobs, c.sync)
	c.orphans = reconcile.NewLoop(c.Env, "job_orphan_pod", client.Pods, c.syncOrphan)
	c.orphans.RefOf = orphanRef
	for _, l := range []*reconcile.Loop{c.loop, c.orphans} {
		l.SetBaseDelay(apiBackoff)
		l.SetMaxDelay(maxAPIBackoff)
		l.Persistent = true
	}
	c.written = expect.NewWritten(c.pods, c.jobs)
	ownerref.AddIndex(c.pods)
	c.jobs.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.loop.Add(t, informer.KeyOf(obj)) },
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			c.updateJob(t, old.(*batchv1.Job), obj.(*batchv1.Job))
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.deleteJob(t, obj.(*batchv1.Job)) },
	})
	c.pods.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.addPod(t, obj.(*corev1.Pod)) },
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			c.updatePod(t, old.(*corev1.Pod), obj.(*corev1.Pod))
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.deletePod(t, obj.(*corev1.Pod), true) },
	})
}

// later has a Job looked at a second from now.
func (c *Controller) later(t *sim.Task, job *batchv1.Job) {
	c.loop.AddAfter(t, informer.KeyOf(job), batchPeriod)
}

func (c *Controller) updateJob(t *sim.Task, old, job *batchv1.Job) {
	if ended(job) {
		c.orphans.Add(t, selectorKey(job)) // none should be left
		return
	}
	if old.Generation == job.Generation {
		c.later(t, job)
	} else {
		c.loop.Add(t, informer.KeyOf(job))
	}
	was, is := old.Spec.ActiveDeadlineSeconds, job.Spec.ActiveDeadlineSeconds
	if job.Status.StartTime != nil && is != nil && (was == nil || *was != *is) {
		left := time.Duration(*is)*time.Second - t.Now().Sub(job.Status.StartTime.Time)
		c.loop.AddAfter(t, informer.KeyOf(job), left)
	}
}

func (c *Controller) deleteJob(t *sim.Task, job *batchv1.Job) {
	c.loop.Add(t, informer.KeyOf(job))
	c.written.Forget(informer.KeyOf(job))
	delete(c.finished, job.UID)
	delete(c.failures, informer.KeyOf(job))
	c.orphans.Add(t, selectorKey(job))
}

func (c *Controller) addPod(t *sim.Task, pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil {
		// First seen when already on its way out: nobody's creation.
		c.deletePod(t, pod, false)
		return
	}
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		if job, ok := c.owner(pod, ref); ok {
			c.expect.Created(informer.KeyOf(job))
			c.later(t, job)
		}
		return
	}
	c.orphan(t, pod)
	c.wakeAdopters(t, pod)
}

func (c *Controller) updatePod(t *sim.Task, old, pod *corev1.Pod) {
	if old.ResourceVersion == pod.ResourceVersion {
		return // a resync
	}
	if pod.DeletionTimestamp != nil {
		// Whether the replacement is due now depends on podReplacementPolicy.
		c.deletePod(t, pod, false)
		return
	}
	was, is := metav1.GetControllerOfNoCopy(old), metav1.GetControllerOfNoCopy(pod)
	moved := !reflect.DeepEqual(was, is)
	wake := func(of *corev1.Pod, ref *metav1.OwnerReference) {
		if job, ok := c.owner(of, ref); ok {
			if !tracked(pod) {
				c.finalizerSeen(informer.KeyOf(job), pod.UID)
			}
			c.later(t, job)
		}
	}
	if moved && was != nil {
		wake(old, was)
	}
	if is != nil {
		wake(pod, is)
		return
	}
	c.orphan(t, pod)
	if moved || !maps.Equal(old.Labels, pod.Labels) {
		c.wakeAdopters(t, pod)
	}
}

// deletePod hears that a pod is being deleted or, with final, that it is gone.
func (c *Controller) deletePod(t *sim.Task, pod *corev1.Pod, final bool) {
	ref := metav1.GetControllerOfNoCopy(pod)
	job, ok := c.owner(pod, ref)
	if ref == nil || !ok || ended(job) {
		c.orphan(t, pod)
		return
	}
	key := informer.KeyOf(job)
	c.expect.Deleted(key, informer.KeyOf(pod))
	if final || !tracked(pod) {
		c.finalizerSeen(key, pod.UID)
	}
	c.later(t, job)
}

func (c *Controller) owner(pod *corev1.Pod, ref *metav1.OwnerReference) (*batchv1.Job, bool) {
	return ownerref.Resolve[*batchv1.Job](c.jobs, "Job", pod.Namespace, ref)
}

// wakeAdopters wakes up every Job whose selector matches an orphan.
func (c *Controller) wakeAdopters(t *sim.Task, pod *corev1.Pod) {
	if len(pod.Labels) == 0 {
		return
	}
	for _, obj := range c.jobs.ListNamespace(pod.Namespace) {
		job := obj.(*batchv1.Job)
		if sel, err := metav1.LabelSelectorAsSelector(job.Spec.Selector); err == nil && sel.Matches(labels.Set(pod.Labels)) {
			c.later(t, job)
		}
	}
}

// finalizerSeen notes that the cache shows a pod without its finalizer.
func (c *Controller) finalizerSeen(key string, pod types.UID) { delete(c.removed[key], pod) }

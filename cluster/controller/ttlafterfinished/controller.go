// Package ttlafterfinished is the TTL-after-finished controller: it deletes Jobs that
// have ended some time ago.
//
// The worked idea. A Job with ttlSecondsAfterFinished: 100 is Complete since 12:00:00. At
// 12:01:40 it is deleted, with its pods (in the foreground: the pods first). Before that
// the API server is asked once more, because somebody may have given the Job more time
// and the cache not know of it yet.
//
// Mirrors pkg/controller/ttlafterfinished. Nothing is watched before the first Job. Start
// reading at [Controller.sync].
package ttlafterfinished

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Name is the controller's name.
const Name = "ttl-after-finished-controller"

// Controller is the TTL-after-finished controller.
type Controller struct {
	*reconcile.Env
	jobs *informer.Informer
	loop *reconcile.Loop
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller { return &Controller{Env: env} }

// Start waits for the first Job and then begins to work.
func (c *Controller) Start() {
	c.Process.Go("await", func(t *sim.Task) {
		client.AwaitUseOf(t, c.Client, client.Jobs)
		c.jobs = c.Informers.For(client.Jobs)
		c.loop = reconcile.NewLoop(c.Env, "ttl_jobs_to_delete", client.Jobs, c.sync)
		look := func(t *sim.Task, obj runtime.Object) {
			if _, has, _ := expiry(obj.(*batchv1.Job)); has {
				c.loop.Add(t, informer.KeyOf(obj))
			}
		}
		c.jobs.AddHandler(informer.Handler{
			Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { look(t, obj) },
			Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { look(t, obj) },
		})
		c.loop.Start(c.jobs)
	})
}

// expiry is when a Job is to be deleted; has is false if it is not, or not yet known
// (needsCleanup, getFinishAndExpireTime).
func expiry(job *batchv1.Job) (at time.Time, has bool, err error) {
	ttl := job.Spec.TTLSecondsAfterFinished
	if job.DeletionTimestamp != nil || ttl == nil {
		return at, false, nil
	}
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			if c.LastTransitionTime.IsZero() {
				return at, true, fmt.Errorf("unable to find the time when the Job %s/%s finished", job.Namespace, job.Name)
			}
			return c.LastTransitionTime.Add(time.Duration(*ttl) * time.Second), true, nil
		}
	}
	return at, false, nil
}

// sync deletes one Job if it is time (processJob).
func (c *Controller) sync(run *reconcile.Run) error {
	obj, ok := c.jobs.Get(run.Key)
	if !ok {
		return nil
	}
	if over, err := c.over(run, obj.(*batchv1.Job)); !over {
		return err
	}
	fresh, err := client.Get[*batchv1.Job](run.T, c.Client, client.Jobs, run.Namespace, run.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if over, err := c.over(run, fresh); !over {
		return err
	}
	at, _, _ := expiry(fresh)
	ttl := time.Duration(*fresh.Spec.TTLSecondsAfterFinished) * time.Second
	run.Act("delete", client.RefOf(fresh), nil, nil, "Job %s has ended %s ago, and ttlSecondsAfterFinished is %d: delete it, its pods first",
		fresh.Name, (ttl + run.T.Now().Sub(at)).Truncate(time.Second), *fresh.Spec.TTLSecondsAfterFinished)
	policy := metav1.DeletePropagationForeground
	return c.Client.Delete(run.T, client.Jobs, fresh.Namespace, fresh.Name, metav1.DeleteOptions{
		PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &fresh.UID},
	})
}

// over reports whether a Job's time is over; if not, it comes back when it is (processTTL).
func (c *Controller) over(run *reconcile.Run, job *batchv1.Job) (bool, error) {
	at, has, err := expiry(job)
	if !has || err != nil {
		return false, err
	}
	if left := at.Sub(run.T.Now()); left > 0 {
		run.Waits("ttlSecondsAfterFinished is %d, %s are left: it looks again then", *job.Spec.TTLSecondsAfterFinished, left.Round(time.Second))
		run.Again(left)
		return false, nil
	}
	return true, nil
}

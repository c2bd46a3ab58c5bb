// Package cronjob is the CronJob controller: it makes a Job whenever the schedule says so.
//
// The worked idea. A CronJob with schedule "*/5 * * * *" last ran at 12:00. Its controller
// was dead from 12:04 to 12:12:
//
//  1. the newest run that is due is that of 12:10; the one of 12:05 is not made up for
//  2. startingDeadlineSeconds: 60 would forbid that too: 12:10 was 2 minutes ago
//  3. concurrencyPolicy says what happens if the Job of 12:00 still runs: Forbid waits for
//     the next time, Replace deletes it, Allow does not care
//  4. it creates the Job NAME-MINUTES, from the minutes since 1970 of the time that it
//     is for: if it dies before it has noted the Job in its status, the next try has the
//     same name, and is refused
//  5. it comes back at 12:15, and a tenth of a second
//
// Mirrors pkg/controller/cronjob. Nothing is watched before the first CronJob. Start
// reading at [Controller.sync].
package cronjob

import (
	"reflect"
	_ "time/tzdata" // for time zones where the machine has none, as kube-controller-manager

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/controller/ownerref"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Name is the controller's name.
const Name = "cronjob-controller"

// Controller is the CronJob controller.
type Controller struct {
	*reconcile.Env
	crons, jobs *informer.Informer
	loop        *reconcile.Loop
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller { return &Controller{Env: env} }

// Start waits for the first CronJob and then begins to work.
func (c *Controller) Start() {
	c.Process.Go("await", func(t *sim.Task) {
		client.AwaitUseOf(t, c.Client, client.CronJobs)
		c.watch()
		c.loop.Start(c.crons, c.jobs)
	})
}

func (c *Controller) watch() {
	c.crons, c.jobs = c.Informers.For(client.CronJobs), c.Informers.For(client.Jobs)
	c.loop = reconcile.NewLoop(c.Env, "cronjob", client.CronJobs, c.sync)
	c.loop.Persistent = true
	ownerref.AddIndex(c.jobs)
	c.crons.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.loop.Add(t, informer.KeyOf(obj)) },
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			c.changed(t, old.(*batchv1.CronJob), obj.(*batchv1.CronJob))
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.loop.Add(t, informer.KeyOf(obj)) },
	})
	c.jobs.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.wake(t, obj.(*batchv1.Job)) },
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			was, is := old.(*batchv1.Job), obj.(*batchv1.Job)
			if was.ResourceVersion == is.ResourceVersion {
				return // a resync
			}
			if !reflect.DeepEqual(metav1.GetControllerOfNoCopy(was), metav1.GetControllerOfNoCopy(is)) {
				c.wake(t, was)
			}
			c.wake(t, is)
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.wake(t, obj.(*batchv1.Job)) },
	})
}

// wake has the CronJob of a Job looked at.
func (c *Controller) wake(t *sim.Task, job *batchv1.Job) {
	if cj, ok := ownerref.Resolve[*batchv1.CronJob](c.crons, "CronJob", job.Namespace, metav1.GetControllerOfNoCopy(job)); ok {
		c.loop.Add(t, informer.KeyOf(cj))
	}
}

// changed has a CronJob looked at: at its next time, if it has another schedule, else now
// (updateCronJob).
func (c *Controller) changed(t *sim.Task, old, cj *batchv1.CronJob) {
	if old.Spec.Schedule == cj.Spec.Schedule && reflect.DeepEqual(old.Spec.TimeZone, cj.Spec.TimeZone) {
		c.loop.Add(t, informer.KeyOf(cj))
		return
	}
	s, err := parse(cj)
	if err != nil {
		c.Events.Event(t, cj, corev1.EventTypeWarning, "UnParseableCronJobSchedule", "unparseable schedule for cronjob: %s", cj.Spec.Schedule)
		return
	}
	c.loop.AddAfter(t, informer.KeyOf(cj), untilNext(cj, t.Now(), s))
}

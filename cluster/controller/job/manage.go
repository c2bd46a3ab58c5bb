package job

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/pods"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
)

// manage creates or deletes pods, as many as are missing or too many, and gives how many
// are active then (manageJob).
func (c *Controller) manage(run *reconcile.Run, s *state) (int32, error) {
	job, active := s.job, int32(len(s.active))
	if suspended(job) {
		run.Waits("spec.suspend is true: no pod is created")
		return c.deletePods(run, s, surplus(job, s.active, int(active)), 0, fmt.Sprintf("spec.suspend is true: delete the %s that run", pods.Count(active)))
	}
	want, how := s.wantActive()
	if extra := surplus(job, s.active, int(max(active-want, 0))); len(extra) > 0 {
		extra = extra[:min(len(extra), maxPodsPerSync)]
		why := fmt.Sprintf("%s, %d run: delete %d, those that have got least far", how, active, len(extra))
		if active <= want {
			why = fmt.Sprintf("%s, and %s have no index of their own: delete them", how, pods.Count(int32(len(extra))))
		}
		return c.deletePods(run, s, extra, want, why)
	}
	going := int32(0)
	if onlyReplaceFailed(job) {
		going = s.terminating
	}
	missing := want - going - active
	if missing <= 0 {
		if going > 0 && want > active {
			run.Waits("%s, %d run and %d are on their way out: podReplacementPolicy Failed waits until they have ended", how, active, going)
		} else if active > 0 {
			run.Waits("%s, %d run: it waits for them", how, active)
		}
		return active, nil
	}
	now := run.T.Now()
	if !limitPerIndex(job) {
		if left := s.failures.left(now); left > 0 {
			c.wait(run, s, left, fmt.Sprintf("%s, %d run; pods have failed %d times in a row, so %s pass before the next is created: wait %s",
				how, active, s.failures.n, s.failures.wait(), left.Round(time.Second)))
			return active, nil
		}
	}
	missing = min(missing, maxPodsPerSync)
	var indexes []int
	if indexed(job) {
		indexes = s.pending(int(missing))
		if limitPerIndex(job) {
			ready, left := s.dueIndexes(indexes, now)
			if len(ready) == 0 && left > 0 {
				c.wait(run, s, left, fmt.Sprintf("%s, %d run; the missing indexes have all failed lately: wait %s", how, active, left.Round(time.Second)))
				return active, nil
			}
			indexes = ready
		}
		missing = int32(len(indexes))
	}
	if missing == 0 {
		return active, nil
	}
	why := fmt.Sprintf("%s, %d run: create %d", how, active, missing)
	if going > 0 {
		why = fmt.Sprintf("%s, %d run and %d are on their way out, which podReplacementPolicy waits for: create %d", how, active, going, missing)
	}
	if indexed(job) {
		why += fmt.Sprintf(" (index %s)", intervals(nil).with(indexes))
	}
	run.Act("create", client.Pods.Ref(job.Namespace, ""), want, active, "%s", why)
	return c.createPods(run, s, missing, indexes)
}

// wantActive is how many pods are to run, and why.
func (s *state) wantActive() (int32, string) {
	parallelism := *s.job.Spec.Parallelism
	if s.job.Spec.Completions == nil {
		if s.succeeded > 0 {
			return int32(len(s.active)), fmt.Sprintf("%s succeeded, which is enough, so no more are started", pods.Count(s.succeeded))
		}
		return parallelism, fmt.Sprintf("spec.parallelism is %d and no pod has succeeded", parallelism)
	}
	n := *s.job.Spec.Completions
	left := n - s.succeeded
	how := fmt.Sprintf("spec.completions is %d, %d succeeded", n, s.succeeded)
	if s.failedIndexes != nil {
		how += fmt.Sprintf(", %d failed for good", s.failedIndexes.total())
	}
	want := max(min(left, parallelism), 0)
	return want, fmt.Sprintf("%s and spec.parallelism is %d, so %d may run", how, parallelism, want)
}

// wait has the Job come back when a failed pod may be replaced.
func (c *Controller) wait(run *reconcile.Run, s *state, left time.Duration, why string) {
	run.Act("wait", client.RefOf(s.job), nil, nil, "%s", why)
	run.Again(max(left, batchPeriod))
}

// dueIndexes are those of some indexes whose failed pods may be replaced now; if none may,
// how long until one may (getPodCreationInfoForIndependentIndexes).
func (s *state) dueIndexes(indexes []int, now time.Time) (due []int, left time.Duration) {
	for _, i := range indexes {
		if d := failuresOf(s.holding[i]).left(now); d == 0 {
			due = append(due, i)
		} else if left == 0 || d < left {
			left = d
		}
	}
	return due, left
}

// createPods creates pods, in batches that double as long as all goes well.
func (c *Controller) createPods(run *reconcile.Run, s *state, n int32, indexes []int) (int32, error) {
	job := s.job
	template := job.Spec.Template.DeepCopy()
	if indexed(job) {
		tellIndex(template)
	}
	if !slices.Contains(template.Finalizers, batchv1.JobTrackingFinalizer) {
		template.Finalizers = append(template.Finalizers, batchv1.JobTrackingFinalizer)
	}
	c.expect.Numbers(run.Key, int(n), 0, run.T.Now())
	active := int32(len(s.active)) + n
	for at, size := int32(0), min(n, 1); at < n; size = min(2*size, n-at) {
		errs := make([]error, size)
		c.Parallel(run.T, "create", int(size), func(t *sim.Task, i int) {
			index := noIndex
			if indexes != nil {
				index = indexes[int(at)+i]
			}
			errs[i] = c.createPod(t, s, template, index)
		})
		at += size
		var first error
		for _, err := range errs {
			if err != nil {
				c.expect.Created(run.Key) // it will not be seen
				active--
				if first == nil {
					first = err
				}
			}
		}
		if first != nil {
			for range n - at { // never tried
				c.expect.Created(run.Key)
				active--
			}
			return active, first
		}
	}
	return active, nil
}

func (c *Controller) createPod(t *sim.Task, s *state, template *corev1.PodTemplateSpec, index int) error {
	job, prefix := s.job, ""
	if index != noIndex {
		template = template.DeepCopy()
		setIndex(template, job, index, s.holding[index])
		prefix = nameOf(job, index)
	}
	pod := pods.FromTemplate(template, job.Name, metav1.NewControllerRef(job, client.Jobs.GVK()))
	if prefix != "" {
		pod.GenerateName = prefix
	}
	made, err := client.Create(t, c.Client, client.Pods, job.Namespace, pod)
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil // nothing can be created there any more: not worth an error
	case err != nil:
		c.Events.Event(t, job, corev1.EventTypeWarning, "FailedCreate", "Error creating: %v", err)
		return err
	}
	c.written.At(informer.KeyOf(job), c.pods, made)
	c.Events.Event(t, job, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: %s", made.Name)
	return nil
}

// deletePods deletes pods that are not to be counted: their finalizers go first
// (deleteJobPods).
func (c *Controller) deletePods(run *reconcile.Run, s *state, list []*corev1.Pod, want int32, why string) (int32, error) {
	active := int32(len(s.active))
	if len(list) == 0 {
		return active, nil
	}
	run.Act("delete", client.Pods.Ref(s.job.Namespace, ""), want, active, "%s (%s)", why, listed(list))
	c.expect.Numbers(run.Key, 0, len(list), run.T.Now())
	errs, kept := make([]error, len(list)), make([]bool, len(list))
	c.Parallel(run.T, "delete", len(list), func(t *sim.Task, i int) {
		if tracked(list[i]) {
			if err := c.untrack(t, list[i]); err != nil {
				errs[i], kept[i] = fmt.Errorf("removing completion finalizer: %w", err), true
			}
		}
		if errs[i] == nil {
			errs[i] = c.deletePodOf(t, s.job, list[i])
		}
		if errs[i] != nil {
			c.expect.Deleted(run.Key, list[i].Name) // the cache will show no deletion
		}
	})
	n, err := s.deleted(list, errs, kept)
	return active - n, err
}

// deleteActive deletes all that still run of a Job that ends; they keep their finalizers
// until they are counted (deleteActivePods).
func (c *Controller) deleteActive(run *reconcile.Run, s *state) (int32, error) {
	if len(s.active) == 0 {
		return 0, nil
	}
	run.Act("delete", client.Pods.Ref(s.job.Namespace, ""), 0, len(s.active), "the Job ends (%s: %s): delete the %s that still run (%s)",
		s.finish.Reason, s.finish.Message, pods.Count(int32(len(s.active))), listed(s.active))
	errs := make([]error, len(s.active))
	c.Parallel(run.T, "delete", len(s.active), func(t *sim.Task, i int) { errs[i] = c.deletePodOf(t, s.job, s.active[i]) })
	return s.deleted(s.active, errs, make([]bool, len(errs)))
}

// deleted moves what was deleted from those that run to those on their way out. That one could not
// be deleted makes it ready no longer all the same, as upstream has it, unless it kept its finalizer.
func (s *state) deleted(list []*corev1.Pod, errs []error, kept []bool) (n int32, first error) {
	for i, p := range list {
		if err := errs[i]; err == nil || apierrors.IsNotFound(err) {
			n++
		} else if first == nil {
			first = err
		}
		if pods.Ready(p) && !kept[i] {
			s.ready--
		}
	}
	s.terminating += n
	return n, first
}

func (c *Controller) deletePodOf(t *sim.Task, job *batchv1.Job, pod *corev1.Pod) error {
	err := c.Client.Delete(t, client.Pods, pod.Namespace, pod.Name, metav1.DeleteOptions{})
	switch {
	case err == nil:
		c.Events.Event(t, job, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %s", pod.Name)
	case !apierrors.IsNotFound(err):
		c.Events.Event(t, job, corev1.EventTypeWarning, "FailedDelete", "Error deleting: %v", err)
		return fmt.Errorf("unable to delete pods: %w", err)
	}
	return err
}

// listed names the first few pods.
func listed(list []*corev1.Pod) string {
	const most = 5
	s := ""
	for i, p := range list {
		if i == most {
			return s + fmt.Sprintf(" and %d more", len(list)-most)
		}
		if i > 0 {
			s += ", "
		}
		s += p.Name
	}
	return s
}

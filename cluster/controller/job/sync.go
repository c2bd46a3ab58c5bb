package job

import (
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"kviz/cluster/client"
	"kviz/cluster/controller/ownerref"
	"kviz/cluster/controller/pods"
	"kviz/cluster/controller/reconcile"
)

// state is what one sync finds and decides (syncJobCtx).
type state struct {
	job    *batchv1.Job // the sync's own copy
	pods   []*corev1.Pod
	active []*corev1.Pod

	succeeded, failed int32
	ready             int32
	terminating       int32

	succeededBefore, succeededIndexes, failedIndexes intervals
	holding                                          map[int]*corev1.Pod // failed pods that await their replacement

	finish   *batchv1.JobCondition // why the Job ends; nil if it does not
	failures failures
	removed  map[types.UID]bool // their finalizer is gone, though the cache still has it
}

// sync looks at one Job (syncJob).
func (c *Controller) sync(run *reconcile.Run) error {
	if err := c.written.Seen(run.Key); err != nil {
		return err
	}
	obj, ok := c.jobs.Get(run.Key)
	if !ok {
		run.Gone()
		c.expect.Forget(run.Key)
		c.written.Forget(run.Key)
		delete(c.removed, run.Key)
		delete(c.failures, run.Key)
		return nil
	}
	job := obj.(*batchv1.Job).DeepCopy()
	if managedElsewhere(job) != "" {
		run.Waits("spec.managedBy is %s: another controller sees to it", managedElsewhere(job))
		return nil
	}
	if ended(job) {
		c.written.Forget(run.Key)
		delete(c.failures, run.Key)
		delete(c.finished, job.UID)
		run.Converged(client.RefOf(job), job.Generation, holds(job, batchv1.JobComplete) != nil)
		return nil
	}
	if c.finished[job.UID] {
		return nil
	}
	if mode := job.Spec.CompletionMode; mode != nil && *mode != batchv1.NonIndexedCompletion && *mode != batchv1.IndexedCompletion {
		c.Events.Event(run.T, job, corev1.EventTypeWarning, "UnknownCompletionMode", "Skipped Job sync because completion mode is unknown")
		return nil
	}
	if job.Status.UncountedTerminatedPods == nil {
		job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	// Before the pods are counted: else a pod could come in between and settle them.
	settled := c.expect.Satisfied(run.Key, run.T.Now())
	s, err := c.look(run, job)
	if err != nil {
		return err
	}
	if job.Status.StartTime == nil && !suspended(job) {
		now := client.Now(run.T)
		job.Status.StartTime = &now
	}
	c.judge(run, s)

	active := int32(len(s.active))
	changed := false
	var manageErr error
	if s.finish != nil {
		deleted, err := c.deleteActive(run, s)
		if deleted != active || !settled {
			s.finish = nil // some of its pods may not be in the cache yet
		}
		active -= deleted
		manageErr = err
	} else {
		managed := settled && job.DeletionTimestamp == nil
		if managed {
			active, manageErr = c.manage(run, s)
		}
		switch n := job.Spec.Completions; {
		case n == nil && s.succeeded > 0 && active == 0, n != nil && s.succeeded >= *n && active == 0:
			s.finish = condition(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue, batchv1.JobReasonCompletionsReached, "Reached expected number of succeeded pods", client.Now(run.T))
		case managed:
			changed = c.tellSuspended(run, job)
		}
	}
	st := &job.Status
	changed = changed || active != st.Active || st.Ready == nil || *st.Ready != s.ready || st.Terminating == nil || *st.Terminating != s.terminating
	st.Active, st.Ready, st.Terminating = active, &s.ready, &s.terminating
	if err := c.track(run, s, changed); err != nil {
		return fmt.Errorf("tracking status: %w", err)
	}
	return manageErr
}

// look finds the Job's pods and counts them.
func (c *Controller) look(run *reconcile.Run, job *batchv1.Job) (*state, error) {
	list, err := c.podsOf(run, job)
	if err != nil {
		return nil, err
	}
	run.Look(len(list))
	s := &state{job: job, pods: list, active: pods.Filter(list, pods.Active), removed: maps.Clone(c.removed[run.Key])}
	s.ready = int32(len(pods.Filter(s.active, pods.Ready)))
	s.terminating = int32(len(pods.Filter(list, pods.Terminating)))
	un := job.Status.UncountedTerminatedPods
	succeeded := pods.Filter(s.uncountedPods(un.Succeeded), func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
	failing := pods.Filter(s.uncountedPods(un.Failed), func(p *corev1.Pod) bool { return failed(p, job) })
	counted := pods.Filter(failing, func(p *corev1.Pod) bool { return !judge(job.Spec.PodFailurePolicy, p).ignored })
	s.succeeded = job.Status.Succeeded + int32(len(succeeded)+len(un.Succeeded))
	s.failed = job.Status.Failed + int32(len(counted)+len(un.Failed))
	s.failures = c.failures[run.Key].after(succeeded, failing)
	return s, nil
}

// podsOf are the pods of a Job; those that it adopts get the finalizer (getPodsForJob).
func (c *Controller) podsOf(run *reconcile.Run, job *batchv1.Job) ([]*corev1.Pod, error) {
	sel, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("couldn't convert Job selector: %w", err)
	}
	claimer := &ownerref.Claimer{
		Run: run, Client: c.Client, Owner: job, OwnerOf: client.Jobs, Kind: client.Pods, Selector: sel,
		Finalizers: []string{batchv1.JobTrackingFinalizer},
		Adopted:    func(pod runtime.Object) { c.written.At(run.Key, c.pods, pod) },
	}
	mine, err := ownerref.Claim(claimer, ownerref.Candidates[*corev1.Pod](c.pods, job.Namespace, job.UID))
	for i, p := range mine {
		if !metav1.IsControlledBy(p, job) && !tracked(p) {
			mine[i] = p.DeepCopy()
			mine[i].Finalizers = append(mine[i].Finalizers, batchv1.JobTrackingFinalizer)
		}
	}
	return mine, err
}

// uncountedPods are those that still have the finalizer, without some, and of an indexed
// Job with an index that it has (getValidPodsWithFilter).
func (s *state) uncountedPods(without []types.UID) []*corev1.Pod {
	not := sets.New(without...)
	return pods.Filter(s.pods, func(p *corev1.Pod) bool {
		return tracked(p) && !s.removed[p.UID] && !not.Has(p.UID) && (!indexed(s.job) || inRange(p, s.job))
	})
}

// judge decides whether the Job has come to its end, and why: what was decided before
// stands, then come the reasons to fail, then successPolicy.
func (c *Controller) judge(run *reconcile.Run, s *state) {
	job, now := s.job, client.Now(run.T)
	fail := func(reason, message string) {
		s.finish = condition(batchv1.JobFailureTarget, corev1.ConditionTrue, reason, message, now)
	}
	if s.finish = holds(job, batchv1.JobSuccessCriteriaMet); s.finish == nil {
		if was := holds(job, batchv1.JobFailureTarget); was != nil {
			s.finish = condition(batchv1.JobFailed, corev1.ConditionTrue, was.Reason, was.Message, now)
		} else if why := s.policyFails(); why != "" {
			fail(batchv1.JobReasonPodFailurePolicy, why)
		}
	}
	if s.finish == nil {
		switch limit := job.Spec.ActiveDeadlineSeconds; {
		case s.failed > *job.Spec.BackoffLimit || restartedTooOften(job, s.pods):
			fail(batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
		case limit == nil || suspended(job) || job.Status.StartTime == nil:
		default:
			left := time.Duration(*limit)*time.Second - run.T.Now().Sub(job.Status.StartTime.Time)
			if left <= 0 {
				fail(batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
			} else {
				run.Again(left)
				run.Waits("spec.activeDeadlineSeconds is %d, %s are left: it looks again then", *limit, left.Round(time.Second))
			}
		}
	}
	if !indexed(job) {
		return
	}
	s.succeededBefore, s.succeededIndexes = succeededIndexes(job, s.pods)
	s.succeeded = int32(s.succeededIndexes.total())
	if limitPerIndex(job) {
		s.failedIndexes = failedIndexes(job, s.pods)
		n := s.failedIndexes.total()
		switch most := job.Spec.MaxFailedIndexes; {
		case s.finish != nil:
		case most != nil && n > int(*most):
			fail(batchv1.JobReasonMaxFailedIndexesExceeded, "Job has exceeded the specified maximal number of failed indexes")
		case n > 0 && n+s.succeededIndexes.total() >= int(*job.Spec.Completions):
			fail(batchv1.JobReasonFailedIndexes, "Job has failed indexes")
		}
		s.holding = s.awaiting()
	}
	if s.finish == nil {
		if why := met(job.Spec.SuccessPolicy, *job.Spec.Completions, s.succeededIndexes); why != "" {
			s.finish = condition(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue, batchv1.JobReasonSuccessPolicy, why, now)
		}
	}
}

// policyFails says why podFailurePolicy has the Job fail; "" if it does not.
func (s *state) policyFails() string {
	if s.job.Spec.PodFailurePolicy == nil {
		return ""
	}
	for _, p := range s.pods {
		if failed(p, s.job) {
			if v := judge(s.job.Spec.PodFailurePolicy, p); v.failJob != "" {
				return v.failJob
			}
		}
	}
	return ""
}

// restartedTooOften adds up the restarts of running pods, where the kubelet restarts
// containers that fail (pastBackoffLimitOnFailure).
func restartedTooOften(job *batchv1.Job, list []*corev1.Pod) bool {
	if job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		return false
	}
	n := int32(0)
	for _, p := range list {
		if p.Status.Phase == corev1.PodRunning || p.Status.Phase == corev1.PodPending {
			for _, st := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
				n += st.RestartCount
			}
		}
	}
	return n >= max(*job.Spec.BackoffLimit, 1)
}

// tellSuspended has the condition Suspended say what the spec does.
func (c *Controller) tellSuspended(run *reconcile.Run, job *batchv1.Job) bool {
	now := client.Now(run.T)
	if suspended(job) {
		if !ensure(job, condition(batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended", "Job suspended", now)) {
			return false
		}
		c.Events.Event(run.T, job, corev1.EventTypeNormal, "Suspended", "Job suspended")
		job.Status.StartTime = nil
		return true
	}
	if !ensure(job, condition(batchv1.JobSuspended, corev1.ConditionFalse, "JobResumed", "Job resumed", now)) {
		return false
	}
	c.Events.Event(run.T, job, corev1.EventTypeNormal, "Resumed", "Job resumed")
	job.Status.StartTime = &now // the deadline runs anew
	return true
}

package job

import (
	"fmt"
	"sort"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"kviz/cluster/client"
	"kviz/cluster/controller/pods"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/sim"
)

// track counts the pods that have ended (trackJobStatusAndRemoveFinalizers):
//
//  1. their UIDs go into the status, which is written
//  2. their finalizers are taken away
//  3. what has no finalizer any more moves from the UIDs into the counters
//  4. the Job is Complete or Failed, if nothing is left to count
func (c *Controller) track(run *reconcile.Run, s *state, flush bool) error {
	job := s.job
	if indexed(job) {
		sort.SliceStable(s.pods, func(i, j int) bool { return indexOf(s.pods[i]) < indexOf(s.pods[j]) })
	}
	held := map[types.UID]bool{} // pods with a finalizer
	for _, p := range s.pods {
		if tracked(p) && !s.removed[p.UID] {
			held[p.UID] = true
		}
	}
	if settle(&job.Status, held) {
		flush = true
	}
	done, full, news := s.collect(held)
	if s.announce(run) || news {
		flush = true
	}
	if flush {
		if err := c.write(run, s, len(done)); err != nil {
			return fmt.Errorf("adding uncounted pods to status: %w", err)
		}
		c.failures[run.Key] = s.failures
		flush = false
	}
	rmErr := c.untrackAll(run, s, done, held)
	if settle(&s.job.Status, held) {
		flush = true
	}
	if rmErr != nil {
		if flush {
			if err := c.write(run, s, 0); err != nil {
				return fmt.Errorf("removing uncounted pods from status: %w", err)
			}
		}
		return rmErr
	}
	finished := !full && s.enact(run)
	if !flush && !finished {
		return nil
	}
	if err := c.write(run, s, 0); err != nil {
		return fmt.Errorf("removing uncounted pods from status: %w", err)
	}
	if finished {
		c.recordFinished(run, s)
		c.finished[s.job.UID] = true
	}
	return nil
}

// settle moves the pods that have no finalizer any more from the UIDs into the counters
// (cleanUncountedPodsWithoutFinalizers).
func settle(st *batchv1.JobStatus, held map[types.UID]bool) bool {
	before := len(st.UncountedTerminatedPods.Succeeded) + len(st.UncountedTerminatedPods.Failed)
	move := func(uids []types.UID, counter *int32) []types.UID {
		var left []types.UID
		for _, u := range uids {
			if held[u] {
				left = append(left, u)
			}
		}
		if len(left) == len(uids) {
			return uids
		}
		*counter += int32(len(uids) - len(left))
		return left
	}
	un := st.UncountedTerminatedPods
	un.Succeeded, un.Failed = move(un.Succeeded, &st.Succeeded), move(un.Failed, &st.Failed)
	return len(un.Succeeded)+len(un.Failed) != before
}

// collect enters the pods that have ended into the status, gives those whose finalizer can
// go, and says whether the status cannot take more, and whether it says anything new.
func (s *state) collect(held map[types.UID]bool) (done []*corev1.Pod, full, news bool) {
	job := s.job
	un := job.Status.UncountedTerminatedPods
	wasSucceeded, wasFailed := sets.New(un.Succeeded...), sets.New(un.Failed...)
	var indexes []int
	for _, p := range s.pods {
		if !held[p.UID] || !s.mayGo(p) {
			continue
		}
		done = append(done, p)
		switch {
		case p.Status.Phase == corev1.PodSucceeded && !wasFailed.Has(p.UID):
			if indexed(job) {
				if inRange(p, job) && !s.succeededBefore.has(indexOf(p)) {
					indexes, news = append(indexes, indexOf(p)), true
				}
			} else if !wasSucceeded.Has(p.UID) {
				un.Succeeded, news = append(un.Succeeded, p.UID), true
			}
		case failed(p, job) || s.finish != nil && s.finish.Type != batchv1.JobSuccessCriteriaMet:
			// Of a Job that has ended every pod that had not has failed.
			if !wasFailed.Has(p.UID) && (!indexed(job) || inRange(p, job)) && !judge(job.Spec.PodFailurePolicy, p).ignored {
				un.Failed, news = append(un.Failed, p.UID), true
			}
		}
		if len(indexes)+len(un.Succeeded)+len(un.Failed) >= maxUncounted {
			full = true
			break
		}
	}
	if indexed(job) {
		s.succeededIndexes = s.succeededIndexes.with(indexes)
		text := s.succeededIndexes.String()
		news = news || text != job.Status.CompletedIndexes
		job.Status.Succeeded, job.Status.CompletedIndexes = int32(s.succeededIndexes.total()), text
		var failing *string
		if limitPerIndex(job) {
			text := s.failedIndexes.String()
			failing = &text
		}
		if was := job.Status.FailedIndexes; (was == nil) != (failing == nil) || was != nil && *was != *failing {
			job.Status.FailedIndexes, news = failing, true
		}
	}
	return done, full, news
}

// mayGo reports whether a pod's finalizer can be taken away (canRemoveFinalizer).
func (s *state) mayGo(p *corev1.Pod) bool {
	if s.job.DeletionTimestamp != nil || s.finish != nil || p.Status.Phase == corev1.PodSucceeded {
		return true
	}
	if !failed(p, s.job) {
		return false
	}
	hold := s.holding[indexOf(p)]
	return hold == nil || hold.UID != p.UID
}

// announce enters into the status that the Job is going to end, and reports whether that
// is news. finish becomes what the status says in the end.
func (s *state) announce(run *reconcile.Run) (news bool) {
	switch f := s.finish; {
	case f == nil:
	case f.Type == batchv1.JobFailureTarget:
		s.job.Status.Conditions = append(s.job.Status.Conditions, *f)
		s.finish, news = condition(batchv1.JobFailed, corev1.ConditionTrue, f.Reason, f.Message, client.Now(run.T)), true
	case f.Type == batchv1.JobSuccessCriteriaMet:
		if holds(s.job, batchv1.JobSuccessCriteriaMet) == nil {
			s.job.Status.Conditions = append(s.job.Status.Conditions, *f)
			news = true
		}
		s.finish = condition(batchv1.JobComplete, corev1.ConditionTrue, f.Reason, f.Message, client.Now(run.T))
	}
	return news
}

// enact makes the Job Complete or Failed, if it ends and no pod is left to count or to go
// (enactJobFinished).
func (s *state) enact(run *reconcile.Run) bool {
	un := s.job.Status.UncountedTerminatedPods
	if s.finish == nil || un != nil && len(un.Succeeded)+len(un.Failed) > 0 || s.terminating > 0 {
		return false
	}
	now := client.Now(run.T)
	ensure(s.job, condition(s.finish.Type, s.finish.Status, s.finish.Reason, s.finish.Message, now))
	if s.finish.Type == batchv1.JobComplete {
		s.job.Status.CompletionTime = &s.finish.LastTransitionTime
	}
	return true
}

func (c *Controller) recordFinished(run *reconcile.Run, s *state) {
	job := s.job
	if s.finish.Type != batchv1.JobComplete {
		c.Events.Event(run.T, job, corev1.EventTypeWarning, s.finish.Reason, "%s", s.finish.Message)
		return
	}
	if n := job.Spec.Completions; n != nil && job.Status.Succeeded > *n {
		c.Events.Event(run.T, job, corev1.EventTypeWarning, "TooManySucceededPods", "Too many succeeded pods running after completion count reached")
	}
	c.Events.Event(run.T, job, corev1.EventTypeNormal, "Completed", "Job completed")
}

// write writes the status. done is how many pods' finalizers go after that.
func (c *Controller) write(run *reconcile.Run, s *state, done int) error {
	st := &s.job.Status
	why := fmt.Sprintf("%d of its pods run (%d ready), %d succeeded, %d failed", st.Active, s.ready, st.Succeeded, st.Failed)
	if un := st.UncountedTerminatedPods; un != nil && len(un.Succeeded)+len(un.Failed) > 0 {
		why += fmt.Sprintf(", %d that succeeded and %d that failed are still to be counted", len(un.Succeeded), len(un.Failed))
	}
	switch f := s.finish; {
	case f == nil:
	case ended(s.job):
		why += fmt.Sprintf("; no pod is left to count: the Job is %s (%s)", f.Type, f.Reason)
	default:
		why += fmt.Sprintf("; the Job is going to be %s (%s)", f.Type, f.Reason)
	}
	why += ": write the status"
	if done > 0 {
		why += fmt.Sprintf(", then take the finalizer from %s", pods.Count(int32(done)))
	}
	run.Act("update", client.RefOf(s.job), nil, nil, "%s", why)
	job, err := client.UpdateStatus(run.T, c.Client, client.Jobs, s.job.Namespace, s.job)
	if err != nil {
		return err
	}
	c.written.At(run.Key, c.jobs, job)
	if job.Status.UncountedTerminatedPods == nil {
		job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	s.job = job
	return nil
}

// untrackAll takes the finalizers from pods, and those without from held
// (removeTrackingFinalizerFromPods).
func (c *Controller) untrackAll(run *reconcile.Run, s *state, done []*corev1.Pod, held map[types.UID]bool) error {
	if len(done) == 0 {
		return nil
	}
	seen := c.removed[run.Key]
	if seen == nil {
		seen = map[types.UID]bool{}
		c.removed[run.Key] = seen
	}
	for _, p := range done {
		seen[p.UID] = true
	}
	errs := make([]error, len(done))
	c.Parallel(run.T, "finalize", len(done), func(t *sim.Task, i int) { errs[i] = c.untrack(t, done[i]) })
	var first error
	for i, p := range done {
		if errs[i] != nil {
			delete(seen, p.UID) // no change will be seen
			if !apierrors.IsNotFound(errs[i]) {
				if first == nil {
					first = errs[i]
				}
				continue
			}
		}
		delete(held, p.UID)
	}
	return first
}

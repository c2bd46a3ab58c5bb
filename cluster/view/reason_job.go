package view

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
)

// jobLook is a Job and its pods.
type jobLook struct {
	s   *State
	o   *Object
	job *batchv1.Job

	pods   []*Object
	values []*corev1.Pod
}

// job says how far a Job is, why it waits, or with what it ended and what becomes of it.
func (s *State) job(o *Object) *Reason {
	job, ok := o.Value.(*batchv1.Job)
	if !ok || o.Deleting() {
		return nil
	}
	l := &jobLook{s: s, o: o, job: job}
	l.pods, l.values = children[*corev1.Pod](s, o)
	a := &Reason{From: l.lines()}
	switch end := jobEnd(job); {
	case job.Spec.ManagedBy != nil && *job.Spec.ManagedBy != batchv1.JobControllerName:
		return sentence("%s is left to the controller %s (spec.managedBy): kube-controller-manager does nothing with it", o.Ref, *job.Spec.ManagedBy)
	case end != nil && end.Type == batchv1.JobComplete:
		a.Says = fmt.Sprintf("%s is Complete since %s: %s%s%s", o.Ref, clockTime(end.LastTransitionTime.UTC()), l.progress(), policyMet(job), l.fate(end))
	case end != nil:
		a.Says = fmt.Sprintf("%s has failed at %s: %s%s; %s%s", o.Ref, clockTime(end.LastTransitionTime.UTC()), end.Reason, l.failure(end), l.succeeded(), l.fate(end))
	case l.ending() != "":
		a.Says = fmt.Sprintf("%s %s", o.Ref, l.ending())
	case jobSuspended(job):
		a.Says = fmt.Sprintf("%s is suspended (spec.suspend is true), so no pod runs of it; %s", o.Ref, l.progress())
	default:
		a.Says = fmt.Sprintf("%s %s; %s", o.Ref, l.going(), l.progress())
	}
	if end := jobEnd(job); end != nil {
		return a
	}
	if limit := job.Spec.ActiveDeadlineSeconds; limit != nil && job.Status.StartTime != nil && !jobSuspended(job) {
		a.From = append(a.From, Keeper{What: "activeDeadlineSeconds", Why: fmt.Sprintf("%d: the Job fails %s, whatever runs then", *limit, s.due(job.Status.StartTime.Add(time.Duration(*limit)*time.Second))), Good: true})
	}
	return s.idle(a, "Job")
}

// succeeded is how many completions there are of how many.
func (l *jobLook) succeeded() string {
	st := &l.job.Status
	switch n := l.job.Spec.Completions; {
	case n == nil:
		return fmt.Sprintf("%s succeeded, and without spec.completions one is enough", count(int(st.Succeeded), "pod"))
	case indexedJob(l.job) && st.Succeeded > 0:
		return fmt.Sprintf("%d of %s succeeded (index %s)", st.Succeeded, count(int(*n), "completion"), st.CompletedIndexes)
	default:
		return fmt.Sprintf("%d of %s succeeded", st.Succeeded, count(int(*n), "completion"))
	}
}

// progress is that, and how many failures there are.
func (l *jobLook) progress() string {
	st, says := &l.job.Status, l.succeeded()
	if per := l.job.Spec.BackoffLimitPerIndex; per != nil {
		if f := st.FailedIndexes; f != nil && *f != "" {
			says += fmt.Sprintf(", index %s failed for good (backoffLimitPerIndex %d)", *f, *per)
		}
		return says
	}
	if st.Failed > 0 {
		says += fmt.Sprintf(", %s failed (backoffLimit %d)", count(int(st.Failed), "pod"), wanted(l.job.Spec.BackoffLimit))
	}
	return says
}

func indexedJob(job *batchv1.Job) bool {
	return job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion
}

// policyMet says that a successPolicy was met, where it was.
func policyMet(job *batchv1.Job) string {
	if c := jobHolds(job, batchv1.JobSuccessCriteriaMet); c != nil && c.Reason == batchv1.JobReasonSuccessPolicy {
		return ", which successPolicy takes for enough (" + c.Message + ")"
	}
	return ""
}

// failure is the arithmetic behind the reason for which a Job failed.
func (l *jobLook) failure(c *batchv1.JobCondition) string {
	spec, st := &l.job.Spec, &l.job.Status
	switch c.Reason {
	case batchv1.JobReasonBackoffLimitExceeded:
		if limit := wanted(spec.BackoffLimit); st.Failed > limit {
			return fmt.Sprintf(": %s failed, and backoffLimit is %d", count(int(st.Failed), "pod"), limit)
		}
		return fmt.Sprintf(": the containers were restarted as often as backoffLimit %d allows", wanted(spec.BackoffLimit))
	case batchv1.JobReasonDeadlineExceeded:
		if spec.ActiveDeadlineSeconds != nil && st.StartTime != nil {
			return fmt.Sprintf(": it had run since %s, and activeDeadlineSeconds is %d", clockTime(st.StartTime.UTC()), *spec.ActiveDeadlineSeconds)
		}
	case batchv1.JobReasonMaxFailedIndexesExceeded:
		if st.FailedIndexes != nil && spec.MaxFailedIndexes != nil {
			return fmt.Sprintf(": index %s failed for good, and maxFailedIndexes is %d", *st.FailedIndexes, *spec.MaxFailedIndexes)
		}
	case batchv1.JobReasonFailedIndexes:
		if st.FailedIndexes != nil {
			return fmt.Sprintf(": index %s failed more often than backoffLimitPerIndex %d allows", *st.FailedIndexes, wanted(spec.BackoffLimitPerIndex))
		}
	}
	return tail(": ", c.Message)
}

// ending says that what becomes of a Job is decided, and what it still waits for; "" where it is not.
func (l *jobLook) ending() string {
	c, will := jobHolds(l.job, batchv1.JobFailureTarget), "Failed"
	if c == nil {
		c, will = jobHolds(l.job, batchv1.JobSuccessCriteriaMet), "Complete"
	}
	if c == nil {
		return ""
	}
	why := c.Reason + tail(": ", c.Message)
	if will == "Failed" {
		why = c.Reason + l.failure(c)
	}
	waits := 0
	for _, p := range l.values {
		if !ended(p) || slices.Contains(p.Finalizers, batchv1.JobTrackingFinalizer) {
			waits++
		}
	}
	return fmt.Sprintf("is going to be %s (%s), and waits until %s ended and %s counted", will, why, haveWords(waits), isAre(waits))
}

func haveWords(n int) string {
	if n == 1 {
		return "1 pod has"
	}
	return fmt.Sprintf("%d pods have", n)
}

// fate says when a Job that has ended is deleted, and by whom.
func (l *jobLook) fate(end *batchv1.JobCondition) string {
	if ttl := l.job.Spec.TTLSecondsAfterFinished; ttl != nil {
		return fmt.Sprintf("; it is deleted %s, because ttlSecondsAfterFinished is %d", l.s.due(end.LastTransitionTime.Add(time.Duration(*ttl)*time.Second).UTC()), *ttl)
	}
	if owner := l.s.Owner(l.o); owner != nil {
		if cj, ok := owner.Value.(*batchv1.CronJob); ok {
			if end.Type == batchv1.JobComplete {
				return fmt.Sprintf("; %s keeps its last %d such Jobs (successfulJobsHistoryLimit)", owner.Ref, wanted(cj.Spec.SuccessfulJobsHistoryLimit))
			}
			return fmt.Sprintf("; %s keeps its last %d such Jobs (failedJobsHistoryLimit)", owner.Ref, wanted(cj.Spec.FailedJobsHistoryLimit))
		}
	}
	return "; it stays until somebody deletes it, because ttlSecondsAfterFinished is not set"
}

// ended reports whether all containers of a pod have ended for good.
func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// going says what runs of a Job that has not come to its end, or what it waits for.
func (l *jobLook) going() string {
	active, notReady := 0, ""
	for i, p := range l.values {
		if ended(p) || p.DeletionTimestamp != nil {
			continue
		}
		active++
		if why := l.s.waitsOn(l.pods[i], p); why != "" && notReady == "" {
			notReady = fmt.Sprintf(", and %s is not ready: %s", p.Name, why)
		}
	}
	want := int(wanted(l.job.Spec.Parallelism))
	if n := l.job.Spec.Completions; n != nil {
		want = max(min(want, int(*n-l.job.Status.Succeeded)), 0)
	}
	runs := fmt.Sprintf("runs %s%s", count(active, "pod"), notReady)
	if active >= want {
		return runs
	}
	if why := l.backoff(); why != "" {
		if active == 0 {
			return why
		}
		return runs + ", and " + why
	}
	runs = fmt.Sprintf("runs %d of %s that it may (parallelism %d)%s", active, count(want, "pod"), wanted(l.job.Spec.Parallelism), notReady)
	if e := l.s.warned(l.o, "FailedCreate", l.o.At); e != nil {
		runs += "; no more could be made: " + e.Message
	}
	return runs
}

// The back-off of failed pods (upstream's DefaultJobPodFailureBackOff and its maximum).
const (
	failureBackoff    = 10 * time.Second
	maxFailureBackoff = 10 * time.Minute
)

// backoff says for how long no pod is made in place of one that failed, and how that comes
// about; "" where nothing is waited for.
func (l *jobLook) backoff() string {
	if l.job.Spec.BackoffLimitPerIndex != nil {
		return l.indexBackoff()
	}
	var success, last time.Time
	n := 0
	for _, p := range l.values {
		if p.Status.Phase == corev1.PodSucceeded {
			success = later(success, podEnd(p))
		}
	}
	started, _ := l.s.controllersSince()
	for _, p := range l.values {
		at := podEnd(p)
		forgotten := at.Before(started) && !slices.Contains(p.Finalizers, batchv1.JobTrackingFinalizer)
		if p.Status.Phase == corev1.PodFailed && at.After(success) && !forgotten {
			n++
			last = later(last, at)
		}
	}
	return l.waits(n, last, fmt.Sprintf("%s in a row", failedWords(n)))
}

func failedWords(n int) string {
	if n == 1 {
		return "1 pod failed"
	}
	return fmt.Sprintf("%d pods failed", n)
}

// waits is the sentence of a back-off after n failures; "" where it is over.
func (l *jobLook) waits(n int, last time.Time, of string) string {
	if n == 0 {
		return ""
	}
	pause := min(failureBackoff<<min(n-1, 6), maxFailureBackoff)
	left := last.Add(pause).Sub(l.s.Now())
	if left <= 0 {
		return ""
	}
	how := seconds(failureBackoff)
	switch {
	case pause == maxFailureBackoff:
		how = fmt.Sprintf("%s x 2^%d, but at most %s", how, n-1, seconds(pause))
	case n > 1:
		how = fmt.Sprintf("%s x 2^%d = %s", how, n-1, seconds(pause))
	}
	return fmt.Sprintf("waits %s before the next try: %s, so the back-off is %s from the last failure (%s) on", seconds(left), of, how, clockTime(last.UTC()))
}

// indexBackoff is the back-off of the index that may be tried again first.
func (l *jobLook) indexBackoff() (says string) {
	var soonest time.Duration
	for _, p := range l.values {
		if p.Status.Phase != corev1.PodFailed || !slices.Contains(p.Finalizers, batchv1.JobTrackingFinalizer) {
			continue
		}
		n := 1 + annotated(p, batchv1.JobIndexFailureCountAnnotation) + annotated(p, batchv1.JobIndexIgnoredFailureCountAnnotation)
		at := podEnd(p)
		left := at.Add(min(failureBackoff<<min(n-1, 6), maxFailureBackoff)).Sub(l.s.Now())
		if text := l.waits(n, at, fmt.Sprintf("index %s failed %s", p.Annotations[batchv1.JobCompletionIndexAnnotation], times(n))); text != "" && (says == "" || left < soonest) {
			says, soonest = text, left
		}
	}
	return says
}

func annotated(pod *corev1.Pod, name string) int {
	n, err := strconv.Atoi(pod.Annotations[name])
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// podEnd is when a pod ended: its last container, else the end of its readiness, else its
// creation (upstream's getFinishedTime).
func podEnd(p *corev1.Pod) (at time.Time) {
	for _, c := range p.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil {
			at = later(at, t.FinishedAt.Time)
		}
	}
	if !at.IsZero() {
		return at
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Time
		}
	}
	return p.CreationTimestamp.Time
}

// controllersSince is when the controllers that run now started: what they remember of failures goes back no
// further.
func (s *State) controllersSince() (time.Time, bool) {
	p := s.Process(trace.CompKCM)
	if p == nil || !p.Up {
		return time.Time{}, false
	}
	return s.Run.Epoch.Add(p.Since), true
}

// lines are the pods of a Job.
func (l *jobLook) lines() (from []Keeper) {
	for i, p := range l.values {
		k := l.s.podLine(l.pods[i], p, "")
		switch p.Status.Phase {
		case corev1.PodSucceeded:
			k.Good, k.Why = true, "has succeeded"
		case corev1.PodFailed:
			k.Why = "has failed" + exitWords(p)
		}
		if index, ok := p.Annotations[batchv1.JobCompletionIndexAnnotation]; ok {
			k.Why += ", index " + index
		}
		from = append(from, k)
	}
	return told(from)
}

// exitWords says with which code a container of a pod has ended badly.
func exitWords(p *corev1.Pod) string {
	if p.Status.Reason != "" {
		return ": " + p.Status.Reason
	}
	for _, c := range p.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			return fmt.Sprintf(": container %s ended with exit code %d", c.Name, t.ExitCode)
		}
	}
	return ""
}

// podOfJob says for which index of which Job a pod works.
func (s *State) podOfJob(o *Object) *Reason {
	pod, l := s.jobOf(o)
	if l == nil || ended(pod) || o.Deleting() {
		return nil
	}
	return sentence("%s does the work of %s", o.Ref, l.part(pod))
}

// endedOfJob says why a pod of a Job is still there that has ended or was deleted: for its log, and for
// the Job to count it.
func (s *State) endedOfJob(o *Object) *Reason {
	pod, l := s.jobOf(o)
	counted := l != nil && !slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
	if l == nil || !ended(pod) && !o.Deleting() || o.Deleting() && counted {
		return nil
	}
	a := &Reason{}
	stays := fmt.Sprintf("%s has ended (%s) and stays, so that its log can be read: it goes with %s", o.Ref, pod.Status.Phase, l.part(pod))
	switch end := jobEnd(l.job); {
	case o.Deleting():
		a.Says = fmt.Sprintf("%s was deleted before %s had counted it", o.Ref, l.o.Ref)
	case end != nil:
		a.Says = fmt.Sprintf("%s, which is %s%s", stays, end.Type, l.fate(end))
	default:
		a.Says = stays
	}
	if counted {
		return a
	}
	k := Keeper{What: "finalizer " + batchv1.JobTrackingFinalizer, Ref: o.Ref, Event: o.Changed}
	switch un := l.job.Status.UncountedTerminatedPods; {
	case un != nil && (slices.Contains(un.Succeeded, pod.UID) || slices.Contains(un.Failed, pod.UID)):
		k.Why = "the Job has the pod in status.uncountedTerminatedPods: the finalizer goes next, and then the pod is counted for good"
	case l.job.Spec.BackoffLimitPerIndex != nil && pod.Status.Phase == corev1.PodFailed:
		k.Why = "stays until there is a new pod for the index, which takes on how often it has failed"
	case !ended(pod):
		k.Why = "stays until the pod has ended and the Job has counted how"
	default:
		k.Why = "the Job has not counted the pod yet"
	}
	if p, down := s.down(trace.CompKCM); down {
		k.Why += "; the controller manager, which takes it off, is not running: " + p.Reason
	}
	a.From = append(a.From, k)
	return a
}

// jobOf is the Job of a pod; nil if it has none.
func (s *State) jobOf(o *Object) (*corev1.Pod, *jobLook) {
	pod, ok := o.Value.(*corev1.Pod)
	if !ok {
		return nil, nil
	}
	owner := s.Owner(o)
	if owner == nil {
		return nil, nil
	}
	job, ok := owner.Value.(*batchv1.Job)
	if !ok {
		return nil, nil
	}
	return pod, &jobLook{s: s, o: owner, job: job}
}

// part is the Job, or the index of it, that a pod works for.
func (l *jobLook) part(pod *corev1.Pod) string {
	if index, ok := pod.Annotations[batchv1.JobCompletionIndexAnnotation]; ok {
		return fmt.Sprintf("index %s of %s", index, l.o.Ref)
	}
	return l.o.Ref.String()
}

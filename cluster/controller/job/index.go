package job

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/storage/names"

	"kviz/cluster/controller/pods"
)

const (
	indexVariable = "JOB_COMPLETION_INDEX"
	noIndex       = -1
)

func indexed(job *batchv1.Job) bool {
	return job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion
}

func limitPerIndex(job *batchv1.Job) bool { return job.Spec.BackoffLimitPerIndex != nil }

// indexOf is a pod's completion index, or noIndex (getCompletionIndex).
func indexOf(pod *corev1.Pod) int {
	i, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	if err != nil || i < 0 {
		return noIndex
	}
	return i
}

// inRange reports whether a pod has an index that the Job still has.
func inRange(pod *corev1.Pod, job *batchv1.Job) bool {
	i := indexOf(pod)
	return i != noIndex && i < int(*job.Spec.Completions)
}

// indexesOf are the indexes of pods, in order, each once.
func indexesOf(list []*corev1.Pod) (out []int) {
	for _, p := range list {
		if i := indexOf(p); i != noIndex {
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// number is that of an annotation; 0 for what is none (parseInt32).
func number(pod *corev1.Pod, annotation string) int32 {
	n, err := strconv.Atoi(pod.Annotations[annotation])
	if err != nil || n < 0 || n > math.MaxInt32 {
		return 0
	}
	return int32(n)
}

// indexFailures is how often the index had failed when the pod was created;
// allIndexFailures counts those too that the policy ignores.
func indexFailures(pod *corev1.Pod) int32 {
	return number(pod, batchv1.JobIndexFailureCountAnnotation)
}

func allIndexFailures(pod *corev1.Pod) int32 {
	return indexFailures(pod) + number(pod, batchv1.JobIndexIgnoredFailureCountAnnotation)
}

// succeededIndexes are those of the status, and those that have succeeded since
// (calculateSucceededIndexes).
func succeededIndexes(job *batchv1.Job, list []*corev1.Pod) (before, now intervals) {
	before = parseIndexes(job.Status.CompletedIndexes, int(*job.Spec.Completions))
	return before, before.with(indexesOf(pods.Filter(list, func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodSucceeded && inRange(p, job) && tracked(p)
	})))
}

// failedIndexes are those of the status, and those that have failed for good since
// (calculateFailedIndexes).
func failedIndexes(job *batchv1.Job, list []*corev1.Pod) intervals {
	var before intervals
	if s := job.Status.FailedIndexes; s != nil {
		before = parseIndexes(*s, int(*job.Spec.Completions))
	}
	return before.with(indexesOf(pods.Filter(list, func(p *corev1.Pod) bool {
		return inRange(p, job) && tracked(p) && indexFailed(job, p)
	})))
}

// indexFailed reports whether with this pod its index has failed for good.
func indexFailed(job *batchv1.Job, pod *corev1.Pod) bool {
	if !failed(pod, job) {
		return false
	}
	v := judge(job.Spec.PodFailurePolicy, pod)
	if v.action == batchv1.PodFailurePolicyActionFailIndex {
		return true
	}
	return !v.ignored && indexFailures(pod) >= *job.Spec.BackoffLimitPerIndex
}

// pending are the first count indexes that have no pod and need one (firstPendingIndexes).
func (s *state) pending(count int) []int {
	if count == 0 {
		return nil
	}
	taken := s.succeededIndexes.with(indexesOf(s.active))
	if onlyReplaceFailed(s.job) {
		taken = taken.with(indexesOf(pods.Filter(s.pods, pods.Terminating)))
	}
	taken = taken.merge(s.failedIndexes)
	var out []int
	for i := 0; i < int(*s.job.Spec.Completions) && len(out) < count; i++ {
		for len(taken) > 0 && taken[0].Last < i {
			taken = taken[1:]
		}
		if len(taken) > 0 && taken[0].First <= i {
			i = taken[0].Last
			continue
		}
		out = append(out, i)
	}
	return out
}

// awaiting are the failed pods, by index, that are to stay until there is a pod in their
// place, which takes on how often the index has failed
// (getPodsWithDelayedDeletionPerIndex).
func (s *state) awaiting() map[int]*corev1.Pod {
	active := sets.New(indexesOf(s.active)...)
	out := map[int]*corev1.Pod{}
	for _, p := range s.uncountedPods(nil) {
		i := indexOf(p)
		if !failed(p, s.job) || s.succeededIndexes.has(i) || s.failedIndexes.has(i) || active.Has(i) {
			continue
		}
		if last := out[i]; last == nil || allIndexFailures(last) <= allIndexFailures(p) && !finished(p).Before(finished(last)) {
			out[i] = p
		}
	}
	return out
}

// setIndex makes a template one for an index, in place of a pod that has failed, or of
// none.
func setIndex(template *corev1.PodTemplateSpec, job *batchv1.Job, index int, instead *corev1.Pod) {
	if template.Annotations == nil {
		template.Annotations = map[string]string{}
	}
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	template.Annotations[batchv1.JobCompletionIndexAnnotation] = strconv.Itoa(index)
	template.Labels[batchv1.JobCompletionIndexAnnotation] = strconv.Itoa(index)
	template.Spec.Hostname = fmt.Sprintf("%s-%d", job.Name, index)
	if !limitPerIndex(job) {
		return
	}
	var counted, ignored int32
	if instead != nil {
		counted, ignored = indexFailures(instead), allIndexFailures(instead)-indexFailures(instead)
		if judge(job.Spec.PodFailurePolicy, instead).ignored {
			ignored++
		} else {
			counted++
		}
	}
	template.Annotations[batchv1.JobIndexFailureCountAnnotation] = strconv.Itoa(int(counted))
	if ignored > 0 {
		template.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation] = strconv.Itoa(int(ignored))
	}
}

// tellIndex has the containers know their index (addCompletionIndexEnvVariables).
func tellIndex(template *corev1.PodTemplateSpec) {
	for _, list := range [][]corev1.Container{template.Spec.InitContainers, template.Spec.Containers} {
		for i := range list {
			c := &list[i]
			if slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == indexVariable }) {
				continue
			}
			c.Env = append(c.Env, corev1.EnvVar{Name: indexVariable, ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: fmt.Sprintf("metadata.labels['%s']", batchv1.JobCompletionIndexAnnotation)},
			}})
		}
	}
}

// nameOf is the beginning of the name of an index's pod (podGenerateNameWithIndex).
func nameOf(job *batchv1.Job, index int) string {
	end := fmt.Sprintf("-%d-", index)
	return job.Name[:min(len(job.Name), names.MaxGeneratedNameLength-len(end))] + end
}

// surplus are active pods to delete: of an indexed Job those without a valid index and
// all but one of each index, then, to make them n, those that have got least far
// (activePodsForRemoval).
func surplus(job *batchv1.Job, active []*corev1.Pod, n int) []*corev1.Pod {
	rest := slices.Clone(active)
	var out []*corev1.Pod
	if indexed(job) {
		out, rest = duplicates(rest, int(*job.Spec.Completions))
	}
	if len(out) < n {
		pods.EarliestFirst(rest)
		out = append(out, rest[:n-len(out)]...)
	}
	return out
}

// duplicates parts pods, which it sorts by their index, into those to delete and one of each valid
// index (appendDuplicatedIndexPodsForRemoval).
func duplicates(list []*corev1.Pod, completions int) (out, rest []*corev1.Pod) {
	slices.SortStableFunc(list, func(a, b *corev1.Pod) int { return indexOf(a) - indexOf(b) })
	below := len(list)
	for i, p := range list {
		if indexOf(p) >= completions {
			below = i
			break
		}
	}
	beyond := list[below:]
	for first := 0; first < below; {
		index, end := indexOf(list[first]), first+1
		for end < below && indexOf(list[end]) == index {
			end++
		}
		if end == below { // upstream notices the last one only after those beyond
			out, beyond = append(out, beyond...), nil
		}
		same := list[first:end]
		switch {
		case index == noIndex:
			out = append(out, same...)
		case len(same) == 1:
			rest = append(rest, same[0])
		default:
			pods.EarliestFirst(same)
			out, rest = append(out, same[:len(same)-1]...), append(rest, same[len(same)-1])
		}
		first = end
	}
	return append(out, beyond...), rest
}

package registry

import (
	"context"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	jobutil "k8s.io/kubernetes/pkg/api/job"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/batch"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/features"
	utilptr "k8s.io/utils/ptr"

	"kviz/cluster/apiserver/object"
)

// jobStrategy mirrors pkg/registry/batch/job/strategy.go, which brings the generic
// registry along.
type jobStrategy struct{ plain }

// DefaultGarbageCollectionPolicy is to leave the pods, for old clients; kubectl
// asks for more.
func (jobStrategy) DefaultGarbageCollectionPolicy(context.Context) rest.GarbageCollectionPolicy {
	return rest.OrphanDependents
}

func (jobStrategy) GetResetFields() resetFieldSets { return resets("batch/v1", []any{"status"}) }

func (jobStrategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	job := obj.(*batch.Job)
	if !*job.Spec.ManualSelector {
		generateSelector(job)
	}
	job.Status = batch.JobStatus{}
	job.Generation = 1
	jobutil.DropDisabledFields(&job.Spec, nil)
	podutil.DropDisabledTemplateFields(&job.Spec.Template, nil)
}

// generateSelector adds a selector that only this job's pods match: by its UID.
// Labels of the writer's that disagree are refused by validation.
func generateSelector(job *batch.Job) {
	setDefault := func(labels map[string]string, key, value string) {
		if _, found := labels[key]; !found {
			labels[key] = value
		}
	}
	template := &job.Spec.Template
	if template.Labels = maps.Clone(template.Labels); template.Labels == nil { // by default they are the job's labels too
		template.Labels = map[string]string{}
	}
	for _, key := range []string{batch.LegacyJobNameLabel, batch.JobNameLabel} {
		setDefault(template.Labels, key, job.Name)
	}
	for _, key := range []string{batch.LegacyControllerUidLabel, batch.ControllerUidLabel} {
		setDefault(template.Labels, key, string(job.UID))
	}
	if job.Spec.Selector == nil {
		job.Spec.Selector = &metav1.LabelSelector{}
	}
	if job.Spec.Selector.MatchLabels == nil {
		job.Spec.Selector.MatchLabels = map[string]string{}
	}
	setDefault(job.Spec.Selector.MatchLabels, batch.ControllerUidLabel, string(job.UID))
}

func (jobStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	job, was := obj.(*batch.Job), old.(*batch.Job)
	job.Status = was.Status
	jobutil.DropDisabledFields(&job.Spec, &was.Spec)
	podutil.DropDisabledTemplateFields(&job.Spec.Template, &was.Spec.Template)
	if !object.Equal(job.Spec, was.Spec) {
		job.Generation = was.Generation + 1
	}
}

func (jobStrategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	job := obj.(*batch.Job)
	return batchvalidation.ValidateJobCreate(job, jobOptions(job, nil))
}

func (jobStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	job, was := obj.(*batch.Job), old.(*batch.Job)
	return batchvalidation.ValidateJobUpdate(job, was, jobOptions(job, was))
}

// DeclarativeValidationConfig says which of the options that the tags name are
// on.
func (jobStrategy) DeclarativeValidationConfig(_ context.Context, _, _ runtime.Object) rest.DeclarativeValidationConfig {
	return rest.DeclarativeValidationConfig{Options: map[string]bool{
		string(features.WorkloadWithJob): utilfeature.DefaultFeatureGate.Enabled(features.WorkloadWithJob),
	}}
}

// jobOptions is validationOptionsForJob: the pod template may change while the
// job is suspended and has no pods.
func jobOptions(job, was *batch.Job) batchvalidation.JobValidationOptions {
	var before *core.PodTemplateSpec
	if was != nil {
		before = &was.Spec.Template
	}
	opts := batchvalidation.JobValidationOptions{
		PodValidationOptions:  podutil.GetValidationOptionsFromPodTemplate(&job.Spec.Template, before),
		RequirePrefixedLabels: true,
	}
	if was == nil {
		return opts
	}
	opts.AllowInvalidLabelValueInSelector = opts.AllowInvalidLabelValueInSelector || metav1validation.LabelSelectorHasInvalidLabelValue(was.Spec.Selector)
	suspended := was.Spec.Suspend != nil && *was.Spec.Suspend
	notStarted := was.Status.StartTime == nil
	mutable := suspended && (notStarted || batchvalidation.IsConditionTrue(was.Status.Conditions, batch.JobSuspended)) && was.Status.Active == 0
	opts.AllowMutableSchedulingDirectives = suspended && notStarted
	if utilfeature.DefaultFeatureGate.Enabled(features.MutablePodResourcesForSuspendedJobs) {
		opts.AllowMutablePodResources = mutable
	}
	if utilfeature.DefaultFeatureGate.Enabled(features.MutableSchedulingDirectivesForSuspendedJobs) {
		opts.AllowMutableSchedulingDirectives = mutable
	}
	_, hadName := was.Spec.Template.Labels[batch.JobNameLabel]
	_, hadUID := was.Spec.Template.Labels[batch.ControllerUidLabel]
	opts.RequirePrefixedLabels = hadName && hadUID
	return opts
}

func (jobStrategy) WarningsOnCreate(ctx context.Context, obj runtime.Object) []string {
	job := obj.(*batch.Job)
	var w []string
	if msgs := utilvalidation.IsDNS1123Label(job.Name); len(msgs) != 0 {
		w = append(w, fmt.Sprintf("metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: %v", msgs))
	}
	return append(w, jobutil.WarningsForJobSpec(ctx, field.NewPath("spec"), &job.Spec, nil)...)
}

func (jobStrategy) WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string {
	job, was := obj.(*batch.Job), old.(*batch.Job)
	if job.Generation == was.Generation {
		return nil
	}
	return jobutil.WarningsForJobSpec(ctx, field.NewPath("spec"), &job.Spec, &was.Spec)
}

type jobStatusStrategy struct{ jobStrategy }

func (jobStatusStrategy) GetResetFields() resetFieldSets { return resets("batch/v1", []any{"spec"}) }

func (jobStatusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	job, was := obj.(*batch.Job), old.(*batch.Job)
	job.Spec = was.Spec
	keepTime(&job.Status.StartTime, was.Status.StartTime)
	keepTime(&job.Status.CompletionTime, was.Status.CompletionTime)
}

// keepTime leaves a time as it was where it is the same one as a client sends it, in seconds.
// Upstream's validation compares times with all that is in them, which is the same where both were
// decoded; here the objects of kviz' own controllers were not.
func keepTime(is **metav1.Time, was *metav1.Time) {
	if *is != nil && was != nil && (*is).Unix() == was.Unix() {
		*is = was
	}
}

func (jobStatusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	job, was := obj.(*batch.Job), old.(*batch.Job)
	return batchvalidation.ValidateJobUpdateStatus(job, was, jobStatusOptions(job, was))
}

func (jobStatusStrategy) WarningsOnUpdate(_ context.Context, _, _ runtime.Object) []string {
	return nil
}

// jobStatusOptions is getStatusValidationOptions. A rule is applied where what it
// is about changes, so that a status that was wrong before can still be updated.
func jobStatusOptions(job, was *batch.Job) batchvalidation.JobStatusValidationOptions {
	isIndexed := utilptr.Deref(job.Spec.CompletionMode, batch.NonIndexedCompletion) == batch.IndexedCompletion

	isJobFinishedChanged := batchvalidation.IsJobFinished(was) != batchvalidation.IsJobFinished(job)
	isJobCompleteChanged := batchvalidation.IsJobComplete(was) != batchvalidation.IsJobComplete(job)
	isJobFailedChanged := batchvalidation.IsJobFailed(was) != batchvalidation.IsJobFailed(job)
	isJobFailureTargetChanged := batchvalidation.IsConditionTrue(was.Status.Conditions, batch.JobFailureTarget) != batchvalidation.IsConditionTrue(job.Status.Conditions, batch.JobFailureTarget)
	isJobSuccessCriteriaMetChanged := batchvalidation.IsConditionTrue(was.Status.Conditions, batch.JobSuccessCriteriaMet) != batchvalidation.IsConditionTrue(job.Status.Conditions, batch.JobSuccessCriteriaMet)
	isCompletedIndexesChanged := was.Status.CompletedIndexes != job.Status.CompletedIndexes
	isFailedIndexesChanged := !utilptr.Equal(was.Status.FailedIndexes, job.Status.FailedIndexes)
	isActiveChanged := was.Status.Active != job.Status.Active
	isStartTimeChanged := !utilptr.Equal(was.Status.StartTime, job.Status.StartTime)
	isCompletionTimeChanged := !utilptr.Equal(was.Status.CompletionTime, job.Status.CompletionTime)
	isUncountedTerminatedPodsChanged := !object.Equal(was.Status.UncountedTerminatedPods, job.Status.UncountedTerminatedPods)
	isReadyChanged := !utilptr.Equal(was.Status.Ready, job.Status.Ready)
	isTerminatingChanged := !utilptr.Equal(was.Status.Terminating, job.Status.Terminating)
	isSuspendedWithZeroCompletions := utilptr.Equal(job.Spec.Suspend, utilptr.To(true)) && utilptr.Equal(job.Spec.Completions, utilptr.To[int32](0))
	isJobResuming := batchvalidation.IsConditionTrue(was.Status.Conditions, batch.JobSuspended) &&
		batchvalidation.IsConditionFalse(job.Status.Conditions, batch.JobSuspended)

	return batchvalidation.JobStatusValidationOptions{
		RejectDecreasingSucceededCounter:             !isIndexed || !utilptr.Equal(job.Spec.Completions, job.Spec.Parallelism),
		RejectDecreasingFailedCounter:                true,
		RejectDisablingTerminalCondition:             true,
		RejectInvalidCompletedIndexes:                isCompletedIndexesChanged,
		RejectInvalidFailedIndexes:                   isFailedIndexesChanged,
		RejectCompletedIndexesForNonIndexedJob:       isCompletedIndexesChanged,
		RejectFailedIndexesForNoBackoffLimitPerIndex: isFailedIndexesChanged,
		RejectFailedIndexesOverlappingCompleted:      isFailedIndexesChanged || isCompletedIndexesChanged,
		RejectFailedJobWithoutFailureTarget:          isJobFailedChanged || isFailedIndexesChanged,
		RejectCompleteJobWithoutSuccessCriteriaMet:   isJobCompleteChanged || isJobSuccessCriteriaMetChanged,
		RejectFinishedJobWithActivePods:              isJobFinishedChanged || isActiveChanged,
		RejectFinishedJobWithoutStartTime:            (isJobFinishedChanged || isStartTimeChanged) && !isSuspendedWithZeroCompletions,
		RejectFinishedJobWithUncountedTerminatedPods: isJobFinishedChanged || isUncountedTerminatedPodsChanged,
		RejectStartTimeUpdateForUnsuspendedJob:       isStartTimeChanged && !isJobResuming,
		RejectCompletionTimeBeforeStartTime:          isStartTimeChanged || isCompletionTimeChanged,
		RejectMutatingCompletionTime:                 true,
		RejectNotCompleteJobWithCompletionTime:       isJobCompleteChanged || isCompletionTimeChanged,
		RejectCompleteJobWithoutCompletionTime:       isJobCompleteChanged || isCompletionTimeChanged,
		RejectCompleteJobWithFailedCondition:         isJobCompleteChanged || isJobFailedChanged,
		RejectCompleteJobWithFailureTargetCondition:  isJobCompleteChanged || isJobFailureTargetChanged,
		RejectMoreReadyThanActivePods:                isReadyChanged || isActiveChanged,
		RejectFinishedJobWithTerminatingPods:         isJobFinishedChanged || isTerminatingChanged,
	}
}

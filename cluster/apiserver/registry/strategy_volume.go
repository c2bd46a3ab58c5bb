package registry

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	pvutil "k8s.io/kubernetes/pkg/api/persistentvolume"
	pvcutil "k8s.io/kubernetes/pkg/api/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	volumevalidation "k8s.io/kubernetes/pkg/volume/validation"
)

// volumeStrategy mirrors pkg/registry/core/persistentvolume/strategy.go, which
// takes the time from the machine's clock.
type volumeStrategy struct{ plain }

func (volumeStrategy) NamespaceScoped() bool { return false }

func (volumeStrategy) GetResetFields() resetFieldSets { return resets("v1", []any{"status"}) }

func (volumeStrategy) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	pv := obj.(*core.PersistentVolume)
	now := nowOf(ctx)
	pv.Status = core.PersistentVolumeStatus{Phase: core.VolumePending, LastPhaseTransitionTime: &now}
	pvutil.DropDisabledSpecFields(&pv.Spec, nil)
}

func (volumeStrategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	pv := obj.(*core.PersistentVolume)
	errs := validation.ValidatePersistentVolume(pv, validation.ValidationOptionsForPersistentVolume(pv, nil))
	return append(errs, volumevalidation.ValidatePersistentVolume(pv)...)
}

func (volumeStrategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	return pvutil.GetWarningsForPersistentVolume(obj.(*core.PersistentVolume))
}

func (volumeStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	pv, was := obj.(*core.PersistentVolume), old.(*core.PersistentVolume)
	pv.Status = was.Status
	pvutil.DropDisabledSpecFields(&pv.Spec, &was.Spec)
}

func (volumeStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	pv, was := obj.(*core.PersistentVolume), old.(*core.PersistentVolume)
	opts := validation.ValidationOptionsForPersistentVolume(pv, was)
	errs := validation.ValidatePersistentVolume(pv, opts)
	errs = append(errs, volumevalidation.ValidatePersistentVolume(pv)...)
	return append(errs, validation.ValidatePersistentVolumeUpdate(pv, was, opts)...)
}

func (volumeStrategy) WarningsOnUpdate(_ context.Context, obj, _ runtime.Object) []string {
	return pvutil.GetWarningsForPersistentVolume(obj.(*core.PersistentVolume))
}

type volumeStatusStrategy struct{ volumeStrategy }

func (volumeStatusStrategy) GetResetFields() resetFieldSets { return resets("v1", []any{"spec"}) }

// PrepareForUpdate notes when the phase changed, unless the writer says.
func (volumeStatusStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	pv, was := obj.(*core.PersistentVolume), old.(*core.PersistentVolume)
	pv.Spec = was.Spec
	at := pv.Status.LastPhaseTransitionTime
	switch {
	case was.Status.Phase == pv.Status.Phase && at == nil:
		pv.Status.LastPhaseTransitionTime = was.Status.LastPhaseTransitionTime
	case was.Status.Phase != pv.Status.Phase && (at == nil || at.Equal(was.Status.LastPhaseTransitionTime)):
		now := nowOf(ctx)
		pv.Status.LastPhaseTransitionTime = &now
	}
}

func (volumeStatusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidatePersistentVolumeStatusUpdate(obj.(*core.PersistentVolume), old.(*core.PersistentVolume))
}

func (volumeStatusStrategy) WarningsOnUpdate(_ context.Context, _, _ runtime.Object) []string {
	return nil
}

// claimStrategy mirrors pkg/registry/core/persistentvolumeclaim/strategy.go. That
// one brings the generic registry along, as volumeStrategy's original does.
type claimStrategy struct{ plain }

func (claimStrategy) GetResetFields() resetFieldSets { return resets("v1", []any{"status"}) }

func (claimStrategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	pvc := obj.(*core.PersistentVolumeClaim)
	pvc.Status = core.PersistentVolumeClaimStatus{}
	pvcutil.DropDisabledFields(&pvc.Spec, nil)
	pvcutil.EnforceDataSourceBackwardsCompatibility(&pvc.Spec, nil)
	pvcutil.NormalizeDataSources(&pvc.Spec)
}

func (claimStrategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	pvc := obj.(*core.PersistentVolumeClaim)
	return validation.ValidatePersistentVolumeClaim(pvc, validation.ValidationOptionsForPersistentVolumeClaim(pvc, nil))
}

func (claimStrategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	return pvcutil.GetWarningsForPersistentVolumeClaim(obj.(*core.PersistentVolumeClaim))
}

func (claimStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	pvc, was := obj.(*core.PersistentVolumeClaim), old.(*core.PersistentVolumeClaim)
	pvc.Status = was.Status
	pvcutil.DropDisabledFields(&pvc.Spec, &was.Spec)
	pvcutil.EnforceDataSourceBackwardsCompatibility(&pvc.Spec, &was.Spec)
	pvcutil.NormalizeDataSources(&pvc.Spec)
}

func (claimStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	pvc, was := obj.(*core.PersistentVolumeClaim), old.(*core.PersistentVolumeClaim).DeepCopy()
	pvcutil.NormalizeDataSources(&was.Spec)
	return validation.ValidatePersistentVolumeClaimUpdate(pvc, was, validation.ValidationOptionsForPersistentVolumeClaim(pvc, was))
}

func (claimStrategy) WarningsOnUpdate(_ context.Context, obj, _ runtime.Object) []string {
	return pvcutil.GetWarningsForPersistentVolumeClaim(obj.(*core.PersistentVolumeClaim))
}

type claimStatusStrategy struct{ claimStrategy }

func (claimStatusStrategy) GetResetFields() resetFieldSets { return resets("v1", []any{"spec"}) }

func (claimStatusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	pvc, was := obj.(*core.PersistentVolumeClaim), old.(*core.PersistentVolumeClaim)
	pvc.Spec = was.Spec
	pvcutil.DropDisabledFieldsFromStatus(pvc, was)
}

func (claimStatusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	pvc, was := obj.(*core.PersistentVolumeClaim), old.(*core.PersistentVolumeClaim)
	return validation.ValidatePersistentVolumeClaimStatusUpdate(pvc, was, validation.ValidationOptionsForPersistentVolumeClaim(pvc, was))
}

func (claimStatusStrategy) WarningsOnUpdate(_ context.Context, _, _ runtime.Object) []string {
	return nil
}

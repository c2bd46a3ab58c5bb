package registry

import (
	"context"
	"fmt"
	"strings"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/api/resourceclaimspec"
	"k8s.io/kubernetes/pkg/apis/resource"
	"k8s.io/kubernetes/pkg/apis/resource/validation"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/utils/ptr"
)

// The kinds of resource.k8s.io whose upstream packages would bring a hundred more into
// the build, or read the machine's clock (pkg/registry/resource/<kind>/strategy.go).
// Nothing of admin access: upstream's look at the namespace's label for it, here it is
// refused.

const resourceV1 = "resource.k8s.io/v1"

// devices are what the kinds have in common.
type devices struct{ plain }

// DeclarativeValidationConfig pairs what tags and functions find.
func (devices) DeclarativeValidationConfig(context.Context, runtime.Object, runtime.Object) rest.DeclarativeValidationConfig {
	return rest.DeclarativeValidationConfig{
		NormalizationRules: validation.ResourceNormalizationRules,
		Options:            map[string]bool{string(features.DRAPartitionableDevicesType): enabled(features.DRAPartitionableDevicesType)},
	}
}

var enabled = utilfeature.DefaultFeatureGate.Enabled

// noAdminAccess refuses requests for devices that somebody else uses (AuthorizedForAdmin).
func noAdminAccess(requests []resource.DeviceRequest, at *field.Path) field.ErrorList {
	for i, r := range requests {
		if r.Exactly != nil && ptr.Deref(r.Exactly.AdminAccess, false) {
			return field.ErrorList{field.Forbidden(at.Index(i).Child("adminAccess"), "admin access to devices is not given in this cluster")}
		}
	}
	return nil
}

type resourceClaimStrategy struct{ devices }

func (resourceClaimStrategy) GetResetFields() resetFieldSets {
	return resets(resourceV1, []any{"status"})
}

func (resourceClaimStrategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	c := obj.(*resource.ResourceClaim)
	c.Status = resource.ResourceClaimStatus{}
	resourceclaimspec.DropDisabledFields(&c.Spec, nil)
}

func (resourceClaimStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	c, was := obj.(*resource.ResourceClaim), old.(*resource.ResourceClaim)
	c.Status = was.Status
	resourceclaimspec.DropDisabledFields(&c.Spec, &was.Spec)
}

func (resourceClaimStrategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	c := obj.(*resource.ResourceClaim)
	errs := noAdminAccess(c.Spec.Devices.Requests, field.NewPath("spec", "devices", "requests"))
	return append(errs, validation.ValidateResourceClaim(c)...)
}

func (resourceClaimStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidateResourceClaimUpdate(obj.(*resource.ResourceClaim), old.(*resource.ResourceClaim))
}

// resourceClaimStatusStrategy does not ask, as upstream's does, for permissions on
// resourceclaims/binding and resourceclaims/driver beside that on the status.
type resourceClaimStatusStrategy struct{ resourceClaimStrategy }

func (resourceClaimStatusStrategy) GetResetFields() resetFieldSets {
	return resets(resourceV1, []any{"metadata"}, []any{"spec"})
}

func (resourceClaimStatusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	c, was := obj.(*resource.ResourceClaim), old.(*resource.ResourceClaim)
	c.Spec = was.Spec
	metav1.ResetObjectMetaForStatus(&c.ObjectMeta, &was.ObjectMeta)
	if a := c.Status.Allocation; a != nil && !enabled(features.DRAOptionalNodeOperations) {
		for i := range a.Devices.Results {
			a.Devices.Results[i].SkipNodeOperations = nil
		}
	}
	dropDeallocated(c, was)
}

// dropDeallocated removes from the status the devices that the claim no longer has
// (dropDeallocatedStatusDevices).
func dropDeallocated(c, was *resource.ResourceClaim) {
	gone := map[string]bool{}
	each := func(a *resource.AllocationResult, is bool) {
		if a != nil {
			for _, r := range a.Devices.Results {
				gone[fmt.Sprint(r.Driver, "/", r.Pool, "/", r.Device, "/", ptr.Deref(r.ShareID, ""))] = is
			}
		}
	}
	each(was.Status.Allocation, true)
	each(c.Status.Allocation, false)
	var kept []resource.AllocatedDeviceStatus
	for _, d := range c.Status.Devices {
		if !gone[fmt.Sprint(d.Driver, "/", d.Pool, "/", d.Device, "/", ptr.Deref(d.ShareID, ""))] {
			kept = append(kept, d)
		}
	}
	c.Status.Devices = kept
}

func (resourceClaimStatusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidateResourceClaimStatusUpdate(obj.(*resource.ResourceClaim), old.(*resource.ResourceClaim))
}

type claimTemplateStrategy struct{ devices }

func (claimTemplateStrategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	resourceclaimspec.DropDisabledFields(&obj.(*resource.ResourceClaimTemplate).Spec.Spec, nil)
}

func (claimTemplateStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	resourceclaimspec.DropDisabledFields(&obj.(*resource.ResourceClaimTemplate).Spec.Spec, &old.(*resource.ResourceClaimTemplate).Spec.Spec)
}

func (claimTemplateStrategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	t := obj.(*resource.ResourceClaimTemplate)
	errs := noAdminAccess(t.Spec.Spec.Devices.Requests, field.NewPath("spec", "devices", "requests"))
	return append(errs, validation.ValidateResourceClaimTemplate(t)...)
}

func (claimTemplateStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	t, was := obj.(*resource.ResourceClaimTemplate), old.(*resource.ResourceClaimTemplate)
	return append(validation.ValidateResourceClaimTemplate(t), validation.ValidateResourceClaimTemplateUpdate(t, was)...)
}

type resourceSliceStrategy struct{ devices }

func (resourceSliceStrategy) NamespaceScoped() bool { return false }

func (resourceSliceStrategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	s := obj.(*resource.ResourceSlice)
	s.Generation = 1
	dropAlpha(s, &resource.ResourceSlice{})
}

func (resourceSliceStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	s, was := obj.(*resource.ResourceSlice), old.(*resource.ResourceSlice)
	if !equality.Semantic.DeepEqual(was.Spec, s.Spec) {
		s.Generation = was.Generation + 1
	}
	dropAlpha(s, was)
}

// dropAlpha clears the fields of features that are off by default, but where the old
// object has them already (dropDisabledFields; those that are on have nothing to clear).
func dropAlpha(s, was *resource.ResourceSlice) {
	type in struct{ groups, node, lists bool }
	var used in
	for _, d := range was.Spec.Devices {
		for _, c := range d.ConsumesCounters {
			used.groups = used.groups || len(c.CompatibilityGroups) > 0
		}
		used.node = used.node || len(d.NodeAllocatableResources) > 0
		for _, a := range d.Attributes {
			used.lists = used.lists || a.BoolValues != nil || a.IntValues != nil || a.StringValues != nil || a.VersionValues != nil
		}
	}
	if was.Spec.PartitionTypeAttribute == nil && !enabled(features.DRAPartitionableDevicesType) {
		s.Spec.PartitionTypeAttribute = nil
	}
	if len(was.Spec.SkipNodeOperations) == 0 && !enabled(features.DRAOptionalNodeOperations) {
		s.Spec.SkipNodeOperations = nil
	}
	for i := range s.Spec.Devices {
		d := &s.Spec.Devices[i]
		if !used.groups && !enabled(features.DRADeviceCompatibilityGroups) {
			for j := range d.ConsumesCounters {
				d.ConsumesCounters[j].CompatibilityGroups = nil
			}
		}
		if !used.node && !enabled(features.DRANodeAllocatableResources) {
			d.NodeAllocatableResources = nil
		}
		if !used.lists && !enabled(features.DRAListTypeAttributes) {
			for name, a := range d.Attributes {
				a.BoolValues, a.IntValues, a.StringValues, a.VersionValues = nil, nil, nil, nil
				d.Attributes[name] = a
			}
		}
	}
}

func (resourceSliceStrategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validation.ValidateResourceSlice(obj.(*resource.ResourceSlice))
}

func (resourceSliceStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidateResourceSliceUpdate(obj.(*resource.ResourceSlice), old.(*resource.ResourceSlice))
}

func (resourceSliceStrategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	if d := obj.(*resource.ResourceSlice).Spec.Driver; d != strings.ToLower(d) {
		return []string{fmt.Sprintf("spec.driver: driver names should be lowercase; %q contains uppercase characters", d)}
	}
	return nil
}

func (s resourceSliceStrategy) WarningsOnUpdate(ctx context.Context, obj, _ runtime.Object) []string {
	return s.WarningsOnCreate(ctx, obj)
}

type taintRuleStrategy struct{ plain }

func (taintRuleStrategy) NamespaceScoped() bool { return false }

func (taintRuleStrategy) AllowUnconditionalUpdate(context.Context) bool { return false }

func (taintRuleStrategy) DeclarativeValidationConfig(context.Context, runtime.Object, runtime.Object) rest.DeclarativeValidationConfig {
	return rest.DeclarativeValidationConfig{}
}

func (taintRuleStrategy) GetResetFields() resetFieldSets { return resets(resourceV1, []any{"status"}) }

func (taintRuleStrategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	r := obj.(*resource.DeviceTaintRule)
	r.Status, r.Generation = resource.DeviceTaintRuleStatus{}, 1
}

// PrepareForUpdate notes when an effect was added, unless the writer does.
func (taintRuleStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	r, was := obj.(*resource.DeviceTaintRule), old.(*resource.DeviceTaintRule)
	r.Status = was.Status
	if t, before := &r.Spec.Taint, &was.Spec.Taint; t.Effect != before.Effect && t.TimeAdded.Equal(before.TimeAdded) {
		t.TimeAdded = ptr.To(metav1.NewTime(nowOf(ctx).Truncate(time.Second)))
	}
	if !equality.Semantic.DeepEqual(was.Spec, r.Spec) {
		r.Generation = was.Generation + 1
	}
}

func (taintRuleStrategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validation.ValidateDeviceTaintRule(obj.(*resource.DeviceTaintRule))
}

func (taintRuleStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidateDeviceTaintRuleUpdate(obj.(*resource.DeviceTaintRule), old.(*resource.DeviceTaintRule))
}

type taintRuleStatusStrategy struct{ taintRuleStrategy }

func (taintRuleStatusStrategy) GetResetFields() resetFieldSets {
	return resets(resourceV1, []any{"metadata"}, []any{"spec"})
}

func (taintRuleStatusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	r, was := obj.(*resource.DeviceTaintRule), old.(*resource.DeviceTaintRule)
	r.Spec = was.Spec
	metav1.ResetObjectMetaForStatus(&r.ObjectMeta, &was.ObjectMeta)
}

func (taintRuleStatusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidateDeviceTaintRuleStatusUpdate(obj.(*resource.DeviceTaintRule), old.(*resource.DeviceTaintRule))
}

// NoteTaints sets the time of taints that have none, before upstream's defaults take it
// from the machine's clock.
func NoteTaints(obj runtime.Object, now time.Time) {
	for _, t := range undatedTaints(obj) {
		t.TimeAdded = ptr.To(metav1.NewTime(now.Truncate(time.Second)))
	}
}

// Timeless sets the defaults of objects, except for times, which would come from the
// machine's clock.
type Timeless struct{}

// Default is runtime.ObjectDefaulter.
func (Timeless) Default(obj runtime.Object) {
	undated := undatedTaints(obj)
	Scheme.Default(obj)
	for _, t := range undated {
		t.TimeAdded = nil
	}
}

// undatedTaints are the taints in an object that have no timeAdded.
func undatedTaints(obj runtime.Object) (out []*resourcev1.DeviceTaint) {
	look := func(t *resourcev1.DeviceTaint) {
		if t.TimeAdded == nil {
			out = append(out, t)
		}
	}
	switch o := obj.(type) {
	case *resourcev1.DeviceTaintRule:
		look(&o.Spec.Taint)
	case *resourcev1.ResourceSlice:
		for i := range o.Spec.Devices {
			for j := range o.Spec.Devices[i].Taints {
				look(&o.Spec.Devices[i].Taints[j])
			}
		}
	}
	return out
}

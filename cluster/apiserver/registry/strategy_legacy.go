package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/helper"
	"k8s.io/kubernetes/pkg/apis/core/validation"

	"kviz/cluster/apiserver/object"
)

// replicationControllerStrategy mirrors
// pkg/registry/core/replicationcontroller/strategy.go.
type replicationControllerStrategy struct{ plain }

// DefaultGarbageCollectionPolicy is to leave the pods, as in Kubernetes 1.0.
func (replicationControllerStrategy) DefaultGarbageCollectionPolicy(context.Context) rest.GarbageCollectionPolicy {
	return rest.OrphanDependents
}

func (replicationControllerStrategy) GetResetFields() resetFieldSets {
	return resets("v1", []any{"status"})
}

func (replicationControllerStrategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	rc := obj.(*core.ReplicationController)
	rc.Status = core.ReplicationControllerStatus{}
	rc.Generation = 1
	podutil.DropDisabledTemplateFields(rc.Spec.Template, nil)
}

func (replicationControllerStrategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	rc := obj.(*core.ReplicationController)
	return validation.ValidateReplicationController(rc, podutil.GetValidationOptionsFromPodTemplate(rc.Spec.Template, nil))
}

func (replicationControllerStrategy) WarningsOnCreate(ctx context.Context, obj runtime.Object) []string {
	rc := obj.(*core.ReplicationController)
	var w []string
	if msgs := utilvalidation.IsDNS1123Label(rc.Name); len(msgs) != 0 {
		w = append(w, fmt.Sprintf("metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: %v", msgs))
	}
	return append(w, podutil.GetWarningsForPodTemplate(ctx, field.NewPath("spec", "template"), rc.Spec.Template, nil)...)
}

func (replicationControllerStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	rc, was := obj.(*core.ReplicationController), old.(*core.ReplicationController)
	rc.Status = was.Status
	podutil.DropDisabledTemplateFields(rc.Spec.Template, was.Spec.Template)
	if !object.Equal(was.Spec, rc.Spec) {
		rc.Generation = was.Generation + 1
	}
}

func (replicationControllerStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	rc, was := obj.(*core.ReplicationController), old.(*core.ReplicationController)
	errs := validation.ValidateReplicationControllerUpdate(rc, was, podutil.GetValidationOptionsFromPodTemplate(rc.Spec.Template, was.Spec.Template))
	broken := helper.NonConvertibleFields(was.Annotations)
	for _, key := range slices.Sorted(maps.Keys(broken)) {
		_, name, ok := strings.Cut(key, "/")
		switch {
		case !ok || strings.Contains(name, "/"):
		case !strings.Contains(name, "selector"):
			errs = append(errs, &field.Error{Type: field.ErrorTypeNotFound, BadValue: broken[key], Field: name, Detail: "unknown non-convertible field"})
		case !object.Equal(was.Spec.Selector, rc.Spec.Selector):
			errs = append(errs, field.Invalid(field.NewPath("spec").Child("selector"), rc.Spec.Selector, "cannot update non-convertible selector"))
		}
	}
	return errs
}

func (replicationControllerStrategy) WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string {
	rc, was := obj.(*core.ReplicationController), old.(*core.ReplicationController)
	if was.Generation == rc.Generation {
		return nil
	}
	return podutil.GetWarningsForPodTemplate(ctx, field.NewPath("spec", "template"), was.Spec.Template, rc.Spec.Template)
}

type replicationControllerStatusStrategy struct{ replicationControllerStrategy }

func (replicationControllerStatusStrategy) GetResetFields() resetFieldSets {
	return resets("v1", []any{"spec"})
}

func (replicationControllerStatusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	obj.(*core.ReplicationController).Spec = old.(*core.ReplicationController).Spec
}

func (replicationControllerStatusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidateReplicationControllerStatusUpdate(obj.(*core.ReplicationController), old.(*core.ReplicationController))
}

func (replicationControllerStatusStrategy) WarningsOnUpdate(_ context.Context, _, _ runtime.Object) []string {
	return nil
}

// endpointsStrategy mirrors pkg/registry/core/endpoint/strategy.go.
type endpointsStrategy struct{ plain }

func (endpointsStrategy) AllowCreateOnUpdate(context.Context) bool { return true }

func (endpointsStrategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validation.ValidateEndpointsCreate(obj.(*core.Endpoints))
}

func (endpointsStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidateEndpointsUpdate(obj.(*core.Endpoints), old.(*core.Endpoints))
}

func (endpointsStrategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	return endpointsWarnings(obj.(*core.Endpoints))
}

func (endpointsStrategy) WarningsOnUpdate(_ context.Context, obj, _ runtime.Object) []string {
	return endpointsWarnings(obj.(*core.Endpoints))
}

// endpointsWarnings are of addresses in an old form; the Endpoints controller
// writes none.
func endpointsWarnings(e *core.Endpoints) []string {
	if e.Labels["endpoints.kubernetes.io/managed-by"] == "endpoint-controller" {
		return nil
	}
	var w []string
	for i, s := range e.Subsets {
		subset := field.NewPath("subsets").Index(i)
		for j, a := range s.Addresses {
			w = append(w, utilvalidation.GetWarningsForIP(subset.Child("addresses").Index(j).Child("ip"), a.IP)...)
		}
		for j, a := range s.NotReadyAddresses {
			w = append(w, utilvalidation.GetWarningsForIP(subset.Child("notReadyAddresses").Index(j).Child("ip"), a.IP)...)
		}
	}
	return w
}

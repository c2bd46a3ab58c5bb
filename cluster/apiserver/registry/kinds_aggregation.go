package registry

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/validation"

	"kviz/cluster/client"
)

// aggregationKinds say who serves which group version: see apiserver/aggregator.
var aggregationKinds = []*Kind{{
	Resource: client.APIServices, Singular: "apiservice", Categories: []string{"api-extensions"}, Prefix: "/registry/apiregistration.k8s.io/apiservices/", OnDemand: true,
	Strategy: upstream(client.APIServices, apiServiceStrategy{Declarative}, subStrategies{"status": apiServiceStatusStrategy{Declarative}}), Field: MetaField,
	Subresources: statusSub(),
}}

// apiServiceStrategy is kube-aggregator pkg/registry/apiservice/strategy.go, whose
// package brings the generic registry with its etcd client along.
type apiServiceStrategy struct{ plain }

func (apiServiceStrategy) AllowUnconditionalUpdate(context.Context) bool { return false }

func (apiServiceStrategy) GetResetFields() resetFieldSets {
	return resets("apiregistration.k8s.io/v1", []any{"status"})
}

func (apiServiceStrategy) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	a := obj.(*apiregistration.APIService)
	a.Status = apiregistration.APIServiceStatus{}
	if a.Spec.Service == nil {
		local := apiregistration.NewLocalAvailableAPIServiceCondition()
		local.LastTransitionTime = nowOf(ctx)
		apiregistration.SetAPIServiceCondition(a, local)
	}
}

func (apiServiceStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	obj.(*apiregistration.APIService).Status = old.(*apiregistration.APIService).Status
}

func (apiServiceStrategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	return validation.ValidateAPIService(ctx, obj.(*apiregistration.APIService))
}

func (apiServiceStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidateAPIServiceUpdate(ctx, obj.(*apiregistration.APIService), old.(*apiregistration.APIService))
}

// apiServiceStatusStrategy lets only the status through.
type apiServiceStatusStrategy struct{ plain }

func (apiServiceStatusStrategy) AllowUnconditionalUpdate(context.Context) bool { return false }

func (apiServiceStatusStrategy) GetResetFields() resetFieldSets {
	return resets("apiregistration.k8s.io/v1", []any{"spec"}, []any{"metadata"})
}

func (apiServiceStatusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	a, was := obj.(*apiregistration.APIService), old.(*apiregistration.APIService)
	a.Spec, a.Labels, a.Annotations, a.Finalizers, a.OwnerReferences = was.Spec, was.Labels, was.Annotations, was.Finalizers, was.OwnerReferences
}

func (apiServiceStatusStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidateAPIServiceStatusUpdate(ctx, obj.(*apiregistration.APIService), old.(*apiregistration.APIService))
}

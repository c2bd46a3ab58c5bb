package registry

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/validation"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/client"
)

// limitKinds are the kinds with which a namespace's use of the cluster is
// limited.
var limitKinds = []*Kind{
	{Resource: client.LimitRanges, Singular: "limitrange", ShortNames: []string{"limits"}, Prefix: "/registry/limitranges/", OnDemand: true, Strategy: limitRangeStrategy, Field: MetaField},
	{
		Resource: client.ResourceQuotas, Singular: "resourcequota", ShortNames: []string{"quota"}, Prefix: "/registry/resourcequotas/", OnDemand: true, Strategy: quotaStrategy, Field: MetaField,
		Subresources: []Subresource{{Name: "status", Verbs: StatusOnly}},
	},
}

// limitRangeStrategy is pkg/registry/core/limitrange.
var limitRangeStrategy = &Strategy{
	CreateOnUpdate: true,
	Prepare: prepare(func(w *Write, lr, old *corev1.LimitRange) {
		if old == nil && lr.Name == "" {
			lr.Name = string(object.NewUID(w.Rand))
		}
	}),
	Validate:       creation(validation.ValidateLimitRange),
	ValidateUpdate: updating(func(lr, _ *core.LimitRange) field.ErrorList { return validation.ValidateLimitRange(lr) }),
}

// quotaStrategy is pkg/registry/core/resourcequota.
var quotaStrategy = &Strategy{
	Prepare: prepare(func(_ *Write, q, old *corev1.ResourceQuota) {
		if old == nil {
			q.Status = corev1.ResourceQuotaStatus{}
			return
		}
		q.Status = old.Status
	}),
	SubPrepare:     Preparers{"status": prepare(func(_ *Write, q, old *corev1.ResourceQuota) { q.Spec = old.Spec })},
	Validate:       creation(validation.ValidateResourceQuota),
	ValidateUpdate: updating(validation.ValidateResourceQuotaUpdate),
	SubValidate:    Validators{"status": updating(validation.ValidateResourceQuotaStatusUpdate)},
	Warn: func(obj, old runtime.Object) []string {
		if old != nil {
			return nil
		}
		return quotaWarnings(obj.(*corev1.ResourceQuota).Spec.Hard)
	},
}

// quotaWarnings tell of requests that may be more than the limits (strategy.go
// WarningsOnCreate).
func quotaWarnings(hard corev1.ResourceList) []string {
	var out []string
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceStorage, corev1.ResourceEphemeralStorage} {
		asked, limited := "requests."+name, "limits."+name
		request, has := hard[asked]
		if !has && (name == corev1.ResourceCPU || name == corev1.ResourceMemory) {
			asked = name
			request, has = hard[asked]
		}
		if limit, ok := hard[limited]; has && ok && request.Cmp(limit) > 0 {
			out = append(out, fmt.Sprintf("ResourceQuota %s (%s) should be less than %s (%s)", asked, request.String(), limited, limit.String()))
		}
	}
	return out
}

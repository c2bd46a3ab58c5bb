package registry

import (
	"reflect"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/apis/admissionregistration"
	"k8s.io/kubernetes/pkg/apis/admissionregistration/validation"
	"k8s.io/kubernetes/pkg/kubeapiserver/admission/exclusion"

	"kviz/cluster/apiserver/object"
)

// pkg/registry/admissionregistration/*/strategy.go. A write must name the
// revision it is based on, and a new spec is a new generation.

// generations counts the changes of a part of an object, by what is the same.
func generations[T any, P interface {
	*T
	runtime.Object
	metav1.Object
}](same func(a, b any) bool, part func(P) any) func(w *Write, obj, old runtime.Object) {
	return prepare(func(_ *Write, obj, old P) {
		if old == nil {
			obj.SetGeneration(1)
		} else if !same(part(old), part(obj)) {
			obj.SetGeneration(old.GetGeneration() + 1)
		}
	})
}

var mutatingWebhookStrategy = &Strategy{
	Conditional:    true,
	Prepare:        generations(reflect.DeepEqual, func(o *admissionv1.MutatingWebhookConfiguration) any { return o.Webhooks }),
	Validate:       creation(validation.ValidateMutatingWebhookConfiguration),
	ValidateUpdate: updating(validation.ValidateMutatingWebhookConfigurationUpdate),
	Warn: func(obj, _ runtime.Object) []string {
		c := Internal[admissionregistration.MutatingWebhookConfiguration](obj)
		return append(validation.WarningsForStaticSuffix(c.Name), validation.WarningsForMutatingWebhookRules(c.Webhooks, exclusion.Excluded())...)
	},
}

var validatingWebhookStrategy = &Strategy{
	Conditional:    true,
	Prepare:        generations(reflect.DeepEqual, func(o *admissionv1.ValidatingWebhookConfiguration) any { return o.Webhooks }),
	Validate:       creation(validation.ValidateValidatingWebhookConfiguration),
	ValidateUpdate: updating(validation.ValidateValidatingWebhookConfigurationUpdate),
	Warn: func(obj, _ runtime.Object) []string {
		c := Internal[admissionregistration.ValidatingWebhookConfiguration](obj)
		return append(validation.WarningsForStaticSuffix(c.Name), validation.WarningsForValidatingWebhookRules(c.Webhooks, exclusion.Excluded())...)
	},
}

var validatingPolicyStrategy = &Strategy{
	Conditional: true,
	Prepare: prepare(func(_ *Write, p, old *admissionv1.ValidatingAdmissionPolicy) {
		if old == nil {
			p.Status, p.Generation = admissionv1.ValidatingAdmissionPolicyStatus{}, 1
			return
		}
		p.Status = old.Status
		if !object.Equal(old.Spec, p.Spec) {
			p.Generation = old.Generation + 1
		}
	}),
	SubPrepare: Preparers{"status": prepare(func(_ *Write, p, old *admissionv1.ValidatingAdmissionPolicy) {
		p.Spec = old.Spec
		metav1.ResetObjectMetaForStatus(&p.ObjectMeta, &old.ObjectMeta)
	})},
	Resets: map[string]resetFieldSets{
		"": resets("admissionregistration.k8s.io/v1", []any{"status"}), "status": resets("admissionregistration.k8s.io/v1", []any{"spec"}, []any{"metadata"}),
	},
	Validate:       creation(validation.ValidateValidatingAdmissionPolicy),
	ValidateUpdate: updating(validation.ValidateValidatingAdmissionPolicyUpdate),
	SubValidate:    Validators{"status": updating(validation.ValidateValidatingAdmissionPolicyStatusUpdate)},
	Warn:           staticSuffix,
}

var validatingBindingStrategy = &Strategy{
	Conditional:    true,
	Prepare:        generations(object.Equal, func(o *admissionv1.ValidatingAdmissionPolicyBinding) any { return o.Spec }),
	Validate:       creation(validation.ValidateValidatingAdmissionPolicyBinding),
	ValidateUpdate: updating(validation.ValidateValidatingAdmissionPolicyBindingUpdate),
	Warn:           staticSuffix,
}

var mutatingPolicyStrategy = &Strategy{
	Conditional:    true,
	Prepare:        generations(object.Equal, func(o *admissionv1.MutatingAdmissionPolicy) any { return o.Spec }),
	Validate:       creation(validation.ValidateMutatingAdmissionPolicy),
	ValidateUpdate: updating(validation.ValidateMutatingAdmissionPolicyUpdate),
	Warn:           staticSuffix,
}

var mutatingBindingStrategy = &Strategy{
	Conditional:    true,
	Prepare:        generations(object.Equal, func(o *admissionv1.MutatingAdmissionPolicyBinding) any { return o.Spec }),
	Validate:       creation(validation.ValidateMutatingAdmissionPolicyBinding),
	ValidateUpdate: updating(validation.ValidateMutatingAdmissionPolicyBindingUpdate),
	Warn:           staticSuffix,
}

// staticSuffix warns of a name that is kept for policies from files.
func staticSuffix(obj, _ runtime.Object) []string {
	return validation.WarningsForStaticSuffix(object.Meta(obj).GetName())
}

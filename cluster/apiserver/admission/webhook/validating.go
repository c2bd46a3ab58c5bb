package webhook

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/apiserver/pkg/admission"
	webhookerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/pkg/warning"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// Validating is the plugin ValidatingAdmissionWebhook: all webhooks that a request
// concerns are asked at once, and the first that refuses, in the order of their
// configurations, is told (webhook/validating/dispatcher.go Dispatch).
type Validating struct{ *Hooks }

// Name is [admission.Plugin].
func (Validating) Name() string { return "ValidatingAdmissionWebhook" }

// HandlesConnect is [admission.Connecting].
func (Validating) HandlesConnect() {}

// Validate is [admission.Validating].
func (h Validating) Validate(r *request.Scope, a *admission.Attributes) (admission.Result, error) {
	var none admission.Result
	h.refresh()
	if len(h.validating) == 0 || !h.validates.Concern(a) {
		return none, nil
	}
	ctx, attrs, o := request.NewContext(r), a.Outside(r), a.Objects
	v := &manyVersions{attrs: attrs, objects: o, made: map[schema.GroupVersionKind]*upstream.VersionedAttributes{}}
	var calls []*validatingCall
	for _, w := range h.validating {
		inv, err := h.shouldCall(ctx, w, attrs, o, v)
		if err != nil {
			return none, err
		}
		if inv == nil {
			continue
		}
		versioned, err := v.VersionedAttribute(inv.Kind)
		if err != nil {
			return none, apierrors.NewInternalError(err)
		}
		calls = append(calls, &validatingCall{inv: inv, attrs: versioned, index: len(calls)})
	}
	for _, val := range calls {
		val.begin(h.Hooks, r)
	}
	var refusal *admission.Refused
	for _, val := range calls {
		if r := val.finish(ctx, r); r != nil && refusal == nil {
			refusal = r
		}
	}
	if refusal != nil {
		return none, refusal
	}
	return none, nil
}

// manyVersions converts a request's object to each requested version.
type manyVersions struct {
	attrs   upstream.Attributes
	objects upstream.ObjectInterfaces
	made    map[schema.GroupVersionKind]*upstream.VersionedAttributes
}

// VersionedAttribute is generic.VersionedAttributeAccessor.
func (v *manyVersions) VersionedAttribute(gvk schema.GroupVersionKind) (*upstream.VersionedAttributes, error) {
	if a := v.made[gvk]; a != nil {
		return a, nil
	}
	a, err := upstream.NewVersionedAttributes(v.attrs, gvk, v.objects)
	if err == nil {
		v.made[gvk] = a
	}
	return a, err
}

// validatingCall is the call of one validating webhook.
type validatingCall struct {
	inv   *generic.WebhookInvocation
	attrs *upstream.VersionedAttributes
	index int
	spec  *hookSpec
	call  *hookCall
	err   error // it was not sent
}

func (v *validatingCall) begin(h *Hooks, r *request.Scope) {
	w, _ := v.inv.Webhook.GetValidatingWebhook()
	v.spec = &hookSpec{
		name: w.Name, config: v.inv.Webhook.GetConfigurationName(), client: w.ClientConfig,
		effects: w.SideEffects, failure: w.FailurePolicy, timeout: w.TimeoutSeconds,
	}
	v.call, v.err = h.begin(r, v.spec, "ValidatingWebhookConfiguration", v.inv, v.attrs)
}

// finish tells the trace what the webhook says; a refusal is for the caller.
func (v *validatingCall) finish(ctx context.Context, r *request.Scope) *admission.Refused {
	err := v.err
	if err == nil {
		err = v.take(ctx)
	}
	if err == nil {
		v.call.verdict(trace.StageValidatingAdmission, "pass", "It allows the request.", nil, 0)
		return nil
	}
	status, calling := hookError(err)
	if calling && v.spec.ignores() {
		_ = v.attrs.AddAnnotation(fmt.Sprintf("%sround_0_index_%d", validatingwebhook.ValidatingAuditAnnotationFailedOpenKeyPrefix, v.index), v.spec.name) // the key is well-formed
		v.call.verdict(trace.StageValidatingAdmission, "pass", "Ignored by its failure policy: "+err.Error(), nil, 0)
		return nil
	}
	return &admission.Refused{By: v.call.by, Err: status, Took: r.Task.Elapsed() - v.call.began}
}

func (v *validatingCall) take(ctx context.Context) error {
	result, err := v.call.finish(false)
	if err != nil {
		return err
	}
	for _, k := range slices.Sorted(maps.Keys(result.AuditAnnotations)) {
		_ = v.attrs.AddAnnotation(v.spec.name+"/"+k, result.AuditAnnotations[k]) // upstream logs a bad key and goes on
	}
	for _, w := range result.Warnings {
		warning.AddWarning(ctx, "", w)
	}
	if result.Allowed {
		return nil
	}
	return &webhookutil.ErrWebhookRejection{Status: webhookerrors.ToStatusErr(v.spec.name, result.Result)}
}

package apiserver

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	webhookerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/pkg/warning"

	"kviz/cluster/trace"
)

// admitWebhooks is the ValidatingAdmissionWebhook plugin: all webhooks that a
// request concerns are asked at once, and the first that refuses, in the order of
// their configurations, is told (webhook/validating/dispatcher.go Dispatch).
func admitWebhooks(c *call, op operation) (string, []trace.FieldDiff, error) {
	h := c.s.hooks
	h.refresh()
	if !c.hooked(&h.validates, len(h.validatingWebhooks)) {
		return "", nil, nil
	}
	ctx, attrs, o := c.admissionContext(), c.dynamicAttributes(op), hookObjects{c}
	v := &manyVersions{attrs: attrs, objects: o, made: map[schema.GroupVersionKind]*admission.VersionedAttributes{}}
	var calls []*validatingCall
	for _, w := range h.validatingWebhooks {
		inv, err := h.shouldCall(ctx, w, attrs, o, v)
		if err != nil {
			return "", nil, err
		}
		if inv == nil {
			continue
		}
		versioned, err := v.VersionedAttribute(inv.Kind)
		if err != nil {
			return "", nil, apierrors.NewInternalError(err)
		}
		calls = append(calls, &validatingCall{inv: inv, attrs: versioned, index: len(calls)})
	}
	for _, val := range calls {
		val.begin(c)
	}
	var refusal *hookRefusal
	for _, val := range calls {
		if r := val.finish(c); r != nil && refusal == nil {
			refusal = r
		}
	}
	if refusal != nil {
		return "", nil, refusal
	}
	return "", nil, nil
}

// manyVersions converts a request's object to each version that is asked for.
type manyVersions struct {
	attrs   admission.Attributes
	objects admission.ObjectInterfaces
	made    map[schema.GroupVersionKind]*admission.VersionedAttributes
}

// VersionedAttribute is generic.VersionedAttributeAccessor.
func (v *manyVersions) VersionedAttribute(gvk schema.GroupVersionKind) (*admission.VersionedAttributes, error) {
	if a := v.made[gvk]; a != nil {
		return a, nil
	}
	a, err := admission.NewVersionedAttributes(v.attrs, gvk, v.objects)
	if err == nil {
		v.made[gvk] = a
	}
	return a, err
}

// validatingCall is the call of one validating webhook.
type validatingCall struct {
	inv   *generic.WebhookInvocation
	attrs *admission.VersionedAttributes
	index int
	spec  *hookSpec
	call  *hookCall
	err   error // it was not sent
}

func (v *validatingCall) begin(c *call) {
	w, _ := v.inv.Webhook.GetValidatingWebhook()
	v.spec = &hookSpec{
		name: w.Name, config: v.inv.Webhook.GetConfigurationName(), client: w.ClientConfig,
		effects: w.SideEffects, failure: w.FailurePolicy, timeout: w.TimeoutSeconds,
	}
	v.call, v.err = c.begin(v.spec, "ValidatingWebhookConfiguration", v.inv, v.attrs)
}

// finish tells the trace what the webhook says; a refusal is for the caller.
func (v *validatingCall) finish(c *call) *hookRefusal {
	err := v.err
	if err == nil {
		err = v.take(c)
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
	return &hookRefusal{by: v.call.by, err: status, took: c.Task.Elapsed() - v.call.began}
}

func (v *validatingCall) take(c *call) error {
	result, err := v.call.finish(false)
	if err != nil {
		return err
	}
	for _, k := range sortedKeys(result.AuditAnnotations) {
		_ = v.attrs.AddAnnotation(v.spec.name+"/"+k, result.AuditAnnotations[k]) // upstream logs a bad key and goes on
	}
	ctx := c.admissionContext()
	for _, w := range result.Warnings {
		warning.AddWarning(ctx, "", w)
	}
	if result.Allowed {
		return nil
	}
	return &webhookutil.ErrWebhookRejection{Status: webhookerrors.ToStatusErr(v.spec.name, result.Result)}
}

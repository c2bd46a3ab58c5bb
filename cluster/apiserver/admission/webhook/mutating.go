package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	upstream "k8s.io/apiserver/pkg/admission"
	webhookerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	webhookrequest "k8s.io/apiserver/pkg/admission/plugin/webhook/request"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/pkg/warning"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// reinvocation remembers, between the two rounds of a request, which webhooks are
// to be asked again (webhook/mutating/reinvocationcontext.go).
type reinvocation struct {
	output   runtime.Object // of the last round
	previous map[string]bool
	again    map[string]bool
}

// require has those that were asked before a change be asked again.
func (r *reinvocation) require() {
	for uid := range r.previous {
		r.again[uid] = true
	}
	clear(r.previous)
}

func reinvocationOf(attrs upstream.Attributes) *reinvocation {
	ctx := attrs.GetReinvocationContext()
	if v := ctx.Value(mutatingwebhook.PluginName); v != nil {
		return v.(*reinvocation)
	}
	r := &reinvocation{previous: map[string]bool{}, again: map[string]bool{}}
	ctx.SetValue(mutatingwebhook.PluginName, r)
	return r
}

// Concerns is [admission.Dynamic].
func (h *Hooks) Concerns(a *admission.Attributes) bool {
	h.refresh()
	return len(h.mutating) > 0 && h.mutates.Concern(a)
}

// Mutate is the plugin MutatingAdmissionWebhook: one webhook after another, each sees
// what those before it made (webhook/mutating/dispatcher.go Dispatch).
func (h *Hooks) Mutate(ctx context.Context, r *request.Scope, attrs upstream.Attributes, o upstream.ObjectInterfaces) error {
	re := reinvocationOf(attrs)
	round := 0
	if attrs.GetReinvocationContext().IsReinvoke() {
		round = 1
		if !equality.Semantic.DeepEqual(re.output, attrs.GetObject()) {
			re.require() // policies or built-in plugins have changed it
		}
	}
	v := &oneVersion{attrs: attrs, objects: o}
	for i, w := range h.mutating {
		seen := attrs
		if v.versioned != nil {
			seen = v.versioned
		}
		inv, err := h.shouldCall(ctx, w, seen, o, v)
		if err != nil {
			return err
		}
		if inv == nil || round == 1 && !re.again[w.GetUID()] {
			continue
		}
		versioned, err := v.VersionedAttribute(inv.Kind)
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		hook, _ := w.GetMutatingWebhook()
		m := &mutatingCall{h: h, r: r, ctx: ctx, objects: o, hook: hook, config: w.GetConfigurationName(), attrs: versioned, round: round, index: i}
		changed, err := m.run(inv)
		if changed {
			re.require()
			attrs.GetReinvocationContext().SetShouldReinvoke()
		}
		if p := hook.ReinvocationPolicy; p != nil && *p == registrationv1.IfNeededReinvocationPolicy {
			re.previous[w.GetUID()] = true
		}
		if err != nil {
			return err
		}
	}
	if v.versioned != nil && v.versioned.VersionedObject.Object() != nil && v.versioned.Dirty {
		if err := o.GetObjectConvertor().Convert(v.versioned.VersionedObject.Object(), attrs.GetObject(), nil); err != nil {
			return err
		}
	}
	if obj := attrs.GetObject(); obj != nil {
		re.output = obj.DeepCopyObject()
	}
	return nil
}

// oneVersion converts a request's object to the version that each webhook wants,
// carrying along what those before it changed.
type oneVersion struct {
	versioned *upstream.VersionedAttributes
	attrs     upstream.Attributes
	objects   upstream.ObjectInterfaces
}

// VersionedAttribute is generic.VersionedAttributeAccessor.
func (v *oneVersion) VersionedAttribute(gvk schema.GroupVersionKind) (*upstream.VersionedAttributes, error) {
	var err error
	if v.versioned == nil {
		v.versioned, err = upstream.NewVersionedAttributes(v.attrs, gvk, v.objects)
	} else {
		err = upstream.ConvertVersionedAttributes(v.versioned, gvk, v.objects)
	}
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return v.versioned, nil
}

// mutatingCall is the call of one mutating webhook.
type mutatingCall struct {
	h            *Hooks
	r            *request.Scope
	ctx          context.Context
	objects      upstream.ObjectInterfaces
	hook         *registrationv1.MutatingWebhook
	config       string
	attrs        *upstream.VersionedAttributes
	round, index int
}

// run calls the webhook, tells the trace, and decides by its failure policy.
func (m *mutatingCall) run(inv *generic.WebhookInvocation) (changed bool, err error) {
	w := m.hook
	spec := &hookSpec{name: w.Name, config: m.config, client: w.ClientConfig, effects: w.SideEffects, failure: w.FailurePolicy, timeout: w.TimeoutSeconds}
	was := m.attrs.VersionedObject.Object()
	call, err := m.h.begin(m.r, spec, "MutatingWebhookConfiguration", inv, m.attrs)
	note := ""
	if err == nil {
		changed, note, err = m.take(call)
	}
	m.annotate(mutatingwebhook.MutationAuditAnnotationPrefix, mutatingwebhook.MutationAuditAnnotation{Configuration: m.config, Webhook: w.Name, Mutated: changed}, auditinternal.LevelMetadata)
	if err == nil {
		var diff []trace.FieldDiff
		if changed {
			diff = object.Diff(was, m.attrs.VersionedObject.Object())
		}
		call.verdict(trace.StageMutatingAdmission, "pass", note+admission.Again(m.attrs)+".", diff, 0)
		return changed, nil
	}
	status, calling := hookError(err)
	if calling && spec.ignores() {
		m.note(mutatingwebhook.MutationAuditAnnotationFailedOpenKeyPrefix, w.Name, auditinternal.LevelMetadata)
		call.verdict(trace.StageMutatingAdmission, "pass", "Ignored by its failure policy: "+err.Error(), nil, 0)
		return changed, nil
	}
	return changed, &admission.Refused{By: call.by, Err: status, Took: m.r.Task.Elapsed() - call.began}
}

// take reads the answer and applies its patch.
func (m *mutatingCall) take(call *hookCall) (changed bool, note string, err error) {
	result, err := call.finish(true)
	if err != nil {
		return false, "", err
	}
	for _, k := range slices.Sorted(maps.Keys(result.AuditAnnotations)) {
		_ = m.attrs.AddAnnotation(m.hook.Name+"/"+k, result.AuditAnnotations[k]) // upstream logs a bad key and goes on
	}
	for _, w := range result.Warnings {
		warning.AddWarning(m.ctx, "", w)
	}
	if !result.Allowed {
		return false, "", &webhookutil.ErrWebhookRejection{Status: webhookerrors.ToStatusErr(m.hook.Name, result.Result)}
	}
	if len(result.Patch) == 0 {
		return false, "It allows the request and changes nothing", nil
	}
	changed, err = m.patch(call, result)
	if changed {
		note = "It allows the request and patches the object"
	} else {
		note = "It allows the request; its patch changes nothing"
	}
	return changed, note, err
}

func (m *mutatingCall) patch(call *hookCall, result *webhookrequest.AdmissionResponse) (bool, error) {
	p, err := jsonpatch.DecodePatch(result.Patch)
	switch {
	case err != nil:
		return false, call.failed(fmt.Errorf("received undecodable patch in webhook response: %w", err), apierrors.NewServiceUnavailable("error decoding patch in webhook response"))
	case len(p) == 0:
		return false, nil
	case m.attrs.VersionedObject.Object() == nil:
		return false, apierrors.NewInternalError(fmt.Errorf("admission webhook %q attempted to modify the object, which is not supported for this operation", m.hook.Name))
	case result.PatchType != admissionv1.PatchTypeJSONPatch:
		return false, call.failed(fmt.Errorf("unsupported patch type %q", result.PatchType), webhookerrors.ToStatusErr(m.hook.Name, result.Result))
	}
	o := m.objects
	coder := jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, o.GetObjectCreater(), o.GetObjectTyper(), jsonserializer.SerializerOptions{})
	data, err := runtime.Encode(coder, m.attrs.VersionedObject.Object())
	if err == nil {
		data, err = p.Apply(data)
	}
	if err == nil {
		err = registry.Bounded(data, m.attrs.VersionedKind)
	}
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	into, err := o.GetObjectCreater().New(m.attrs.VersionedKind)
	if err == nil {
		into, _, err = coder.Decode(data, nil, into)
	}
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	changed := !equality.Semantic.DeepEqual(m.attrs.VersionedObject.Object(), into)
	m.annotate(mutatingwebhook.PatchAuditAnnotationPrefix, mutatingwebhook.PatchAuditAnnotation{
		Configuration: m.config, Webhook: m.hook.Name, Patch: p, PatchType: string(admissionv1.PatchTypeJSONPatch),
	}, auditinternal.LevelRequest)
	m.attrs.UpdateObject(into)
	o.GetObjectDefaulter().Default(m.attrs.VersionedObject.Object())
	return changed, nil
}

// annotate and note keep what audit events say of the call.
func (m *mutatingCall) annotate(prefix string, v any, level auditinternal.Level) {
	data, err := json.Marshal(v)
	if err == nil {
		m.note(prefix, string(data), level)
	}
}

func (m *mutatingCall) note(prefix, value string, level auditinternal.Level) {
	_ = m.attrs.AddAnnotationWithLevel(fmt.Sprintf("%sround_%d_index_%d", prefix, m.round, m.index), value, level) // the key is well-formed
}

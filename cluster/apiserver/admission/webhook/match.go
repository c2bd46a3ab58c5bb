package webhook

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/object"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"

	kviz "kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/request"
)

// shouldCall says how a webhook is to be called for a request, nil if not at all:
// its selectors, its rules for this version of the resource or an equivalent one,
// its match conditions (webhook/generic/webhook.go ShouldCallHook, over
// Kubernetes' own predicates).
func (h *Hooks) shouldCall(ctx context.Context, w webhook.WebhookAccessor, a admission.Attributes, o admission.ObjectInterfaces, v generic.VersionedAttributeAccessor) (*generic.WebhookInvocation, error) {
	matches, nsErr := h.names.MatchNamespaceSelector(w, a)
	if !matches && nsErr == nil {
		return nil, nil
	}
	matches, objErr := (&object.Matcher{}).MatchObjectSelector(w, a)
	if !matches && objErr == nil {
		return nil, nil
	}
	call, err := invocation(w, a, o)
	switch {
	case call == nil || err != nil:
		return nil, err
	case nsErr != nil:
		return nil, nsErr
	case objErr != nil:
		return nil, objErr
	}
	if len(w.GetMatchConditions()) == 0 {
		return call, nil
	}
	attrs, err := v.VersionedAttribute(call.Kind)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	compiler := h.conditions()
	result := kviz.Evaluate(ctx, conditionsIn(w), "the conditions of "+w.GetName(), func(ctx context.Context) matchconditions.MatchResult {
		return w.GetCompiledMatcher(compiler).Match(ctx, attrs, nil, authz.InRequest(request.From(ctx), h.authorizer))
	})
	if result.Error != nil {
		return nil, apierrors.NewForbidden(a.GetResource().GroupResource(), a.GetName(), result.Error)
	}
	if !result.Matches {
		return nil, nil
	}
	return call, nil
}

// conditionsIn is what a webhook's conditions need.
func conditionsIn(w webhook.WebhookAccessor) (e kviz.Expressions) {
	for _, c := range w.GetMatchConditions() {
		one := kviz.ExpressionsIn(c.Expression)
		e.Loop, e.Ask = e.Loop || one.Loop, e.Ask || one.Ask
	}
	return e
}

// invocation finds the rule that applies; nil if none does.
func invocation(w webhook.WebhookAccessor, a admission.Attributes, o admission.ObjectInterfaces) (*generic.WebhookInvocation, error) {
	for _, r := range w.GetRules() {
		if (&rules.Matcher{Rule: r, Attr: a}).Matches() {
			return &generic.WebhookInvocation{Webhook: w, Resource: a.GetResource(), Subresource: a.GetSubresource(), Kind: a.GetKind()}, nil
		}
	}
	if p := w.GetMatchPolicy(); p == nil || *p != admissionv1.Equivalent {
		return nil, nil
	}
	equivalents := o.GetEquivalentResourceMapper().EquivalentResourcesFor(a.GetResource(), a.GetSubresource())
	for _, r := range w.GetRules() {
		for _, resource := range equivalents {
			if resource == a.GetResource() || !(&rules.Matcher{Rule: r, Attr: asResource{a, resource}}).Matches() {
				continue
			}
			kind := o.GetEquivalentResourceMapper().KindFor(resource, a.GetSubresource())
			if kind.Empty() {
				return nil, apierrors.NewInternalError(fmt.Errorf("unable to convert to %v: unknown kind", resource))
			}
			return &generic.WebhookInvocation{Webhook: w, Resource: resource, Subresource: a.GetSubresource(), Kind: kind}, nil
		}
	}
	return nil, nil
}

// asResource is a request as if it were for another version.
type asResource struct {
	admission.Attributes
	resource schema.GroupVersionResource
}

// GetResource is admission.Attributes.
func (a asResource) GetResource() schema.GroupVersionResource { return a.resource }

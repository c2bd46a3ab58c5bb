// Package policy is dynamic admission by expressions: the plugins MutatingAdmissionPolicy
// and ValidatingAdmissionPolicy (apiserver pkg/admission/plugin/policy). Matching,
// evaluation, reinvocation and the wording of refusals are left to Kubernetes' own
// dispatchers. This package gives them the policies, bindings and parameters from the
// watch caches, and records in the trace what they did. Upstream's informers and polling
// are left out.
//
// Start reading at [Policies].
package policy

import (
	"context"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	upstream "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// Kinds are those that the server serves, as policies name them.
type Kinds interface {
	// Params are the objects of a kind that may be parameters; ok is false for a kind
	// that is not served.
	Params(gvk schema.GroupVersionKind) (p Params, namespaced, ok bool)
	// GetTypeConverter is the schema by which an apply configuration is merged.
	GetTypeConverter(gvk schema.GroupVersionKind) managedfields.TypeConverter
}

// Policies are the compiled admission policies of the cluster. They are recompiled by
// the first request after one of them has changed; while there are none, a request
// costs one look-up.
type Policies struct {
	lister admission.Lister
	kinds  Kinds
	asked  authz.InContext // by expressions

	stale              bool
	mutating           []mutatingHook
	validating         []validatingHook
	mutates, validates admission.Resources // what they are about

	compiled map[string]compiledPolicy
	dispatch *dispatchers // made on first use
}

// dispatchers are Kubernetes' own.
type dispatchers struct {
	validating generic.Dispatcher[validatingpolicy.PolicyHook]
	mutating   generic.Dispatcher[mutatingpolicy.PolicyHook]
}

// NewPolicies begins with none.
func NewPolicies(l admission.Lister, by authz.Decider, k Kinds) *Policies {
	return &Policies{lister: l, kinds: k, asked: authz.InContext{Decider: by}, compiled: map[string]compiledPolicy{}}
}

// Changed makes the next request read the policies again: one of them, one of their
// bindings, or the kind of a parameter has changed.
func (p *Policies) Changed() { p.stale = true }

func (p *Policies) dispatchers() *dispatchers {
	if p.dispatch == nil {
		m := matching.NewMatcher(admission.Namespaces(p.lister), admission.NoClient{})
		p.dispatch = &dispatchers{
			validating: validatingpolicy.NewDispatcher(p.asked, generic.NewPolicyMatcher(m)),
			mutating:   mutatingpolicy.NewDispatcher(p.asked, m, types{p.kinds}),
		}
	}
	return p.dispatch
}

// types gives the schemas by which apply configurations are merged.
type types struct{ Kinds }

// Run is patch.TypeConverterManager: there is nothing to fetch.
func (types) Run(context.Context) {}

// Concerns is [admission.Dynamic].
func (p *Policies) Concerns(a *admission.Attributes) bool {
	p.refresh()
	return len(p.mutating) > 0 && p.mutates.Concern(a)
}

// Mutate is the plugin MutatingAdmissionPolicy.
func (p *Policies) Mutate(ctx context.Context, r *request.Scope, attrs upstream.Attributes, o upstream.ObjectInterfaces) error {
	if len(p.mutating) == 0 || attrs.GetOperation() == admission.Delete {
		return nil
	}
	hooks := p.compiledMutating(r)
	waitParams(r.Task, hooks)
	if err := p.dispatchers().mutating.Dispatch(ctx, attrs, o, hooks); err != nil {
		return &admission.Refused{By: strings.TrimSpace("MutatingAdmissionPolicy " + refusing(err)), Err: err}
	}
	return nil
}

// Validating is the plugin ValidatingAdmissionPolicy.
type Validating struct{ *Policies }

// Name is [admission.Plugin].
func (Validating) Name() string { return "ValidatingAdmissionPolicy" }

// HandlesConnect is [admission.Connecting].
func (Validating) HandlesConnect() {}

// Validate is [admission.Validating].
func (p Validating) Validate(r *request.Scope, a *admission.Attributes) (admission.Result, error) {
	p.refresh()
	if len(p.validating) == 0 || !p.validates.Concern(a) {
		return admission.Result{}, nil
	}
	hooks := p.compiledValidating(r)
	waitParams(r.Task, hooks)
	var found []judgement
	ctx := context.WithValue(request.NewContext(r), judgedKey{}, &found)
	err := p.dispatchers().validating.Dispatch(ctx, a.Outside(r), a.Objects, hooks)
	var who string
	if err != nil {
		who = refusing(err)
	}
	for _, j := range found {
		if j.policy != who {
			r.Pass(trace.StageValidatingAdmission, "ValidatingAdmissionPolicy "+j.policy, j.words(), nil)
		}
	}
	if err != nil {
		return admission.Result{}, &admission.Refused{By: strings.TrimSpace("ValidatingAdmissionPolicy " + who), Err: err}
	}
	return admission.Result{}, nil
}

// refusing is the policy that a refusal names.
func refusing(err error) string {
	_, rest, _ := strings.Cut(err.Error(), "olicy '")
	name, _, _ := strings.Cut(rest, "'")
	return name
}

// judgedKey is where a request's judgements are gathered in its context.
type judgedKey struct{}

// judgement is what a policy's expressions came to, for one binding and parameter.
type judgement struct {
	policy string
	result validatingpolicy.ValidateResult
}

func (j *judgement) words() string {
	if len(j.result.Decisions) == 0 && len(j.result.AuditAnnotations) == 0 {
		return "Its match conditions do not apply to this request."
	}
	var failed, ignored []string
	for _, d := range j.result.Decisions {
		switch {
		case d.Action == validatingpolicy.ActionDeny:
			failed = append(failed, d.Message)
		case d.Evaluation == validatingpolicy.EvalError:
			ignored = append(ignored, d.Message)
		}
	}
	switch {
	case len(ignored) > 0:
		return "Ignored by its failure policy: " + strings.Join(ignored, "; ") + "."
	case len(failed) > 0:
		return "It fails, and its binding only warns or notes it: " + strings.Join(failed, "; ") + "."
	}
	return fmt.Sprintf("Its %s.", hold(len(j.result.Decisions)))
}

// judge is a policy's compiled validator that tells the request what it found.
type judge struct {
	validatingpolicy.Validator
	policy      string
	expressions admission.Expressions
}

// Validate is validatingpolicy.Validator.
func (j judge) Validate(ctx context.Context, r schema.GroupVersionResource, attrs *upstream.VersionedAttributes, params runtime.Object, ns *corev1.Namespace, budget int64, by authorizer.UnconditionalAuthorizer) validatingpolicy.ValidateResult {
	by = authz.InRequest(request.From(ctx), by)
	result := admission.Evaluate(ctx, j.expressions, "the policy "+j.policy, func(ctx context.Context) validatingpolicy.ValidateResult {
		return j.Validator.Validate(ctx, r, attrs, params, ns, budget, by)
	})
	found := ctx.Value(judgedKey{}).(*[]judgement)
	*found = append(*found, judgement{j.policy, result})
	return result
}

// mutator is a mutation that tells the trace what it did.
type mutator struct {
	patch.Patcher
	policy      string
	kind        admissionv1.PatchType
	expressions admission.Expressions
}

// Patch is patch.Patcher.
func (m mutator) Patch(ctx context.Context, r patch.Request, budget int64) (runtime.Object, error) {
	by := "MutatingAdmissionPolicy " + m.policy
	was := r.VersionedAttributes.VersionedObject.Object()
	if by := r.OptionalVariables.Authorizer; by != nil {
		r.OptionalVariables.Authorizer = authz.InRequest(request.From(ctx), by)
	}
	var err error
	obj := admission.Evaluate(ctx, m.expressions, "the policy "+m.policy, func(ctx context.Context) (obj runtime.Object) {
		obj, err = m.Patcher.Patch(ctx, r, budget)
		return obj
	})
	if err != nil {
		return nil, err
	}
	var diff []trace.FieldDiff
	if a, b := plainObject(was), plainObject(obj); a != nil && b != nil {
		diff = object.Diff(a, b)
	}
	note := "Its " + string(m.kind) + " changes nothing."
	if len(diff) > 0 {
		note = "Its " + string(m.kind) + " changes the object" + admission.Again(r.VersionedAttributes) + "."
	}
	request.From(ctx).Pass(trace.StageMutatingAdmission, by, note, diff)
	return obj, nil
}

// matcher are the conditions of a policy that mutates.
type matcher struct {
	matchconditions.Matcher
	policy      string
	expressions admission.Expressions
}

// Match is matchconditions.Matcher.
func (m matcher) Match(ctx context.Context, attrs *upstream.VersionedAttributes, params runtime.Object, by authorizer.UnconditionalAuthorizer) matchconditions.MatchResult {
	by = authz.InRequest(request.From(ctx), by)
	return admission.Evaluate(ctx, m.expressions, "the conditions of "+m.policy, func(ctx context.Context) matchconditions.MatchResult {
		return m.Matcher.Match(ctx, attrs, params, by)
	})
}

// plainObject is an object as maps: what a patch gives is one of the two.
func plainObject(obj runtime.Object) *unstructured.Unstructured {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u
	}
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil
	}
	return &unstructured.Unstructured{Object: m}
}

func hold(n int) string {
	if n == 1 {
		return "1 expression holds"
	}
	return fmt.Sprintf("%d expressions hold", n)
}

package policy

import (
	"fmt"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/client-go/informers"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
)

// compiledPolicy is a policy's expressions as of a revision.
type compiledPolicy struct {
	revision  string
	validator *lazy[validatingpolicy.Validator]
	evaluator *lazy[mutatingpolicy.PolicyEvaluator]
}

// lazy is what is made of a policy when the first request needs it.
type lazy[T any] struct {
	size int // of the policy, in bytes
	make func() T
	made bool // the kernel's; make itself may be called from anywhere
}

func lazily[P interface{ Size() int }, T any](p P, compile func(P) T) *lazy[T] {
	return &lazy[T]{size: p.Size(), make: sync.OnceValue(func() T { return compile(p) })}
}

// perByte is how much more it takes to compile a byte of an expression than to read one
// of an object.
const perByte = 16

// get has a large policy compiled beside the kernel. Who comes meanwhile waits for it
// there too.
func (l *lazy[T]) get(r *request.Scope) T {
	if !l.made {
		request.OffloadFor(r, perByte*l.size, "compiling a policy", func(l *lazy[T]) T { return l.make() }, l)
		l.made = true
	}
	return l.make()
}

// validatingHook is a policy whose Evaluator is yet to be made, when it is asked.
type validatingHook struct {
	validatingpolicy.PolicyHook
	expressions *lazy[validatingpolicy.Validator]
}

type mutatingHook struct {
	mutatingpolicy.PolicyHook
	expressions *lazy[mutatingpolicy.PolicyEvaluator]
}

// compiledValidating are the policies as they are now, whatever changes while they are
// compiled.
func (ps *Policies) compiledValidating(r *request.Scope) []validatingpolicy.PolicyHook {
	hooks := make([]validatingpolicy.PolicyHook, 0, len(ps.validating))
	for _, h := range ps.validating {
		h.Evaluator = judge{h.expressions.get(r), h.Policy.Name, admission.ExpressionsIn(h.Policy.Spec.String())}
		hooks = append(hooks, h.PolicyHook)
	}
	return hooks
}

func (ps *Policies) compiledMutating(r *request.Scope) []mutatingpolicy.PolicyHook {
	hooks := make([]mutatingpolicy.PolicyHook, 0, len(ps.mutating))
	for _, h := range ps.mutating {
		h.Evaluator = h.expressions.get(r)
		hooks = append(hooks, h.PolicyHook)
	}
	return hooks
}

// rebuildPolicies pairs policies with their bindings; one without a binding does
// nothing (policy_source.go calculatePolicyData, here in the order of names).
func (ps *Policies) refresh() {
	if !ps.stale {
		return
	}
	ps.stale = false
	ps.mutates, ps.validates = admission.Resources{}, admission.Resources{}
	kept := map[string]compiledPolicy{}
	ps.validating, ps.mutating = nil, nil
	bound := map[string][]*admissionv1.ValidatingAdmissionPolicyBinding{}
	for _, obj := range ps.objectsOf(client.ValidatingAdmissionPolicyBindings) {
		b := obj.(*admissionv1.ValidatingAdmissionPolicyBinding)
		bound[b.Spec.PolicyName] = append(bound[b.Spec.PolicyName], b)
	}
	for _, obj := range ps.objectsOf(client.ValidatingAdmissionPolicies) {
		p := obj.(*admissionv1.ValidatingAdmissionPolicy)
		if len(bound[p.Name]) == 0 {
			continue
		}
		key := "v/" + p.Name
		c := ps.compiled[key]
		if c.revision != p.ResourceVersion {
			c = compiledPolicy{revision: p.ResourceVersion, validator: lazily(p, compileValidating)}
		}
		kept[key] = c
		hook := validatingpolicy.PolicyHook{Policy: p, Bindings: bound[p.Name]}
		hook.ParamInformer, hook.ParamScope, hook.ConfigurationError = ps.params(p.Spec.ParamKind)
		ps.validating = append(ps.validating, validatingHook{hook, c.validator})
		if m := p.Spec.MatchConstraints; m != nil {
			ps.validates.AddNamed(m.ResourceRules)
		}
	}
	boundMutating := map[string][]*admissionv1.MutatingAdmissionPolicyBinding{}
	for _, obj := range ps.objectsOf(client.MutatingAdmissionPolicyBindings) {
		b := obj.(*admissionv1.MutatingAdmissionPolicyBinding)
		boundMutating[b.Spec.PolicyName] = append(boundMutating[b.Spec.PolicyName], b)
	}
	for _, obj := range ps.objectsOf(client.MutatingAdmissionPolicies) {
		p := obj.(*admissionv1.MutatingAdmissionPolicy)
		if len(boundMutating[p.Name]) == 0 {
			continue
		}
		key := "m/" + p.Name
		c := ps.compiled[key]
		if c.revision != p.ResourceVersion {
			c = compiledPolicy{revision: p.ResourceVersion, evaluator: lazily(p, compileMutating)}
		}
		kept[key] = c
		hook := mutatingpolicy.PolicyHook{Policy: p, Bindings: boundMutating[p.Name]}
		hook.ParamInformer, hook.ParamScope, hook.ConfigurationError = ps.params(p.Spec.ParamKind)
		ps.mutating = append(ps.mutating, mutatingHook{hook, c.evaluator})
		if m := p.Spec.MatchConstraints; m != nil {
			ps.mutates.AddNamed(m.ResourceRules)
		}
	}
	ps.compiled = kept
}

// compileValidating is validating/plugin.go compilePolicy.
func compileValidating(p *admissionv1.ValidatingAdmissionPolicy) validatingpolicy.Validator {
	optional := cel.OptionalVariableDeclarations{HasParams: p.Spec.ParamKind != nil, HasAuthorizer: true}
	inMessages := cel.OptionalVariableDeclarations{HasParams: p.Spec.ParamKind != nil}
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return validatingpolicy.NewValidator(nil, nil, nil, nil, p.Spec.FailurePolicy, err)
	}
	compiler.CompileAndStoreVariables(variablesOf(p.Spec.Variables), optional, environment.StoredExpressions)
	var matcher matchconditions.Matcher
	if len(p.Spec.MatchConditions) > 0 {
		matcher = matchconditions.NewMatcher(compiler.CompileCondition(conditionsOf(p.Spec.MatchConditions), optional, environment.StoredExpressions), p.Spec.FailurePolicy, "policy", "validate", p.Name)
	}
	validations := make([]cel.ExpressionAccessor, len(p.Spec.Validations))
	messages := make([]cel.ExpressionAccessor, len(p.Spec.Validations))
	for i, v := range p.Spec.Validations {
		validations[i] = &validatingpolicy.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason}
		if v.MessageExpression != "" {
			messages[i] = &validatingpolicy.MessageExpressionCondition{MessageExpression: v.MessageExpression}
		}
	}
	annotations := make([]cel.ExpressionAccessor, len(p.Spec.AuditAnnotations))
	for i, a := range p.Spec.AuditAnnotations {
		annotations[i] = &validatingpolicy.AuditAnnotationCondition{Key: a.Key, ValueExpression: a.ValueExpression}
	}
	return validatingpolicy.NewValidator(
		compiler.CompileCondition(validations, optional, environment.StoredExpressions), matcher,
		compiler.CompileCondition(annotations, optional, environment.StoredExpressions),
		compiler.CompileCondition(messages, inMessages, environment.StoredExpressions),
		p.Spec.FailurePolicy, nil,
	)
}

// compileMutating is mutating/compilation.go compilePolicy.
func compileMutating(p *admissionv1.MutatingAdmissionPolicy) mutatingpolicy.PolicyEvaluator {
	optional := cel.OptionalVariableDeclarations{HasParams: p.Spec.ParamKind != nil, HasAuthorizer: true}
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return mutatingpolicy.PolicyEvaluator{Error: err}
	}
	compiler.CompileAndStoreVariables(variablesOf(p.Spec.Variables), optional, environment.StoredExpressions)
	expressions := admission.ExpressionsIn(p.Spec.String())
	var conditions matchconditions.Matcher
	if len(p.Spec.MatchConditions) > 0 {
		conditions = matcher{matchconditions.NewMatcher(compiler.CompileCondition(conditionsOf(p.Spec.MatchConditions), optional, environment.StoredExpressions), p.Spec.FailurePolicy, "policy", "validate", p.Name), p.Name, expressions}
	}
	optional.HasPatchTypes = true
	var patchers []patch.Patcher
	for _, m := range p.Spec.Mutations {
		var made patch.Patcher
		switch {
		case m.PatchType == admissionv1.PatchTypeJSONPatch && m.JSONPatch != nil:
			made = patch.NewJSONPatcher(compiler.CompileMutatingEvaluator(&patch.JSONPatchCondition{Expression: m.JSONPatch.Expression}, optional, environment.StoredExpressions))
		case m.PatchType == admissionv1.PatchTypeApplyConfiguration && m.ApplyConfiguration != nil:
			made = patch.NewApplyConfigurationPatcher(compiler.CompileMutatingEvaluator(&patch.ApplyConfigurationCondition{Expression: m.ApplyConfiguration.Expression}, optional, environment.StoredExpressions))
		default:
			continue
		}
		patchers = append(patchers, mutator{made, p.Name, m.PatchType, expressions})
	}
	return mutatingpolicy.PolicyEvaluator{Matcher: conditions, Mutators: patchers, CompositedCompiler: compiler}
}

func variablesOf(vars []admissionv1.Variable) []cel.NamedExpressionAccessor {
	out := make([]cel.NamedExpressionAccessor, len(vars))
	for i, v := range vars {
		out[i] = &validatingpolicy.Variable{Name: v.Name, Expression: v.Expression}
	}
	return out
}

func conditionsOf(conds []admissionv1.MatchCondition) []cel.ExpressionAccessor {
	out := make([]cel.ExpressionAccessor, len(conds))
	for i := range conds {
		out[i] = (*matchconditions.MatchCondition)(&conds[i])
	}
	return out
}

// params is where a policy's parameters are read.
func (p *Policies) params(kind *admissionv1.ParamKind) (informers.GenericInformer, meta.RESTScope, error) {
	if kind == nil {
		return nil, nil, nil
	}
	gvk := schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
	found, namespaced, ok := p.kinds.Params(gvk)
	switch {
	case !ok:
		return nil, nil, fmt.Errorf("failed to find resource referenced by paramKind: '%v'", gvk)
	case namespaced:
		return informer{found}, meta.RESTScopeNamespace, nil
	}
	return informer{found}, meta.RESTScopeRoot, nil
}

// objectsOf are the objects of a kind in the order of their names.
func (p *Policies) objectsOf(r client.Resource) (out []runtime.Object) {
	p.lister.Each(r, "", func(obj runtime.Object) bool {
		out = append(out, obj)
		return true
	})
	return out
}

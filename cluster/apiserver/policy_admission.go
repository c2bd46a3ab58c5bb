package apiserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// ValidatingAdmissionPolicy and MutatingAdmissionPolicy. Matching, evaluating and
// the words of refusals are Kubernetes' own (apiserver
// pkg/admission/plugin/policy/validating/dispatcher.go, mutating/dispatcher.go);
// what is here tells them of policies and parameters, and the trace of what they did.

// policyDispatchers are Kubernetes' dispatchers over this server.
type policyDispatchers struct {
	validating generic.Dispatcher[validatingpolicy.PolicyHook]
	mutating   generic.Dispatcher[mutatingpolicy.PolicyHook]
}

func (h *hooks) dispatchers() *policyDispatchers {
	if h.policies == nil {
		m := matching.NewMatcher(namespaceLister{h.s}, noClient{})
		h.policies = &policyDispatchers{
			validating: validatingpolicy.NewDispatcher(askAuthorizer{h.s}, generic.NewPolicyMatcher(m)),
			mutating:   mutatingpolicy.NewDispatcher(askAuthorizer{h.s}, m, policyTypes{h.s}),
		}
	}
	return h.policies
}

// admitPolicies is the ValidatingAdmissionPolicy plugin.
func admitPolicies(c *call, op operation) (string, []trace.FieldDiff, error) {
	h := c.s.hooks
	h.refresh()
	if !c.hooked(&h.validates, len(h.validatingPolicies)) {
		return "", nil, nil
	}
	waitParams(c, h.validatingPolicies)
	c.judged = nil
	err := h.dispatchers().validating.Dispatch(c.admissionContext(), c.dynamicAttributes(op), hookObjects{c}, h.validatingPolicies)
	var who string
	if err != nil {
		who = refusingPolicy(err)
	}
	for _, j := range c.judged {
		if j.policy != who {
			c.Pass(trace.StageValidatingAdmission, "ValidatingAdmissionPolicy "+j.policy, j.words(), nil)
		}
	}
	if err != nil {
		return "", nil, &hookRefusal{by: strings.TrimSpace("ValidatingAdmissionPolicy " + who), err: err}
	}
	return "", nil, nil
}

// refusingPolicy is the policy that a refusal names.
func refusingPolicy(err error) string {
	_, rest, _ := strings.Cut(err.Error(), "olicy '")
	name, _, _ := strings.Cut(rest, "'")
	return name
}

// hookRefusal is a refusal with its author: one policy or webhook of many.
type hookRefusal struct {
	by   string
	err  error
	took time.Duration // virtual; of the call of a webhook
}

// Error is the refusal's own words.
func (r *hookRefusal) Error() string { return r.err.Error() }

// Refusal names the policy or webhook.
func (r *hookRefusal) Refusal() request.Refusal {
	return request.Refusal{By: r.by, Took: r.took, Err: r.err}
}

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
	return fmt.Sprintf("Its %s.", plural(len(j.result.Decisions), "expression holds", "expressions hold"))
}

// judge is a policy's compiled validator that tells the request what it found.
type judge struct {
	validatingpolicy.Validator
	policy string
}

// Validate is validatingpolicy.Validator.
func (j judge) Validate(ctx context.Context, r schema.GroupVersionResource, attrs *admission.VersionedAttributes, params runtime.Object, ns *corev1.Namespace, budget int64, authz authorizer.UnconditionalAuthorizer) validatingpolicy.ValidateResult {
	result := j.Validator.Validate(ctx, r, attrs, params, ns, budget, authz)
	c := callOf(ctx)
	c.judged = append(c.judged, judgement{j.policy, result})
	return result
}

// mutateByPolicies is the MutatingAdmissionPolicy plugin.
func (c *call) mutateByPolicies(ctx context.Context, op operation, attrs admission.Attributes) error {
	h := c.s.hooks
	if len(h.mutatingPolicies) == 0 || op == opDelete {
		return nil
	}
	waitParams(c, h.mutatingPolicies)
	if err := h.dispatchers().mutating.Dispatch(ctx, attrs, hookObjects{c}, h.mutatingPolicies); err != nil {
		return &hookRefusal{by: strings.TrimSpace("MutatingAdmissionPolicy " + refusingPolicy(err)), err: err}
	}
	return nil
}

// mutator is a mutation that tells the trace what it did.
type mutator struct {
	patch.Patcher
	policy string
	kind   admissionv1.PatchType
}

// Patch is patch.Patcher.
func (m mutator) Patch(ctx context.Context, r patch.Request, budget int64) (runtime.Object, error) {
	c := callOf(ctx)
	by := "MutatingAdmissionPolicy " + m.policy
	was := r.VersionedAttributes.VersionedObject.Object()
	obj, err := m.Patcher.Patch(ctx, r, budget)
	if err != nil {
		return nil, err
	}
	var diff []trace.FieldDiff
	if a, b := plainObject(was), plainObject(obj); a != nil && b != nil {
		diff = object.Diff(a, b)
	}
	note := "Its " + string(m.kind) + " changes nothing."
	if len(diff) > 0 {
		note = "Its " + string(m.kind) + " changes the object" + again(r.VersionedAttributes) + "."
	}
	c.Pass(trace.StageMutatingAdmission, by, note, diff)
	return obj, nil
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

// again says that an object is seen for the second time.
func again(a admission.Attributes) string {
	if a.GetReinvocationContext().IsReinvoke() {
		return ", asked again because a later one changed it"
	}
	return ""
}

// policyTypes gives the schema by which an apply configuration is merged.
type policyTypes struct{ s *Server }

// GetTypeConverter is patch.TypeConverterManager.
func (p policyTypes) GetTypeConverter(gvk schema.GroupVersionKind) managedfields.TypeConverter {
	for _, k := range p.s.Resources() {
		if k.Custom != nil && k.GVK() == gvk {
			types, err := customOf(k).of.types()
			if err != nil {
				return nil
			}
			return types
		}
	}
	return p.s.managers.builtin()
}

// Run is patch.TypeConverterManager: there is nothing to fetch.
func (policyTypes) Run(context.Context) {}

package apiserver

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kviz/cluster/apiserver/request"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
)

const (
	replicaLimit = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replica-limit}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments, deployments/scale]}]
  matchConditions:
  - {name: not-the-system, expression: "!request.userInfo.username.startsWith('system:')"}
  variables:
  - {name: most, expression: "params == null ? 3 : int(params.data.most)"}
  validations:
  - expression: "object.spec.replicas <= variables.most"
    messageExpression: "'at most ' + string(variables.most) + ' replicas, not ' + string(object.spec.replicas)"
    reason: Forbidden
  auditAnnotations:
  - {key: wanted, valueExpression: "string(object.spec.replicas)"}`
	replicaBinding = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: replica-limit-%s}
spec:
  policyName: replica-limit
  validationActions: [%s]
%s`
	someDeployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: %s}
spec: {replicas: %d, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: nginx}]}}}`
)

// A validating policy refuses, warns or notes, as its bindings say; its limit comes
// from a parameter; what cannot be evaluated is decided by the failure policy.
func TestValidatingAdmissionPolicy(t *testing.T) {
	runHooked(t, func(h *hooked) {
		bind := func(name, actions, more string) {
			h.apply(fmt.Sprintf(replicaBinding, name, actions, more))
			h.t.Sleep(10 * time.Millisecond)
		}
		unbind := func(name string) {
			h.w.must(h.w.admin().Delete(h.t, client.ValidatingAdmissionPolicyBindings, "", "replica-limit-"+name, del))
			h.t.Sleep(10 * time.Millisecond)
		}
		deploy := func(name string, n int) { h.apply(fmt.Sprintf(someDeployment, name, n)) }

		h.stages("a policy without a binding does nothing", func() { h.apply(replicaLimit); deploy("many", 9) })
		h.stages("bound to deny", func() { bind("deny", "Deny", ""); deploy("four", 4); deploy("three", 3) })
		h.stages("the scale subresource is a way too", func() {
			r := h.outside(&request.Request{
				Verb: "patch", Resource: client.Deployments.GroupVersionResource, Subresource: "scale", Namespace: "default", Name: "three",
				PatchType: "application/merge-patch+json", Patch: []byte(`{"spec":{"replicas":5}}`),
			})
			h.tell(r)
		})
		h.stages("bound to warn and to note", func() { unbind("deny"); bind("warn", "Warn, Audit", ""); deploy("five", 5) })
		h.stages("the limit from a parameter", func() {
			unbind("warn")
			h.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: limit}\ndata: {most: \"7\"}")
			bind("param", "Deny", "  paramRef: {name: limit, namespace: default, parameterNotFoundAction: Deny}")
			deploy("seven", 7)
			deploy("eight", 8)
		})
		h.stages("the parameter is gone", func() {
			h.w.must(h.w.admin().Delete(h.t, client.ConfigMaps, "default", "limit", del))
			h.t.Sleep(10 * time.Millisecond)
			deploy("two", 2)
		})
		h.stages("an expression that fails, by failure policy", func() {
			unbind("param")
			h.w.must(h.w.admin().Delete(h.t, client.ValidatingAdmissionPolicies, "", "replica-limit", del))
			for _, policy := range []string{"Fail", "Ignore"} {
				h.apply(fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: bad-%s}
spec:
  failurePolicy: %s
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps], resourceNames: [by-%[1]s]}]}
  validations: [{expression: "object.data.missing == 'x'"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: bad-%[1]s}
spec: {policyName: bad-%[1]s, validationActions: [Deny]}`, strings.ToLower(policy), policy))
				h.t.Sleep(10 * time.Millisecond)
				h.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: by-" + strings.ToLower(policy) + "}\ndata: {k: v}")
			}
		})
		h.stages("what does not compile, or says too little, is not stored", func() {
			h.apply(strings.Replace(replicaLimit, "object.spec.replicas <= variables.most", "object.spec.replicas <= nosuch", 1))
			h.apply("apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: x}\nspec: {policyName: x}")
		})
		golden(t, "validating-policy", h.out.String())
	})
}

// Mutating policies patch objects in both ways, and one that was asked before a
// change is asked again if it wishes.
func TestMutatingAdmissionPolicy(t *testing.T) {
	runHooked(t, func(h *hooked) {
		policy := func(name, again, mutation string) string {
			return fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: %s}
spec:
  reinvocationPolicy: %s
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  mutations:
  - %s
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s}`, name, again, mutation)
		}
		h.stages("two policies: the first wants to be asked again", func() {
			h.apply(policy("count", "IfNeeded", `patchType: JSONPatch
    jsonPatch:
      expression: >-
        [JSONPatch{op: "add", path: "/metadata/annotations", value: {"containers": string(size(object.spec.containers))}}]`))
			h.apply(policy("sidecar", "Never", `patchType: ApplyConfiguration
    applyConfiguration:
      expression: >-
        Object{metadata: Object.metadata{labels: {"mesh": "yes"}}, spec: Object.spec{containers: [Object.spec.containers{name: "sidecar", image: "docker.io/kviz/echo:1"}]}}`))
			h.t.Sleep(10 * time.Millisecond)
		})
		h.stages("a pod", func() { h.apply(fmt.Sprintf(nginxPod, "web", "nginx")) })
		h.stages("a policy whose patch fails refuses", func() {
			h.apply(policy("wrong", "Never", `patchType: ApplyConfiguration
    applyConfiguration:
      expression: >-
        Object{spec: Object.spec{nosuch: "x"}}`))
			h.t.Sleep(10 * time.Millisecond)
			h.apply(fmt.Sprintf(nginxPod, "web2", "nginx"))
		})
		golden(t, "mutating-policy", h.out.String())
	})
}

var del metav1.DeleteOptions

// A policy's parameters are of a custom kind: until its definition comes the policy is
// wrongly configured, then they decide, as they are now, also after the definition has
// changed and the kind is another.
func TestPolicyOfACustomParamKind(t *testing.T) {
	const limits = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: limits.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: limits, singular: limit, kind: Limit}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`
	runHooked(t, func(h *hooked) {
		h.apply(strings.NewReplacer("apiVersion: v1, kind: ConfigMap", "apiVersion: example.com/v1, kind: Limit", "params.data.most", "params.most").Replace(replicaLimit))
		h.apply(fmt.Sprintf(replicaBinding, "param", "Deny", "  paramRef: {name: limit, namespace: default, parameterNotFoundAction: Deny}"))
		h.t.Sleep(time.Second)
		n := 0
		deploy := func(when string, want ...string) {
			t.Helper()
			n++
			err := h.send("create", fmt.Sprintf(someDeployment, fmt.Sprintf("d%d", n), 5)).Err
			switch {
			case len(want) == 0 && err != nil:
				t.Errorf("%s, five replicas are refused: %v", when, err)
			case len(want) > 0 && (err == nil || !strings.Contains(err.Error(), want[0])):
				t.Errorf("%s, five replicas: %v, want %q", when, err, want[0])
			}
		}
		limit := func(most int) {
			t.Helper()
			req := &request.Request{Verb: "patch", Resource: example("v1", "limits"), Namespace: "default", Name: "limit", PatchType: types.ApplyPatchType, FieldManager: "t"}
			req.Patch = fmt.Appendf(nil, `{"apiVersion":"example.com/v1","kind":"Limit","metadata":{"name":"limit"},"most":"%d"}`, most)
			h.w.must(h.w.ask(h.t, req).Err)
			h.t.Sleep(time.Second)
		}

		deploy("before the definition", "failed to find resource referenced by paramKind")
		h.w.define(h.t, limits)
		deploy("without the parameter", "no params found")
		limit(4)
		deploy("with a limit of 4", "at most 4 replicas, not 5")
		h.w.onDefinition(h.t, "patch", "limits.example.com", types.MergePatchType, `{"spec":{"names":{"shortNames":["lim"]}}}`)
		limit(6)
		deploy("with a limit of 6 after a change of the definition")
		limit(3)
		deploy("with a limit of 3", "at most 3 replicas, not 5")
	})
}

package proof

import (
	"fmt"
	"net/http"
)

// order is what of an update comes before what: the UID is a precondition, then
// mutating admission has its say, then the revision counts, then validation.
func order() []step {
	const registration, cms = "/apis/admissionregistration.k8s.io/v1/", "/api/v1/namespaces/order/configmaps"
	const deployments = "/apis/apps/v1/namespaces/order/deployments"
	policy := func(name, resources, group, mutation string) []step {
		return []step{
			post(registration+"mutatingadmissionpolicies", fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"failurePolicy":"Fail","reinvocationPolicy":"Never",
				"matchConstraints":{"resourceRules":[{"apiGroups":[%q],"apiVersions":["v1"],"operations":["UPDATE"],"resources":[%q]}]},
				"matchConditions":[{"name":"its-own","expression":"object.metadata.name == '%[1]s'"}],"mutations":[%s]}}`, name, group, resources, mutation)),
			post(registration+"mutatingadmissionpolicybindings", fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"policyName":%[1]q,"matchResources":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"order"}}}}}`, name)),
		}
	}
	steps := []step{post("/api/v1/namespaces", `{"metadata":{"name":"order"}}`)}
	for _, name := range []string{"fails", "labels", "forgets", "mistakes", "plain"} {
		steps = append(steps, post(cms, fmt.Sprintf(`{"metadata":{"name":"order-%s"}}`, name)))
	}
	const scaled = `{"metadata":{"name":"order-scale"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x:1"}]}}}}`
	steps = append(steps, post(deployments, scaled))
	for _, p := range [][]step{
		policy("order-fails", "configmaps", "", `{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{labels: {'a': object.data['none']}}}"}}`),
		policy("order-labels", "configmaps", "", `{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{labels: {'by': 'the-policy'}}}"}}`),
		policy("order-mistakes", "configmaps", "", `{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a b': 'c'}}]"}}`),
		policy("order-scale", "deployments/scale", "apps", `{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'replace', path: '/spec/replicas', value: 7}]"}}`),
		policy("order-forgets", "configmaps", "", `{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'remove', path: '/metadata/resourceVersion'}]"}}`),
	} {
		steps = append(steps, p...)
	}
	put := func(what, name, metadata string) step {
		return step{name: fmt.Sprintf("%s: %s %s", what, name, metadata), method: "PUT", path: cms + "/order-" + name, body: with(fmt.Sprintf(`{"metadata":{"name":"order-%s"}}`, name), fmt.Sprintf(`{"metadata":%s}`, metadata))}
	}
	known := put("until a policy has the revision forgotten", "forgets", `{"resourceVersion":"1"}`)
	known.until = http.StatusOK
	steps = append(steps, known)
	for _, m := range []string{
		`{"resourceVersion":"1"}`, `{}`, `{"resourceVersion":"1","uid":"00000000-0000-0000-0000-000000000001"}`, `{"uid":"00000000-0000-0000-0000-000000000001"}`,
		`{"resourceVersion":"bad"}`, `{"resourceVersion":"1","labels":{"a b":"c"}}`, `{"resourceVersion":"1","namespace":"default"}`, `{"resourceVersion":"1","name":"other"}`,
	} {
		for _, name := range []string{"fails", "labels", "mistakes", "forgets", "plain"} {
			steps = append(steps, put("update", name, m))
			if patch := put("patch", name, m); name != "mistakes" {
				patch.method, patch.contentType = "PATCH", mergeType
				steps = append(steps, patch)
			}
		}
	}
	scale := func(name, method, body string) step {
		st := step{name: name, method: method, path: deployments + "/order-scale/scale", body: body}
		if method == "PATCH" {
			st.contentType = mergeType
		}
		return st
	}
	const part = `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"order-scale","namespace":"order"},"spec":{"replicas":3}}`
	return append(steps,
		scale("a policy scales", "PUT", part),
		get(deployments+"/order-scale"),
		scale("a policy scales, of an old version", "PUT", with(part, `{"metadata":{"resourceVersion":"1"}}`)),
		scale("a policy scales, of another UID", "PUT", with(part, `{"metadata":{"uid":"00000000-0000-0000-0000-000000000001"}}`)),
		scale("a policy scales what is below 0", "PUT", with(part, `{"spec":{"replicas":-1}}`)),
		scale("a policy scales what is patched to below 0, of an old version", "PATCH", `{"metadata":{"resourceVersion":"1"},"spec":{"replicas":-1}}`),
		step{name: "a kubelet changes another node, of an old version", method: "PUT", path: "/api/v1/nodes/order-node/status", body: `{"metadata":{"name":"order-node","resourceVersion":"1"}}`, headers: [][2]string{{"Impersonate-User", "system:node:other"}, {"Impersonate-Group", "system:nodes"}}},
		post("/api/v1/nodes", `{"metadata":{"name":"order-node"}}`),
		step{name: "a kubelet changes another node that is there, of an old version", method: "PUT", path: "/api/v1/nodes/order-node/status", body: `{"metadata":{"name":"order-node","resourceVersion":"1"}}`, headers: [][2]string{{"Impersonate-User", "system:node:other"}, {"Impersonate-Group", "system:nodes"}}},
	)
}

package proof

import (
	"fmt"
	"net/http"
	"slices"
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
	steps = append(steps,
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
	return slices.Concat(steps, lookedUp(), bindings(), defaulted())
}

// lookedUp is what plugins find by the time of defaulted.
func lookedUp() []step {
	const classes = "/apis/networking.k8s.io/v1/ingressclasses"
	return []step{
		post("/api/v1/nodes", `{"metadata":{"name":"order-placed","labels":{"rack":"7","topology.kubernetes.io/zone":"z","topology.kubernetes.io/region":"r"}}}`),
		post("/api/v1/nodes", `{"metadata":{"name":"order-region","labels":{"topology.kubernetes.io/region":"r"}}}`),
		post(classes, `{"metadata":{"name":"order-other"},"spec":{"controller":"example.com/door"}}`),
		post(classes, `{"metadata":{"name":"order-default","annotations":{"ingressclass.kubernetes.io/is-default-class":"true"}},"spec":{"controller":"example.com/door"}}`),
	}
}

// defaulted is what plugins fill in that look something up: the labels of a pod's node,
// the class of an Ingress.
func defaulted() []step {
	const pods, ingresses = "/api/v1/namespaces/order/pods", "/apis/networking.k8s.io/v1/namespaces/order/ingresses"
	var steps []step
	pod := func(name, metadata, spec string) {
		steps = append(steps, post(pods, with(with(fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"containers":[{"name":"c","image":"x:1"}]}}`, name), `{"metadata":`+metadata+`}`), `{"spec":`+spec+`}`)))
	}
	bind := func(name, metadata, target string) {
		steps = append(steps,
			post(pods+"/"+name+"/binding", with(fmt.Sprintf(`{"metadata":{"name":%q},"target":%s}`, name, target), `{"metadata":`+metadata+`}`)),
			get(pods+"/"+name))
	}
	for i, node := range []string{"order-placed", "order-region", "order-gone"} {
		pod(fmt.Sprintf("made-for-%d", i), `{"labels":{"topology.kubernetes.io/zone":"mine","a":"b"}}`, fmt.Sprintf(`{"nodeName":%q}`, node))
		for j, metadata := range []string{`{}`, `{"labels":{"topology.kubernetes.io/zone":"its","c":"d"}}`} {
			name := fmt.Sprintf("bound-%d-%d", i, j)
			pod(name, `{"labels":{"topology.kubernetes.io/region":"mine","a":"b"}}`, `{}`)
			bind(name, metadata, fmt.Sprintf(`{"kind":"Node","name":%q}`, node))
		}
	}
	pod("no-kind", `{}`, `{}`)
	bind("no-kind", `{}`, `{"name":"order-placed"}`)
	for i, part := range []string{`{}`, `{"spec":{"ingressClassName":"order-other"}}`, `{"metadata":{"annotations":{"kubernetes.io/ingress.class":"nginx"}}}`, `{"spec":{"ingressClassName":"none"}}`} {
		steps = append(steps, post(ingresses, with(fmt.Sprintf(`{"metadata":{"name":"order-%d"},"spec":{"defaultBackend":{"service":{"name":"web","port":{"number":80}}}}}`, i), part)))
	}
	return append(steps,
		step{name: "an update defaults nothing", method: "PATCH", path: ingresses + "/order-1", contentType: mergeType, body: `{"spec":{"ingressClassName":null}}`},
		step{name: "no default any more", method: "DELETE", path: "/apis/networking.k8s.io/v1/ingressclasses/order-default"})
}

// bindings is what of a Binding comes before what: mutating admission, the name and the node, validating
// admission, and only then the pod.
func bindings() []step {
	const registration, pods = "/apis/admissionregistration.k8s.io/v1/", "/api/v1/namespaces/order/pods"
	const rules = `"failurePolicy":"Fail","matchConstraints":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"order"}},"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods/binding"]}]}`
	bind := func(name, pod, metadata, target string) step {
		return step{name: name, method: "POST", path: pods + "/" + pod + "/binding", body: with(fmt.Sprintf(`{"metadata":{"name":%q},"target":{"kind":"Node","name":%q}}`, pod, target), `{"metadata":`+metadata+`}`)}
	}
	pod := func(name string) step {
		return post(pods, fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"containers":[{"name":"c","image":"x:1"}]}}`, name))
	}
	known := bind("until a policy forbids a node", "none", `{}`, "forbidden")
	known.until = http.StatusUnprocessableEntity
	marked := bind("until a policy marks what is bound", "none", `{"annotations":{"mark":"it"}}`, "anywhere")
	marked.until = http.StatusBadRequest
	dry := bind("bind to a forbidden node, dry run", "bound", `{}`, "forbidden")
	dry.path += "?dryRun=All"
	return []step{
		post("/api/v1/namespaces/order/serviceaccounts", `{"metadata":{"name":"default"}}`),
		pod("bound"), pod("marked"),
		post(registration+"validatingadmissionpolicies", `{"metadata":{"name":"order-binding"},"spec":{`+rules+`,"validations":[{"expression":"object.target.name != 'forbidden'","message":"not there"}]}}`),
		post(registration+"validatingadmissionpolicybindings", `{"metadata":{"name":"order-binding"},"spec":{"policyName":"order-binding","validationActions":["Deny"]}}`),
		known,
		post(registration+"mutatingadmissionpolicies", `{"metadata":{"name":"order-marks"},"spec":{"reinvocationPolicy":"Never",`+rules+`,"matchConditions":[{"name":"marked","expression":"has(object.metadata.annotations) && 'mark' in object.metadata.annotations"}],
			"mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'replace', path: '/metadata/name', value: object.metadata.name == 'marked' ? 'marked' : 'other'}, JSONPatch{op: 'replace', path: '/target/name', value: 'chosen'}]"}}]}}`),
		post(registration+"mutatingadmissionpolicybindings", `{"metadata":{"name":"order-marks"},"spec":{"policyName":"order-marks"}}`),
		marked,
		bind("bind what is not", "none", `{}`, "anywhere"),
		bind("bind what is not to no node", "none", `{}`, ""),
		bind("bind another name to a forbidden node", "bound", `{"name":"marked"}`, "forbidden"),
		bind("bind to a forbidden node", "bound", `{}`, "forbidden"),
		bind("bind to a forbidden node, of an old version", "bound", `{"resourceVersion":"1"}`, "forbidden"),
		bind("bind to a forbidden node, of another UID", "bound", `{"uid":"00000000-0000-0000-0000-000000000001"}`, "forbidden"),
		dry,
		bind("bind to a node that a policy changes", "marked", `{"annotations":{"mark":"it"}}`, "forbidden"),
		get(pods + "/marked"),
		bind("bind", "bound", `{}`, "anywhere"),
		bind("bind again to a forbidden node", "bound", `{}`, "forbidden"),
		bind("bind again", "bound", `{}`, "anywhere"),
		post("/api/v1/namespaces", `{"metadata":{"name":"order-ends"},"spec":{"finalizers":["kubernetes","example.com/stays"]}}`),
		{name: "delete the namespace", method: "DELETE", path: "/api/v1/namespaces/order-ends"},
		{name: "bind in a namespace that ends", method: "POST", path: "/api/v1/namespaces/order-ends/pods/none/binding", body: `{"metadata":{"name":"other"},"target":{"name":""}}`},
	}
}

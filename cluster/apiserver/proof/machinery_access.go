package proof

import (
	"fmt"
	"net/http"
)

// as is a step of a user, in groups.
func as(user, method, path, body string, groups ...string) step {
	st := step{name: fmt.Sprintf("as %s: %s %s %.200s", user, method, path, body), method: method, path: path, body: body, headers: [][2]string{{"Impersonate-User", user}}}
	for _, g := range groups {
		st.headers = append(st.headers, [2]string{"Impersonate-Group", g})
	}
	if method == "PATCH" {
		st.contentType = mergeType
	}
	return st
}

// asked is the same as a question: a SubjectAccessReview, whose answer tells the reasons.
func asked(user, groups, attributes string) step {
	return post("/apis/authorization.k8s.io/v1/subjectaccessreviews", fmt.Sprintf(`{"spec":{"user":%q,"groups":[%s],%s}}`, user, groups, attributes))
}

// refusals are why RBAC does not allow what it does not allow: bindings to roles that
// are not there are told, under RBAC's name.
func refusals() []step {
	const rbac = "/apis/rbac.authorization.k8s.io/v1/"
	binding := func(name, kind, role, subject string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":%q,"name":%q},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":%q}]}`, name, kind, role, subject)
	}
	const cms = "/api/v1/namespaces/refused/configmaps"
	readers := as("lost", "GET", cms, "")
	readers.name = "until it is known that a role is not there"
	readers.until = http.StatusOK
	return []step{
		post("/api/v1/namespaces", `{"metadata":{"name":"refused"}}`),
		post(rbac+"namespaces/refused/roles", `{"metadata":{"name":"reads"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list"]}]}`),
		post(rbac+"clusterrolebindings", binding("refused-everywhere", "ClusterRole", "gone-cluster-role", "lost")),
		post(rbac+"namespaces/refused/rolebindings", binding("gone-1", "Role", "gone-role", "lost")),
		post(rbac+"namespaces/refused/rolebindings", binding("gone-2", "Role", "gone-role", "lost")),
		post(rbac+"namespaces/refused/rolebindings", binding("gone-3", "ClusterRole", "gone-cluster-role", "half")),
		post(rbac+"namespaces/refused/rolebindings", binding("there", "Role", "reads", "lost")),
		readers,
		as("lost", "GET", cms+"/none", ""),
		as("lost", "GET", "/api/v1/configmaps", ""),
		as("lost", "POST", cms, `{"metadata":{"name":"x"}}`),
		as("lost", "GET", "/api/v1/namespaces/default/secrets", ""),
		as("lost", "GET", "/metrics", ""),
		as("lost", "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", `{"spec":{"namespace":"refused"}}`),
		as("half", "DELETE", cms, ""),
		as("half", "GET", "/api/v1/nodes/x", ""),
		as("half", "PUT", "/apis/apps/v1/namespaces/refused/deployments/d/scale", `{}`),
		as("<b>half & half</b>", "GET", cms, ""),
		as(`with "quotes"`, "GET", cms+"?fieldSelector=metadata.name%3Dx", ""),
		as("half", "GET", "/%3Cscript%3E", ""),
		asked("lost", "", `"resourceAttributes":{"namespace":"refused","verb":"delete","resource":"configmaps"}`),
		asked("half", "", `"resourceAttributes":{"namespace":"refused","verb":"delete","resource":"configmaps","name":"x"}`),
		asked("half", "", `"nonResourceAttributes":{"verb":"get","path":"/metrics"}`),
		asked("lost", "", `"resourceAttributes":{"namespace":"refused","verb":"get","resource":"configmaps"}`),
	}
}

// nodesReach is what a kubelet may do: what its pods refer to, and no more.
func nodesReach() []step {
	const ns, core = "/api/v1/namespaces/reach", "/api/v1"
	pod := func(name, node, spec string) step {
		return post(ns+"/pods", fmt.Sprintf(`{"metadata":{"name":%q},"spec":%s}`, name,
			merge(fmt.Sprintf(`{"nodeName":%q,"containers":[{"name":"c","image":"x:1"}]}`, node), spec)))
	}
	steps := []step{
		post("/api/v1/namespaces", `{"metadata":{"name":"reach"}}`),
		post(ns+"/serviceaccounts", `{"metadata":{"name":"default"}}`),
		post(ns+"/serviceaccounts", `{"metadata":{"name":"robot"}}`),
		post(core+"/nodes", `{"metadata":{"name":"reach-1"}}`),
		post(core+"/nodes", `{"metadata":{"name":"reach-2"}}`),
	}
	for _, name := range []string{"env", "volume", "projected", "pull", "other"} {
		steps = append(steps, post(ns+"/secrets", fmt.Sprintf(`{"metadata":{"name":%q}}`, name)), post(ns+"/configmaps", fmt.Sprintf(`{"metadata":{"name":%q}}`, name)))
	}
	steps = append(steps,
		post(ns+"/persistentvolumeclaims", `{"metadata":{"name":"claim"},"spec":{"volumeName":"reach-volume","storageClassName":"","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`),
		post(core+"/persistentvolumes", `{"metadata":{"name":"reach-volume"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"storageClassName":"","claimRef":{"namespace":"reach","name":"claim"},"csi":{"driver":"d.example.com","volumeHandle":"h","nodePublishSecretRef":{"namespace":"reach","name":"other"}}}}`),
		post(core+"/persistentvolumes", `{"metadata":{"name":"reach-free"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"storageClassName":"","hostPath":{"path":"/x"}}}`),
		post("/apis/storage.k8s.io/v1/volumeattachments", `{"metadata":{"name":"reach-attached"},"spec":{"attacher":"d.example.com","nodeName":"reach-1","source":{"persistentVolumeName":"reach-volume"}}}`),
		post("/apis/storage.k8s.io/v1/csinodes", `{"metadata":{"name":"reach-1"},"spec":{"drivers":[]}}`),
		pod("far", "reach-2", `{"containers":[{"name":"c","image":"x:1","envFrom":[{"secretRef":{"name":"projected"}}]}]}`),
		pod("near", "reach-1", `{"serviceAccountName":"robot","imagePullSecrets":[{"name":"pull"}],
			"containers":[{"name":"c","image":"x:1","env":[{"name":"A","valueFrom":{"configMapKeyRef":{"name":"env","key":"k"}}},{"name":"B","valueFrom":{"secretKeyRef":{"name":"env","key":"k"}}}]}],
			"volumes":[{"name":"s","secret":{"secretName":"volume"}},{"name":"m","configMap":{"name":"volume"}},{"name":"v","persistentVolumeClaim":{"claimName":"claim"}}]}`),
	)
	for i, path := range []string{ns + "/pods/near", core + "/persistentvolumes/reach-volume", "/apis/storage.k8s.io/v1/volumeattachments/reach-attached"} {
		st := as("system:node:reach-1", "GET", path, "", "system:nodes")
		st.name, st.until = fmt.Sprintf("until it is known what belongs to the node (%d)", i+1), http.StatusOK
		steps = append(steps, st)
	}
	kubelet := func(method, path, body string) {
		steps = append(steps, as("system:node:reach-1", method, path, body, "system:nodes"))
	}
	for _, kind := range []string{"secrets", "configmaps"} {
		for _, name := range []string{"env", "volume", "projected", "pull", "other", "unheard"} {
			kubelet("GET", ns+"/"+kind+"/"+name, "")
		}
		kubelet("GET", ns+"/"+kind, "")
		kubelet("GET", core+"/"+kind, "")
		kubelet("GET", ns+"/"+kind+"?fieldSelector=metadata.name%3Denv", "")
		kubelet("GET", ns+"/"+kind+"?fieldSelector=metadata.name%3Dunheard", "")
		kubelet("DELETE", ns+"/"+kind+"/env", "")
		kubelet("POST", ns+"/"+kind, `{"metadata":{"name":"new"}}`)
		kubelet("GET", ns+"/"+kind+"/env/status", "")
	}
	for _, path := range []string{
		ns + "/pods", ns + "/pods/near", ns + "/pods/far", ns + "/pods/near/log", ns + "/pods/near/status", ns + "/pods?fieldSelector=metadata.name%3Dnear", ns + "/pods?fieldSelector=metadata.name%3Dfar",
		core + "/pods", core + "/pods?fieldSelector=spec.nodeName%3Dreach-2", core + "/nodes", core + "/nodes/reach-1", core + "/nodes/reach-2", core + "/nodes/reach-1/status",
		ns + "/serviceaccounts", ns + "/serviceaccounts/robot", ns + "/serviceaccounts/default", ns + "/persistentvolumeclaims", ns + "/persistentvolumeclaims/claim", ns + "/persistentvolumeclaims/claim/status",
		ns + "/persistentvolumeclaims/unheard", core + "/persistentvolumes", core + "/persistentvolumes/reach-volume", core + "/persistentvolumes/reach-free", core + "/persistentvolumes/reach-volume/status",
		"/apis/storage.k8s.io/v1/volumeattachments", "/apis/storage.k8s.io/v1/volumeattachments/reach-attached", "/apis/storage.k8s.io/v1/volumeattachments/unheard",
		"/apis/storage.k8s.io/v1/csinodes", "/apis/storage.k8s.io/v1/csinodes/reach-1", "/apis/storage.k8s.io/v1/csinodes/reach-2", "/apis/storage.k8s.io/v1/csinodes/reach-1/status", "/apis/storage.k8s.io/v1/csinodes/reach-1/scale",
		"/apis/coordination.k8s.io/v1/leases", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/reach-1", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/reach-2",
		"/apis/coordination.k8s.io/v1/namespaces/reach/leases/reach-1", "/apis/resource.k8s.io/v1/resourceslices", "/apis/resource.k8s.io/v1/resourceslices/x", "/apis/resource.k8s.io/v1/resourceslices/x/status",
		"/apis/resource.k8s.io/v1/namespaces/reach/resourceclaims/x", "/apis/resource.k8s.io/v1/namespaces/reach/resourceclaims", ns + "/services", "/apis/apps/v1/namespaces/reach/deployments", "/api/v1/namespaces", "/metrics", "/unheard",
	} {
		kubelet("GET", path, "")
	}
	kubelet("POST", ns+"/serviceaccounts/robot/token", `{"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"far"}}}`)
	kubelet("POST", ns+"/serviceaccounts/default/token", `{"spec":{}}`)
	kubelet("PATCH", ns+"/serviceaccounts/robot", `{}`)
	kubelet("POST", ns+"/serviceaccounts/robot/other", `{}`)
	kubelet("PATCH", ns+"/persistentvolumeclaims/claim/status", `{}`)
	kubelet("PATCH", ns+"/persistentvolumeclaims/unheard/status", `{}`)
	kubelet("DELETE", "/apis/storage.k8s.io/v1/csinodes", "")
	kubelet("DELETE", core+"/nodes/reach-1", "")
	kubelet("PATCH", core+"/nodes/reach-2", `{"metadata":{"labels":{"a":"b"}}}`)
	kubelet("PATCH", core+"/nodes/reach-2/status", `{"status":{}}`)
	kubelet("PATCH", ns+"/pods/near", `{}`)
	kubelet("PATCH", ns+"/pods/far/status", `{"status":{"phase":"Running"}}`)
	kubelet("DELETE", ns+"/pods/far", "")
	kubelet("POST", ns+"/pods/far/eviction", `{"metadata":{"name":"far"}}`)
	kubelet("POST", ns+"/pods", `{"metadata":{"name":"made"},"spec":{"nodeName":"reach-1","containers":[{"name":"c","image":"x:1"}]}}`)
	for _, meta := range []string{
		`"labels":{"a":"b"}`, `"labels":{"node-restriction.kubernetes.io/x":"y"}`, `"labels":{"team.node-restriction.kubernetes.io/x":"y"}`, `"labels":{"kubernetes.io/role":"x"}`,
		`"labels":{"x.k8s.io/y":"z"}`, `"labels":{"node.kubernetes.io/ok":"y"}`, `"labels":{"topology.kubernetes.io/zone":"z"}`, `"labels":{"a":null}`,
		`"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"reach-2","uid":"u"}]`, `"annotations":{"a":"b"}`,
	} {
		kubelet("PATCH", core+"/nodes/reach-1", `{"metadata":{`+meta+`}}`)
	}
	kubelet("PATCH", core+"/nodes/reach-1", `{"spec":{"taints":[{"key":"k","effect":"NoSchedule"}]}}`)
	kubelet("PATCH", core+"/nodes/reach-1", `{"spec":{"unschedulable":true}}`)
	kubelet("POST", core+"/nodes", `{"metadata":{"name":"reach-9"}}`)
	kubelet("PATCH", ns+"/pods/near/status", `{"metadata":{"labels":{"a":"b"}}}`)
	kubelet("PATCH", ns+"/pods/near/status", `{"status":{"message":"seen"}}`)
	const node = `"apiVersion":"v1","kind":"Node","name":"reach-1","uid":"u"`
	for i, owners := range []string{
		"", `{` + node + `}`, `{` + node + `,"controller":true}`, `{` + node + `,"controller":true,"blockOwnerDeletion":true}`,
		`{"apiVersion":"v1","kind":"Node","name":"reach-2","uid":"u","controller":true}`, `{` + node + `,"controller":true},{"apiVersion":"v1","kind":"Node","name":"reach-2","uid":"v"}`,
	} {
		kubelet("POST", ns+"/pods", fmt.Sprintf(`{"metadata":{"name":"mirror-%d","annotations":{"kubernetes.io/config.mirror":"h"},"ownerReferences":[%s]},"spec":{"nodeName":"reach-1","containers":[{"name":"c","image":"x:1"}]}}`, i, owners))
	}
	kubelet("PATCH", ns+"/persistentvolumeclaims/claim/status", `{"metadata":{"labels":{"a":"b"}}}`)
	kubelet("PATCH", ns+"/persistentvolumeclaims/claim/status", `{"status":{"capacity":{"storage":"2Gi"}}}`)
	kubelet("PATCH", ns+"/persistentvolumeclaims/claim/status", `{"status":{"phase":"Lost"}}`)
	kubelet("POST", "/apis/storage.k8s.io/v1/csinodes", `{"metadata":{"name":"reach-2"},"spec":{"drivers":[]}}`)
	kubelet("PATCH", "/apis/storage.k8s.io/v1/csinodes/reach-1", `{"metadata":{"annotations":{"a":"b"}}}`)
	kubelet("POST", ns+"/serviceaccounts/robot/token", `{"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"near","uid":"u"}}}`)
	kubelet("DELETE", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", "")
	kubelet("POST", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", `{"metadata":{"name":"reach-2"}}`)
	kubelet("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", `{"spec":{"namespace":"reach"}}`)
	return append(steps,
		as("system:node:", "GET", core+"/nodes", "", "system:nodes"),
		as("system:node:reach-9", "GET", ns+"/secrets/env", "", "system:nodes"),
		as("system:node:reach-1", "GET", ns+"/secrets/env", ""),
		asked("system:node:reach-1", `"system:nodes"`, `"resourceAttributes":{"namespace":"reach","verb":"get","resource":"secrets","name":"env"}`),
		asked("system:node:reach-1", `"system:nodes"`, `"resourceAttributes":{"namespace":"reach","verb":"get","resource":"secrets","name":"unheard"}`),
		asked("system:node:reach-1", `"system:nodes"`, `"resourceAttributes":{"verb":"create","group":"certificates.k8s.io","resource":"podcertificaterequests","namespace":"reach"}`),
		asked("system:node:reach-1", `"system:nodes"`, `"resourceAttributes":{"verb":"get","group":"certificates.k8s.io","resource":"podcertificaterequests","namespace":"reach","name":"x"}`),
		asked("system:node:reach-1", `"system:nodes"`, `"resourceAttributes":{"verb":"update","group":"resource.k8s.io","resource":"resourceslices","name":"x"}`),
		asked("system:node:reach-1", `"system:nodes"`, `"resourceAttributes":{"verb":"approve","group":"resource.k8s.io","resource":"resourceslices","name":"x"}`),
	)
}

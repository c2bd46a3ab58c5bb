package proof

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// machinery are the scripts of what is the same for every kind, or belongs to
// a few: paths, who may, namespaces, pods' subresources, services' addresses.
func machinery() []script {
	return []script{
		{"paths", paths()},
		{"pages", pages()},
		{"who may", whoMay()},
		{"refusals", refusals()},
		{"nodes and what is theirs", nodesReach()},
		{"secrets of accounts", accountSecrets()},
		{"questions", questions()},
		{"namespaces and their end", namespaceLives()},
		{"pods and what is beneath them", podLives()},
		{"evictions", evictions()},
		{"services and their addresses", serviceLives()},
		{"what comes first", order()},
		{"protobuf", protobufs()},
		{"merging", merging()},
		{"bodies", bodies()},
	}
}

func get(path string) step { return step{name: "get " + path, method: "GET", path: path} }

func post(path, body string) step {
	return step{name: fmt.Sprintf("post %s %.200s", path, body), method: "POST", path: path, body: body}
}

func paths() []step {
	var steps []step
	for _, p := range []string{
		"/api/v9", "/api/v1/unheards", "/api/v1/unheards/x", "/api/v1/namespaces/default/unheards", "/apis/unheard.example.com", "/apis/unheard.example.com/v1",
		"/apis/unheard.example.com/v1/things", "/apis/apps/v9", "/apis/apps/v9/deployments", "/apis/apps/v1/unheards", "/unheard", "/api/v1/namespaces/default/pods/a/b/c/d",
		"/api/v1/namespaces//pods", "/api/v1//pods", "//api/v1/pods", "/api/v1/namespaces/default/configmaps/..%2f..%2fsecrets", "/api/v1/namespaces/default/configmaps/a%00b",
		"/api/v1/namespaces/Bad_Name/configmaps", "/api/v1/namespaces/Bad_Name/configmaps/x", "/api/v1/namespaces/default/configmaps/" + strings.Repeat("n", 300), "/livez/ping", "/readyz/unheard", "/healthz/ping",
		"/apis/apps", "/api/v1/namespaces/default/configmaps?unheard=1", "/api/v1/namespaces/default/configmaps?limit=1&limit=2", "/api/v1/namespaces/default/configmaps/x?limit=z", "/api/v1/watch/unheards", "/%zz"[:1],
		"/.well-known/openid-configuration", "/openid/v1/jwks", "/openid/v1/jwks/", "/openid/v1/jwks/x", "/openid/v1", "/.well-known",
	} {
		steps = append(steps, get(p))
	}
	for _, m := range []string{"POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "FETCH"} {
		for _, p := range []string{"/api", "/apis", "/api/v1", "/apis/apps/v1", "/version", "/unheard", "/openid/v1/jwks", "/api/v1/namespaces/default/unheards", "/api/v1/namespaces/default/configmaps/x/unheard"} {
			steps = append(steps, step{name: m + " " + p, method: m, path: p})
		}
	}
	for _, accept := range []string{"application/json", "application/jwk-set+json", "application/*", "text/plain, */*;q=0.1", "text/plain;a=b"} {
		for _, p := range []string{"/.well-known/openid-configuration", "/openid/v1/jwks"} {
			steps = append(steps, step{name: "get " + p + " as " + accept, method: "GET", path: p, headers: [][2]string{{"Accept", accept}}})
		}
	}
	big := `{"metadata":{"name":"big"},"data":{"a":"` + strings.Repeat("x", 3<<20) + `"}}`
	large := `{"metadata":{"name":"large"},"data":{"a":"` + strings.Repeat("x", 1<<20+1) + `"}}`
	cms := "/api/v1/namespaces/default/configmaps"
	return append(steps,
		step{name: "more than a request may be", method: "POST", path: cms, body: big},
		step{name: "more than a config map may be", method: "POST", path: cms, body: large},
		step{name: "JSON too deep", method: "POST", path: cms, body: strings.Repeat(`{"a":`, 20000)},
		step{name: "no content type", method: "POST", path: cms + "?dryRun=All", body: `{"metadata":{"name":"x"}}`, headers: [][2]string{{"Content-Type", ""}}},
		step{name: "a content type with a character set", method: "POST", path: cms + "?dryRun=All", body: `{"metadata":{"name":"x"}}`, contentType: "application/json; charset=utf-8"},
		step{name: "protobuf that is none", method: "POST", path: cms, body: "k8s\x00\xff\xff", contentType: protoType},
		step{name: "protobuf without its beginning", method: "POST", path: cms, body: "abc", contentType: protoType},
		step{name: "YAML that is none", method: "POST", path: cms, body: "a: [", contentType: yamlType},
		step{name: "two YAML documents", method: "POST", path: cms + "?dryRun=All", body: "metadata: {name: x}\n---\nmetadata: {name: y}\n", contentType: yamlType},
		step{name: "YAML with a field twice", method: "POST", path: cms + "?dryRun=All&fieldValidation=Strict", body: "metadata: {name: x}\ndata: {a: b}\ndata: {a: c}\n", contentType: yamlType},
	)
}

// pages are lists in parts, and lists at a version.
func pages() []step {
	steps := []step{post("/api/v1/namespaces", `{"metadata":{"name":"pages"}}`)}
	cms := "/api/v1/namespaces/pages/configmaps"
	for i := range 7 {
		steps = append(steps, post(cms, fmt.Sprintf(`{"metadata":{"name":"m%d","labels":{"even":"%t"}}}`, i, i%2 == 0)))
	}
	list := func(q string) { steps = append(steps, get(cms+"?"+q)) }
	list("limit=3")
	list("limit=3&continue={continue}")
	list("limit=3&continue={continue}")
	list("limit=7")
	list("limit=8")
	list("limit=2&labelSelector=even%3Dtrue")
	list("limit=2&labelSelector=even%3Dtrue&continue={continue}")
	list("limit=2")
	list("continue={continue}")
	list("limit=1")
	list("limit=1&continue={continue}&resourceVersion={listrv}")
	list("limit=1")
	list("limit=1&continue={continue}&resourceVersion=0")
	list("limit=1")
	list("limit=1&continue={continue}&resourceVersionMatch=Exact")
	list("limit=1")
	steps = append(steps, step{name: "delete while a list is under way", method: "DELETE", path: cms + "/m1"})
	list("limit=2&continue={continue}")
	list("limit=0")
	list("limit=2&fieldSelector=metadata.name%3Dm3")
	list("limit=2&fieldSelector=" + url.QueryEscape("metadata.name!=m3"))
	// A revision that is not there yet is waited for, three seconds.
	list("resourceVersion=99999999")
	list("resourceVersion=99999999&resourceVersionMatch=Exact")
	steps = append(steps, get(cms+"/m0?resourceVersion=99999999"))
	for _, v := range []string{"0", "1", "{listrv}"} {
		for _, m := range []string{"", "Exact", "NotOlderThan"} {
			for _, l := range []string{"", "2"} {
				if v == "1" && m == "Exact" {
					continue // whether the first revision is compacted is the store's matter
				}
				list("resourceVersion=" + v + "&resourceVersionMatch=" + m + "&limit=" + l)
			}
		}
	}
	for _, q := range []string{
		"watch=true&timeoutSeconds=1&sendInitialEvents=true", "watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=Exact", "watch=true&timeoutSeconds=1&resourceVersionMatch=NotOlderThan",
		"watch=true&timeoutSeconds=1&resourceVersion=bad", "watch=true&timeoutSeconds=1&limit=x", "watch=true&timeoutSeconds=1&fieldSelector=spec.unheard%3Dx", "watch=true&timeoutSeconds=1&continue=x", "sendInitialEvents=false", "watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=bad",
		"watch=true&timeoutSeconds=1&resourceVersion={listrv}", "watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", "watch=true&timeoutSeconds=1&labelSelector=even%3Dtrue",
	} {
		list(q)
	}
	steps = append(steps,
		step{name: "watch as tables", method: "GET", path: cms + "?watch=true&timeoutSeconds=1", accept: tableType},
		step{name: "watch metadata", method: "GET", path: cms + "?watch=true&timeoutSeconds=1", accept: partialType},
		step{name: "watch in HTML", method: "GET", path: cms + "?watch=true&timeoutSeconds=1", accept: "text/html"},
		get("/api/v1/watch/namespaces/pages/configmaps?timeoutSeconds=1"),
		get("/api/v1/watch/namespaces/pages/configmaps/m2?timeoutSeconds=1"),
		get(cms+"/m2?watch=true&timeoutSeconds=1"))
	return steps
}

// whoMay are requests of users who may do little.
func whoMay() []step {
	steps := []step{
		post("/api/v1/namespaces", `{"metadata":{"name":"who"}}`),
		post("/apis/rbac.authorization.k8s.io/v1/namespaces/who/roles", `{"metadata":{"name":"reader"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list"]},{"apiGroups":[""],"resources":["secrets"],"resourceNames":["known"],"verbs":["get"]}]}`),
		post("/apis/rbac.authorization.k8s.io/v1/namespaces/who/rolebindings", `{"metadata":{"name":"reader"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"reader"},"subjects":[{"kind":"User","name":"jane"}]}`),
		post("/apis/rbac.authorization.k8s.io/v1/clusterroles", `{"metadata":{"name":"grants"},"rules":[{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles","rolebindings","clusterroles","clusterrolebindings"],"verbs":["*"]}]}`),
		post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", `{"metadata":{"name":"grants"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"grants"},"subjects":[{"kind":"User","name":"grantor"}]}`),
	}
	as := func(name, user, method, path, body string, more ...[2]string) {
		st := step{name: fmt.Sprintf("as %s: %s", user, or(name, method+" "+path)), method: method, path: path, body: body, headers: append([][2]string{{"Impersonate-User", user}}, more...)}
		if method == "PATCH" {
			st.contentType = mergeType
		}
		steps = append(steps, st)
	}
	cms := "/api/v1/namespaces/who/configmaps"
	as("until it may", "jane", "GET", cms, "")
	steps[len(steps)-1].until = http.StatusOK
	as("until it may", "grantor", "GET", "/apis/rbac.authorization.k8s.io/v1/namespaces/who/roles/reader", "")
	steps[len(steps)-1].until = http.StatusOK
	as("", "jane", "GET", cms+"/none", "")
	as("", "jane", "GET", "/api/v1/configmaps", "")
	as("", "jane", "GET", cms+"?watch=true", "")
	as("", "jane", "POST", cms, `{"metadata":{"name":"x"}}`)
	as("", "jane", "PUT", cms+"/x", `{"metadata":{"name":"x"}}`)
	as("", "jane", "PATCH", cms+"/x", `{}`)
	as("", "jane", "DELETE", cms+"/x", "")
	as("", "jane", "DELETE", cms, "")
	as("", "jane", "GET", "/api/v1/namespaces/who/secrets/known", "")
	as("", "jane", "GET", "/api/v1/namespaces/who/secrets/other", "")
	as("", "jane", "GET", "/api/v1/nodes", "")
	as("", "jane", "GET", "/api/v1/namespaces/who/pods/x/log", "")
	as("", "jane", "GET", "/apis/apps/v1/namespaces/who/deployments/x/scale", "")
	as("", "jane", "GET", "/apis/unheard.example.com/v1/things", "")
	as("", "jane", "GET", "/unheard", "")
	as("", "jane", "GET", "/metrics", "")
	as("", "jane", "GET", "/api/v1", "")
	as("", "jane", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", `{"spec":{"resourceAttributes":{"namespace":"who","verb":"get","resource":"configmaps"}}}`)
	as("a group", "joe", "GET", cms, "", [2]string{"Impersonate-Group", "system:masters"})
	as("an extra", "joe", "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", `{}`, [2]string{"Impersonate-Extra-Scopes", "view"}, [2]string{"Impersonate-Group", "dev"}, [2]string{"Impersonate-Uid", "00000000-0000-0000-0000-000000000042"})
	as("", "system:anonymous", "GET", cms, "")
	as("", "system:serviceaccount:who:default", "GET", cms, "")
	as("whoami", "system:serviceaccount:who:default", "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", `{}`)
	as("", "system:kube-scheduler", "GET", "/api/v1/nodes", "")
	as("", "system:kube-scheduler", "DELETE", "/api/v1/nodes/x", "")
	as("a group that may not be", "jane", "GET", cms, "", [2]string{"Impersonate-Group", ""})
	as("a role with more than he has", "grantor", "POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/who/roles", `{"metadata":{"name":"more"},"rules":[{"apiGroups":[""],"resources":["pods","secrets"],"verbs":["get","list"]}]}`)
	as("a binding to more than he has", "grantor", "POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/who/rolebindings", `{"metadata":{"name":"more"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},"subjects":[{"kind":"User","name":"grantor"}]}`)
	as("a role with more than he has, patched", "grantor", "PATCH", "/apis/rbac.authorization.k8s.io/v1/namespaces/who/roles/reader", `{"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}`)
	as("a label of a role", "grantor", "PATCH", "/apis/rbac.authorization.k8s.io/v1/namespaces/who/roles/reader", `{"metadata":{"labels":{"a":"b"}}}`)
	as("a role that he has", "grantor", "POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", `{"metadata":{"name":"same"},"rules":[{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"],"verbs":["get"]}]}`)
	as("a binding to a role that is not", "grantor", "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", `{"metadata":{"name":"none"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"unheard"},"subjects":[{"kind":"User","name":"x"}]}`)
	steps = append(steps,
		step{name: "a group without a user", method: "GET", path: cms, headers: [][2]string{{"Impersonate-Group", "x"}}},
		step{name: "a bad token", method: "GET", path: cms, headers: [][2]string{{"Authorization", "Bearer bad"}}},
		step{name: "no credentials", method: "GET", path: cms, headers: [][2]string{{"Authorization", ""}}},
		step{name: "no credentials, version", method: "GET", path: "/livez", headers: [][2]string{{"Authorization", ""}}},
		step{name: "credentials of another kind", method: "GET", path: cms, headers: [][2]string{{"Authorization", "Basic eDp5"}}})
	return steps
}

// questions are the kinds that are answered and not stored.
func questions() []step {
	const authn, authz = "/apis/authentication.k8s.io/v1/", "/apis/authorization.k8s.io/v1/"
	token := post("/api/v1/namespaces/asks/serviceaccounts/sa/token", `{"spec":{"expirationSeconds":600,"audiences":["a"]}}`)
	steps := []step{
		post("/api/v1/namespaces", `{"metadata":{"name":"asks"}}`),
		post("/api/v1/namespaces/asks/serviceaccounts", `{"metadata":{"name":"sa"}}`),
		token,
		post("/api/v1/namespaces/asks/serviceaccounts/sa/token", `{"spec":{}}`),
		post("/api/v1/namespaces/asks/serviceaccounts/sa/token", `{"spec":{"expirationSeconds":5}}`),
		post("/api/v1/namespaces/asks/serviceaccounts/sa/token", `{"spec":{"expirationSeconds":5000000000}}`),
		post("/api/v1/namespaces/asks/serviceaccounts/none/token", `{"spec":{}}`),
		post("/api/v1/namespaces/asks/serviceaccounts/sa/token", `{"metadata":{"name":"other"},"spec":{}}`),
		post("/api/v1/namespaces/asks/serviceaccounts/sa/token", `{"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"none"}}}`),
		post("/api/v1/namespaces/asks/serviceaccounts/sa/token", `{"spec":{"boundObjectRef":{"kind":"Chair","apiVersion":"v1","name":"none"}}}`),
		{name: "get tokens", method: "GET", path: "/api/v1/namespaces/asks/serviceaccounts/sa/token"},
		post(authn+"selfsubjectreviews", `{}`),
		post(authn+"selfsubjectreviews", `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`),
		post(authn+"selfsubjectreviews", `{"metadata":{"name":"x"}}`),
		post(authn+"tokenreviews", `{"spec":{"token":"bad"}}`),
		post(authn+"tokenreviews", `{"spec":{}}`),
		post(authn+"tokenreviews", `{"spec":{"token":"bad","audiences":["a"]}}`),
		post(authn+"tokenreviews", `{"metadata":{"namespace":"x"},"spec":{"token":"bad"}}`),
		{name: "list token reviews", method: "GET", path: authn + "tokenreviews"},
		{name: "get a token review", method: "GET", path: authn + "tokenreviews/x"},
		{name: "can I, as a table", method: "POST", path: authz + "selfsubjectaccessreviews", body: `{"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}`, accept: tableType},
		{name: "can I, in YAML", method: "POST", path: authz + "selfsubjectaccessreviews", body: `{"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}`, accept: yamlType},
		{name: "can I, strict", method: "POST", path: authz + "selfsubjectaccessreviews?fieldValidation=Strict", body: `{"spec":{"resourceAttributes":{"verb":"get","unheard":"pods"}}}`},
		{name: "can I, dry run", method: "POST", path: authz + "selfsubjectaccessreviews?dryRun=All", body: `{"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}`},
	}
	for _, spec := range []string{
		`{}`, `{"resourceAttributes":{"verb":"get","resource":"pods","namespace":"asks"}}`, `{"nonResourceAttributes":{"path":"/version","verb":"get"}}`,
		`{"resourceAttributes":{"verb":"get"},"nonResourceAttributes":{"path":"/version","verb":"get"}}`, `{"resourceAttributes":{"verb":"get","resource":"pods","fieldSelector":{"rawSelector":"a=b","requirements":[{"key":"a","operator":"In"}]}}}`,
		`{"resourceAttributes":{"verb":"list","resource":"pods","labelSelector":{"requirements":[{"key":"a","operator":"Near"}]}}}`,
	} {
		steps = append(steps, post(authz+"selfsubjectaccessreviews", `{"spec":`+spec+`}`))
		steps = append(steps, post(authz+"subjectaccessreviews", `{"spec":`+merge(spec, `{"user":"jane","groups":["dev"]}`)+`}`))
		steps = append(steps, post(authz+"namespaces/asks/localsubjectaccessreviews", `{"metadata":{"namespace":"asks"},"spec":`+merge(spec, `{"user":"jane"}`)+`}`))
	}
	return append(steps,
		post(authz+"subjectaccessreviews", `{"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}`),
		post(authz+"subjectaccessreviews", `{"spec":{"user":"system:kube-scheduler","resourceAttributes":{"verb":"create","resource":"pods","subresource":"binding","namespace":"asks"}}}`),
		post(authz+"subjectaccessreviews", `{"spec":{"groups":["system:masters"],"resourceAttributes":{"verb":"create","resource":"pods"}}}`),
		post(authz+"namespaces/asks/localsubjectaccessreviews", `{"metadata":{"namespace":"default"},"spec":{"user":"jane","resourceAttributes":{"namespace":"asks","verb":"get","resource":"pods"}}}`),
		post(authz+"namespaces/asks/localsubjectaccessreviews", `{"spec":{"user":"jane","resourceAttributes":{"namespace":"default","verb":"get","resource":"pods"}}}`),
		post(authz+"namespaces/asks/localsubjectaccessreviews", `{"spec":{"user":"jane","nonResourceAttributes":{"path":"/a","verb":"get"}}}`),
		post(authz+"selfsubjectrulesreviews", `{"spec":{"namespace":"asks"}}`),
		post(authz+"selfsubjectrulesreviews", `{"spec":{}}`),
		step{name: "what may jane", method: "POST", path: authz + "selfsubjectrulesreviews", body: `{"spec":{"namespace":"who"}}`, headers: [][2]string{{"Impersonate-User", "jane"}}},
	)
}

package proof

import (
	"fmt"
	"net/http"
)

// namespaceLives are namespaces that are protected, end, and are filled while
// they end.
func namespaceLives() []step {
	del := func(path string) step { return step{name: "delete " + path, method: "DELETE", path: path} }
	finalize := func(name, body string) step {
		return step{name: "finalize " + name, method: "PUT", path: "/api/v1/namespaces/ending/finalize", body: body}
	}
	return []step{
		del("/api/v1/namespaces/default"),
		del("/api/v1/namespaces/kube-system"),
		del("/api/v1/namespaces/kube-public"),
		del("/api/v1/namespaces/unheard"),
		post("/api/v1/namespaces", `{"metadata":{"name":"ending"}}`),
		post("/api/v1/namespaces/ending/configmaps", `{"metadata":{"name":"in"}}`),
		del("/api/v1/namespaces/ending"),
		get("/api/v1/namespaces/ending"),
		{name: "ending, as a table", method: "GET", path: "/api/v1/namespaces/ending", accept: tableType},
		del("/api/v1/namespaces/ending"),
		post("/api/v1/namespaces/ending/configmaps", `{"metadata":{"name":"late"}}`),
		post("/api/v1/namespaces/ending/serviceaccounts", `{"metadata":{"name":"late"}}`),
		post("/apis/rbac.authorization.k8s.io/v1/namespaces/ending/roles", `{"metadata":{"name":"late"}}`),
		{name: "change in what ends", method: "PATCH", path: "/api/v1/namespaces/ending/configmaps/in", contentType: mergeType, body: `{"data":{"a":"b"}}`},
		{name: "apply in what ends", method: "PATCH", path: "/api/v1/namespaces/ending/configmaps/late?fieldManager=a", contentType: applyType, body: `{"apiVersion":"v1","kind":"ConfigMap"}`},
		del("/api/v1/namespaces/ending/configmaps/in"),
		finalize("with another name", `{"metadata":{"name":"other"},"spec":{"finalizers":[]}}`),
		finalize("of an old version", `{"metadata":{"name":"ending","resourceVersion":"1"},"spec":{"finalizers":[]}}`),
		finalize("with more", `{"metadata":{"name":"ending"},"spec":{"finalizers":["kubernetes","example.com/more"]}}`),
		finalize("with a bad one", `{"metadata":{"name":"ending"},"spec":{"finalizers":["bad"]}}`),
		finalize("all", `{"metadata":{"name":"ending"},"spec":{"finalizers":[]}}`),
		get("/api/v1/namespaces/ending"),
		{name: "create in what has ended", method: "POST", path: "/api/v1/namespaces/ending/configmaps", body: `{"metadata":{"name":"late"}}`, until: http.StatusNotFound},
		{name: "get finalize", method: "GET", path: "/api/v1/namespaces/default/finalize"},
		{name: "patch finalize", method: "PATCH", path: "/api/v1/namespaces/default/finalize", contentType: mergeType, body: `{}`},
	}
}

func podLives() []step {
	const ns = "/api/v1/namespaces/lives"
	pod := func(name, more string) string {
		return merge(fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x:1"}]}}`, name), more)
	}
	sub := func(name, method, path, body string) step {
		st := step{name: name, method: method, path: ns + path, body: body}
		if method == "PATCH" {
			st.contentType = smpType
		}
		return st
	}
	return []step{
		post("/api/v1/namespaces", `{"metadata":{"name":"lives"}}`),
		post(ns+"/pods", pod("early", `{}`)),
		post(ns+"/serviceaccounts", `{"metadata":{"name":"default"},"imagePullSecrets":[{"name":"pull"}]}`),
		post(ns+"/pods", pod("p", `{}`)),
		post(ns+"/pods", pod("q", `{"spec":{"nodeName":"somewhere"}}`)),
		post(ns+"/pods", pod("gated", `{"spec":{"schedulingGates":[{"name":"example.com/g"}]}}`)),
		post(ns+"/pods", pod("critical", `{"spec":{"priorityClassName":"system-cluster-critical"}}`)),
		post(ns+"/pods", pod("mirror", `{"metadata":{"annotations":{"kubernetes.io/config.mirror":"x"}}}`)),
		post(ns+"/pods", pod("init", `{"spec":{"initContainers":[{"name":"i","image":"y","restartPolicy":"Always"}],"volumes":[{"name":"e","emptyDir":{}}]}}`)),
		post(ns+"/pods", pod("node-reader", `{"spec":{"hostNetwork":true,"containers":[{"name":"c","image":"x","ports":[{"containerPort":80}]}]}}`)),
		sub("as a table, wide", "GET", "/pods?includeObject=None", ""),
		sub("bind of another UID", "POST", "/pods/p/binding", `{"metadata":{"name":"p","uid":"00000000-0000-0000-0000-000000000001"},"target":{"kind":"Node","name":"here"}}`),
		sub("bind of an old version", "POST", "/pods/p/binding", `{"metadata":{"name":"p","resourceVersion":"1"},"target":{"kind":"Node","name":"here"}}`),
		sub("bind", "POST", "/pods/p/binding", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"apiVersion":"v1","kind":"Node","name":"here"}}`),
		sub("bind again", "POST", "/pods/p/binding", `{"metadata":{"name":"p"},"target":{"kind":"Node","name":"there"}}`),
		sub("bind what is gated", "POST", "/pods/gated/binding", `{"metadata":{"name":"gated"},"target":{"kind":"Node","name":"there"}}`),
		sub("bind to no node", "POST", "/pods/critical/binding", `{"metadata":{"name":"critical"},"target":{"kind":"Pod","name":""}}`),
		sub("bind what is not", "POST", "/pods/none/binding", `{"metadata":{"name":"none"},"target":{"kind":"Node","name":"here"}}`),
		sub("bind another name", "POST", "/pods/critical/binding", `{"metadata":{"name":"p"},"target":{"kind":"Node","name":"here"}}`),
		sub("bind, dry run", "POST", "/pods/critical/binding?dryRun=All", `{"metadata":{"name":"critical"},"target":{"kind":"Node","name":"here"}}`),
		sub("bind through the collection", "POST", "/bindings", `{"metadata":{"name":"critical"},"target":{"kind":"Node","name":"here"}}`),
		sub("get a binding", "GET", "/pods/p/binding", ""),
		sub("get what is bound", "GET", "/pods/p", ""),
		sub("get ephemeral containers", "GET", "/pods/p/ephemeralcontainers", ""),
		sub("add an ephemeral container", "PATCH", "/pods/p/ephemeralcontainers", `{"spec":{"ephemeralContainers":[{"name":"d","image":"busybox"}]}}`),
		sub("change an ephemeral container", "PATCH", "/pods/p/ephemeralcontainers", `{"spec":{"ephemeralContainers":[{"name":"d","image":"other"}]}}`),
		sub("add a bad ephemeral container", "PATCH", "/pods/p/ephemeralcontainers", `{"spec":{"ephemeralContainers":[{"name":"c","image":"busybox","ports":[{"containerPort":80}]}]}}`),
		sub("get resize", "GET", "/pods/p/resize", ""),
		sub("resize", "PATCH", "/pods/p/resize", `{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"100m"}}}]}}`),
		sub("resize what is not resources", "PATCH", "/pods/p/resize", `{"spec":{"containers":[{"name":"c","image":"z"}]}}`),
		sub("evict, dry run", "POST", "/pods/p/eviction", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"},"deleteOptions":{"dryRun":["All"]}}`),
		sub("evict what is not", "POST", "/pods/none/eviction", `{"metadata":{"name":"none"}}`),
		sub("evict another name", "POST", "/pods/p/eviction", `{"metadata":{"name":"q"}}`),
		sub("evict of another UID", "POST", "/pods/p/eviction", `{"metadata":{"name":"p"},"deleteOptions":{"preconditions":{"uid":"00000000-0000-0000-0000-000000000001"}}}`),
		sub("evict what is not scheduled", "POST", "/pods/critical/eviction", `{"metadata":{"name":"critical"}}`),
		sub("get an eviction", "GET", "/pods/p/eviction", ""),
		sub("run", "PATCH", "/pods/p/status", `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],"podIP":"10.244.0.9","podIPs":[{"ip":"10.244.0.9"}]}}`),
		sub("delete with grace", "DELETE", "/pods/p?gracePeriodSeconds=20", ""),
		sub("get what is on its way", "GET", "/pods/p", ""),
		sub("delete with more grace", "DELETE", "/pods/p?gracePeriodSeconds=40", ""),
		sub("delete with less grace", "DELETE", "/pods/p?gracePeriodSeconds=10", ""),
		sub("delete without grace", "DELETE", "/pods/p?gracePeriodSeconds=0", ""),
		sub("get what is gone", "GET", "/pods/p", ""),
		sub("delete what is bound but never ran", "DELETE", "/pods/q", ""),
		sub("delete what is not bound", "DELETE", "/pods/gated", ""),
		sub("delete the rest", "DELETE", "/pods?gracePeriodSeconds=0", ""),
	}
}

func serviceLives() []step {
	const ns = "/api/v1/namespaces/served"
	svc := func(name, spec string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q},"spec":%s}`, name, merge(`{"ports":[{"port":80}],"selector":{"a":"b"}}`, spec))
	}
	put := func(name, to, body string) step {
		return step{name: name, method: "PUT", path: ns + "/services/" + to, body: body}
	}
	return []step{
		get("/api/v1/namespaces/default/services/kubernetes"),
		post("/api/v1/namespaces", `{"metadata":{"name":"served"}}`),
		post(ns+"/services", svc("fixed", `{"clusterIP":"10.96.5.5"}`)),
		post(ns+"/services", svc("again", `{"clusterIP":"10.96.5.5"}`)),
		post(ns+"/services", svc("again", `{"type":"NodePort","clusterIP":"10.96.5.5"}`)),
		post(ns+"/services", svc("port", `{"type":"NodePort","ports":[{"port":80,"nodePort":31555}]}`)),
		post(ns+"/services", svc("port2", `{"type":"NodePort","ports":[{"port":80,"nodePort":31555}]}`)),
		post(ns+"/services", svc("two", `{"type":"NodePort","ports":[{"name":"t","port":80,"nodePort":31556},{"name":"u","protocol":"UDP","port":80,"nodePort":31556}]}`)),
		post(ns+"/services", svc("headless", `{"clusterIP":"None"}`)),
		post(ns+"/services", svc("headless-bare", `{"clusterIP":"None","ports":null}`)),
		post(ns+"/services", svc("name", `{"type":"ExternalName","externalName":"a.example.com","ports":null,"selector":null}`)),
		post(ns+"/services", svc("balanced", `{"type":"LoadBalancer","externalTrafficPolicy":"Local"}`)),
		post(ns+"/services", svc("edge", `{"clusterIP":"10.96.0.0"}`)),
		post(ns+"/services", svc("edge", `{"clusterIP":"10.96.255.255"}`)),
		post(ns+"/services", svc("edge", `{"clusterIP":"10.97.0.1"}`)),
		{name: "as a table", method: "GET", path: ns + "/services/port", accept: tableType},
		get(ns + "/services/fixed"),
		put("keep the address", "fixed", svc("fixed", `{}`)),
		put("take the address away", "fixed", svc("fixed", `{"clusterIP":"None"}`)),
		put("to a node port", "fixed", svc("fixed", `{"type":"NodePort"}`)),
		put("and back", "fixed", svc("fixed", `{}`)),
		put("to a name outside", "fixed", svc("fixed", `{"type":"ExternalName","externalName":"b.example.com","clusterIP":""}`)),
		put("and inside again", "fixed", svc("fixed", `{"type":"ClusterIP"}`)),
		put("create by update", "made", svc("made", `{}`)),
		{name: "delete one", method: "DELETE", path: ns + "/services/port"},
		post(ns+"/services", svc("port2", `{"type":"NodePort","ports":[{"port":80,"nodePort":31555}]}`)),
		{name: "delete all", method: "DELETE", path: ns + "/services"},
		get(ns + "/services/port2/proxy/"),
	}
}

// protobufs are answers in protobuf of what is not one object.
func protobufs() []step {
	const cms = "/api/v1/namespaces/default/configmaps"
	in := func(name, method, path, body string) step {
		return step{name: name, method: method, path: path, body: body, accept: protoType}
	}
	return []step{
		in("not found", "GET", cms+"/none", ""),
		in("no such kind", "GET", "/api/v1/unheards", ""),
		in("invalid", "POST", cms, `{"metadata":{"name":"Bad_Name"}}`),
		in("an object", "POST", cms, `{"metadata":{"name":"in-protobuf"}}`),
		in("a patch", "PATCH", cms+"/in-protobuf", ``),
		in("a deletion", "DELETE", cms+"/in-protobuf", ``),
		{name: "a table in protobuf", method: "GET", path: cms, accept: protoType + ";as=Table;v=v1;g=meta.k8s.io"},
		{name: "metadata in protobuf", method: "GET", path: cms, accept: protoType + ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"},
		{name: "a table of v1beta1", method: "GET", path: cms, accept: "application/json;as=Table;v=v1beta1;g=meta.k8s.io"},
		{name: "metadata of v1beta1", method: "GET", path: cms, accept: "application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io"},
		{name: "what can be first", method: "GET", path: cms, accept: "text/html;q=0.9,application/yaml;q=0.8,application/json;q=0.1"},
		{name: "CBOR", method: "GET", path: cms, accept: "application/cbor"},
		{name: "anything of an application", method: "GET", path: cms, accept: "application/*"},
		{name: "a broken wish", method: "GET", path: cms, accept: "application/json;;="},
	}
}

// merging is what the kinds of patches do to lists.
func merging() []step {
	const path = "/apis/apps/v1/namespaces/merging/deployments"
	patch := func(name, contentType, body string) step {
		q := ""
		if contentType == applyType {
			q = "?fieldManager=" + name[:1]
		}
		return step{name: name + ": " + body, method: "PATCH", path: path + "/d" + q, contentType: contentType, body: body}
	}
	apply := func(name, spec string) step {
		return patch(name, applyType, fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","spec":%s}`, spec))
	}
	const full = `{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x:1"},{"name":"d","image":"y:1"}]}}}`
	return []step{
		post("/api/v1/namespaces", `{"metadata":{"name":"merging"}}`),
		post(path, `{"metadata":{"name":"d"},"spec":`+full+`}`),
		patch("s an image", smpType, `{"spec":{"template":{"spec":{"containers":[{"name":"d","image":"y:2"}]}}}}`),
		patch("s an order", smpType, `{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"d"},{"name":"c"}],"containers":[{"name":"c","image":"x:2"}]}}}}`),
		patch("s a deletion", smpType, `{"spec":{"template":{"spec":{"containers":[{"name":"d","$patch":"delete"}]}}}}`),
		patch("s without the key", smpType, `{"spec":{"template":{"spec":{"containers":[{"image":"z"}]}}}}`),
		patch("s a replacement", smpType, `{"spec":{"template":{"spec":{"containers":[{"$patch":"replace"},{"name":"e","image":"z"}]}}}}`),
		patch("s of keys kept", smpType, `{"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}}`),
		patch("s of a primitive list", smpType, `{"metadata":{"$deleteFromPrimitiveList/finalizers":["a/b"]}}`),
		patch("m a list", mergeType, `{"spec":{"template":{"spec":{"containers":[{"name":"f","image":"z"}]}}}}`),
		patch("m a null", mergeType, `{"spec":{"strategy":null}}`),
		patch("m what may not be null", mergeType, `{"spec":{"template":{"spec":{"containers":null}}}}`),
		patch("j several", jsonType, `[{"op":"test","path":"/spec/replicas","value":1},{"op":"replace","path":"/spec/replicas","value":2},{"op":"copy","from":"/spec/replicas","path":"/spec/minReadySeconds"},{"op":"add","path":"/spec/template/spec/containers/-","value":{"name":"g","image":"z"}}]`),
		patch("j a move", jsonType, `[{"op":"move","from":"/spec/template/spec/containers/1","path":"/spec/template/spec/containers/0"}]`),
		patch("j out of range", jsonType, `[{"op":"remove","path":"/spec/template/spec/containers/9"}]`),
		patch("j the whole", jsonType, `[{"op":"replace","path":"","value":{}}]`),
		apply("a part", `{"replicas":5}`),
		apply("b part", `{"replicas":6}`),
		apply("a container", `{"template":{"spec":{"containers":[{"name":"h","image":"z"}]}}}`),
		apply("a less", `{"minReadySeconds":3}`),
		apply("a wrong type", `{"replicas":"many"}`),
		apply("a key missing", `{"template":{"spec":{"containers":[{"image":"z"}]}}}`),
		apply("a key twice", `{"template":{"spec":{"containers":[{"name":"i","image":"z"},{"name":"i","image":"y"}]}}}`),
		apply("a null", `{"replicas":null}`),
		{name: "managed fields away", method: "PATCH", path: path + "/d", contentType: mergeType, body: `{"metadata":{"managedFields":[{}]}}`},
		get(path + "/d"),
		apply("a anew", `{"replicas":7}`),
		{name: "managed fields, bad", method: "PATCH", path: path + "/d", contentType: mergeType, body: `{"metadata":{"managedFields":[{"manager":"x","operation":"Update","apiVersion":"apps/v1","fieldsType":"Other"}]}}`},
	}
}

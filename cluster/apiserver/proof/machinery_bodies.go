package proof

import (
	"bytes"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// inProtobuf is a JSON object in protobuf, as kubelets and controllers send theirs.
func inProtobuf(doc string) string {
	obj, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode([]byte(doc), nil, nil)
	if err != nil {
		panic(fmt.Sprintf("%v: %s", err, doc))
	}
	info, _ := runtime.SerializerInfoForMediaType(legacyscheme.Codecs.SupportedMediaTypes(), protoType)
	var b bytes.Buffer
	if err := info.Serializer.Encode(obj, &b); err != nil {
		panic(fmt.Sprintf("%v: %s", err, doc))
	}
	return b.String()
}

// bodies are what can be sent beside JSON, and options of deletions.
func bodies() []step {
	const ns, cms, deps = "bodies", "/api/v1/namespaces/bodies/configmaps", "/apis/apps/v1/namespaces/bodies/deployments"
	cm := func(name, more string) string {
		return with(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q}}`, name), more)
	}
	dep := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x:1"}]}}}}`
	send := func(name, method, path, contentType, body string) step {
		return step{name: name, method: method, path: path, contentType: contentType, body: body}
	}
	const wrong = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, strange: 1}\nunheard: 1\n"
	steps := []step{
		post("/api/v1/namespaces", fmt.Sprintf(`{"metadata":{"name":%q}}`, ns)),
		send("create in protobuf", "POST", cms, protoType, inProtobuf(cm("p", `{"data":{"a":"b"}}`))),
		send("create again in protobuf", "POST", cms, protoType, inProtobuf(cm("p", `{}`))),
		send("create a bad one in protobuf", "POST", cms, protoType, inProtobuf(cm("Bad_Name", `{}`))),
		send("create a Deployment in protobuf", "POST", deps, protoType, inProtobuf(dep)),
		send("create another kind in protobuf", "POST", deps, protoType, inProtobuf(cm("x", `{}`))),
		send("update in protobuf", "PUT", cms+"/p", protoType, inProtobuf(cm("p", `{"data":{"a":"c"}}`))),
		send("update of another name in protobuf", "PUT", cms+"/p", protoType, inProtobuf(cm("q", `{}`))),
		send("update in YAML", "PUT", cms+"/p", yamlType, "metadata: {name: p}\ndata: {a: d}\n"),
		send("update in broken YAML", "PUT", cms+"/p", yamlType, "metadata: [\n"),
		send("wrong YAML, strict", "POST", cms+"?dryRun=All&fieldValidation=Strict", yamlType, wrong),
		send("wrong YAML, warn", "POST", cms+"?dryRun=All&fieldValidation=Warn", yamlType, wrong),
		send("wrong YAML, ignore", "POST", cms+"?dryRun=All&fieldValidation=Ignore", yamlType, wrong),
		send("apply in JSON", "PATCH", cms+"/applied?fieldManager=a", applyType, cm("applied", `{"data":{"a":"b"}}`)),
		send("apply a field twice, warn", "PATCH", cms+"/applied?fieldManager=a&fieldValidation=Warn", applyType, "apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\ndata: {a: c}\n"),
		send("apply a field twice, strict", "PATCH", cms+"/applied?fieldManager=a&fieldValidation=Strict", applyType, "apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\ndata: {a: c}\n"),
		send("apply in CBOR", "PATCH", cms+"/applied?fieldManager=a", "application/apply-patch+cbor", "x"),
		send("strategic of a list", "PATCH", cms+"/p", smpType, `[]`),
		send("a patch of nothing", "PATCH", cms+"/p", mergeType, ``),
		send("delete options in YAML", "DELETE", cms+"/p", yamlType, "dryRun: [All]\n"),
		send("delete options of a group", "DELETE", cms+"/p", "", `{"kind":"DeleteOptions","apiVersion":"apps/v1","dryRun":["All"]}`),
		send("delete of a UID and another version", "DELETE", cms+"/p", "", `{"preconditions":{"uid":"{uid}","resourceVersion":"1"}}`),
		send("delete a collection in the foreground", "DELETE", cms+"?fieldSelector=metadata.name%3Dapplied", "", `{"propagationPolicy":"Foreground"}`),
		send("get what is deleted with a collection in the foreground", "GET", cms+"/applied", "", ""),
		send("delete a collection with two policies", "DELETE", cms, "", `{"propagationPolicy":"Orphan","orphanDependents":false}`),
		send("delete a collection by a broken selector", "DELETE", cms+"?fieldSelector=x", "", ""),
		send("delete a collection with a limit", "DELETE", cms+"?limit=x", "", ""),
	}
	return append(steps, send("delete what is left", "DELETE", cms, "", ""), send("list what is left", "GET", cms, "", ""))
}

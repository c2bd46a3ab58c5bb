package proof

import (
	"fmt"
	"net/url"
	"strings"
)

const (
	tableType    = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	partialType  = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
	partialsType = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
	yamlType     = "application/yaml"
	protoType    = "application/vnd.kubernetes.protobuf"
	mergeType    = "application/merge-patch+json"
	smpType      = "application/strategic-merge-patch+json"
	jsonType     = "application/json-patch+json"
	applyType    = "application/apply-patch+yaml"
)

// script is the general cases of a kind and those of its sample.
func (k *kind) script() script {
	s := script{name: k.gvr.GroupResource().String()}
	if k.namespaced {
		s.steps = append(s.steps,
			step{name: "make the namespace", method: "POST", path: "/api/v1/namespaces", body: fmt.Sprintf(`{"metadata":{"name":%q}}`, k.ns())},
			step{name: "make its service account", method: "POST", path: "/api/v1/namespaces/" + k.ns() + "/serviceaccounts", body: `{"metadata":{"name":"default"}}`})
	}
	for _, part := range [][]step{k.creates(), k.badCreates(), k.reads(), k.updates(), k.patches(), k.changes(), k.applies(), k.subresources(), k.lists(), k.deletes(), k.verbsNot()} {
		s.steps = append(s.steps, part...)
	}
	return s
}

func (k *kind) creates() []step {
	c, one := k.within(k.ns()), k.names()[0]
	o := k.object(one)
	post := func(name, query, body string) step {
		return step{name: "create " + name, method: "POST", path: c + query, body: body}
	}
	steps := []step{
		{name: "list none", method: "GET", path: c},
		{name: "list none as a table", method: "GET", path: c, accept: tableType},
		post("dry run", "?dryRun=All", o),
		{name: "get after a dry run", method: "GET", path: k.path(one)},
		post("with a generated name, dry run", "?dryRun=All", with(k.object(one), `{"metadata":{"name":null,"generateName":"made-"}}`)),
		{name: "create of YAML, dry run", method: "POST", path: c + "?dryRun=All", body: toYAML(o), contentType: yamlType},
		{name: "create answered in YAML, dry run", method: "POST", path: c + "?dryRun=All", body: o, accept: yamlType},
		{name: "create answered as a table, dry run", method: "POST", path: c + "?dryRun=All", body: o, accept: tableType},
		post("as a manager of that name, dry run", "?dryRun=All&fieldManager=tester", o),
		post("with what the server sets, dry run", "?dryRun=All", with(o, `{"metadata":{"uid":"00000000-0000-0000-0000-000000000001","creationTimestamp":"2020-01-01T00:00:00Z","generation":7,"selfLink":"/x","deletionTimestamp":"2020-01-01T00:00:00Z","deletionGracePeriodSeconds":5}}`)),
		post("", "", o),
		post("again", "", o),
		post("again, dry run", "?dryRun=All", o),
	}
	if k.namespaced {
		steps = append(steps,
			post("with its namespace in the body, dry run", "?dryRun=All", with(k.object(k.names()[1]), fmt.Sprintf(`{"metadata":{"namespace":%q}}`, k.ns()))),
			post("with another namespace in the body", "", with(k.object(k.names()[1]), `{"metadata":{"namespace":"default"}}`)),
			step{name: "create in no namespace", method: "POST", path: k.all(), body: o},
			step{name: "create in a namespace that is not", method: "POST", path: k.within("nowhere"), body: o},
			step{name: "list in a namespace that is not", method: "GET", path: k.within("nowhere")})
	} else {
		steps = append(steps, post("with a namespace in the body, dry run", "?dryRun=All", with(k.object(k.names()[1]), `{"metadata":{"namespace":"default"}}`)))
	}
	return steps
}

func (k *kind) badCreates() []step {
	c := k.within(k.ns())
	o := k.object(k.names()[1])
	post := func(name, query, body string) step {
		return step{name: "create " + name, method: "POST", path: c + query, body: body}
	}
	unknown := with(o, `{"unheardOf":1,"metadata":{"strange":true}}`)
	twice := strings.TrimSuffix(o, "}") + `,"kind":"` + k.kind + `"}`
	steps := []step{
		post("with an unknown field, strict", "?dryRun=All&fieldValidation=Strict", unknown),
		post("with an unknown field, warn", "?dryRun=All&fieldValidation=Warn", unknown),
		post("with an unknown field, ignore", "?dryRun=All&fieldValidation=Ignore", unknown),
		post("with an unknown field, by default", "?dryRun=All", unknown),
		post("with a field twice, strict", "?dryRun=All&fieldValidation=Strict", twice),
		post("with a field twice, warn", "?dryRun=All&fieldValidation=Warn", twice),
		post("with a validation that is none", "?fieldValidation=Hard", o),
		post("with a dry run that is none", "?dryRun=Some", o),
		post("with a manager that is none", "?fieldManager="+strings.Repeat("m", 129), o),
		{name: "create of text", method: "POST", path: c, body: o, contentType: "text/plain"},
		{name: "create of a content type that is none", method: "POST", path: c, body: o, contentType: ";"},
		{name: "create answered in HTML", method: "POST", path: c + "?dryRun=All", body: o, accept: "text/html"},
		post("of broken JSON", "", `{"apiVersion":`),
		post("of a list", "", `[]`),
		post("of a string where an object is", "", with(o, `{"metadata":"x"}`)),
		post("of nothing", "", ""),
		post("of an empty object", "", `{}`),
		post("of another kind", "", with(o, `{"kind":"Unheard"}`)),
		post("of a known other kind", "", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"x"},"target":{"name":"x"}}`),
		post("of another version", "", with(o, `{"apiVersion":"example.com/v1"}`)),
		post("without kind and version, dry run", "?dryRun=All", with(o, `{"kind":null,"apiVersion":null}`)),
		post("without a name", "", with(o, `{"metadata":{"name":null}}`)),
		post("with capitals in the name", "", with(o, `{"metadata":{"name":"Bad_Name"}}`)),
		post("with a slash in the name", "", with(o, `{"metadata":{"name":"a/b"}}`)),
		post("with a name of two dots", "", with(o, `{"metadata":{"name":".."}}`)),
		post("with a percent in the name", "", with(o, `{"metadata":{"name":"a%b"}}`)),
		post("with a long name", "", with(o, `{"metadata":{"name":"`+strings.Repeat("n", 260)+`"}}`)),
		post("with a bad generated name", "", with(o, `{"metadata":{"name":null,"generateName":"Bad_z"}}`)),
		post("with a resource version", "", with(o, `{"metadata":{"resourceVersion":"5"}}`)),
		post("with a bad label", "", with(o, `{"metadata":{"labels":{"a b":"c"}}}`)), // one fault each: a map's order is Go's
		post("with a bad label's value", "", with(o, `{"metadata":{"labels":{"a":"c d"}}}`)),
		post("with a long label", "", with(o, `{"metadata":{"labels":{"a":"`+strings.Repeat("v", 64)+`"}}}`)),
		post("with a bad annotation", "", with(o, `{"metadata":{"annotations":{"a b":"c"}}}`)),
		post("with a bad owner", "", with(o, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"","name":"","uid":""}]}}`)),
		post("with two controllers", "", with(o, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"A","name":"a","uid":"1","controller":true},{"apiVersion":"v1","kind":"B","name":"b","uid":"2","controller":true}]}}`)),
		post("owned by an event", "", with(o, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Event","name":"a","uid":"1"}]}}`)),
		post("with a bad finalizer", "", with(o, `{"metadata":{"finalizers":["Bad Finalizer"]}}`)),
		post("with a finalizer that nobody knows, dry run", "?dryRun=All", with(o, `{"metadata":{"finalizers":["plain"]}}`)),
		post("with a generation below 0", "?dryRun=All", with(o, `{"metadata":{"generation":-1}}`)),
		post("with managed fields, dry run", "?dryRun=All", with(o, `{"metadata":{"managedFields":[{"manager":"x","operation":"Update","apiVersion":"v1","time":"2020-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{}}}}]}}`)),
		post("with bad managed fields", "?dryRun=All", with(o, `{"metadata":{"managedFields":[{"manager":"x","operation":"Bad","fieldsType":"V0"}]}}`)),
	}
	for i, w := range k.Wrong {
		steps = append(steps, post(fmt.Sprintf("wrongly %d: %s", i+1, marshal(w)), "?dryRun=All", k.object(k.names()[1], w)))
	}
	return steps
}

func toYAML(doc string) string {
	b, err := yamlOf(doc)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (k *kind) reads() []step {
	one := k.path(k.names()[0])
	get := func(name, path, accept string) step {
		return step{name: "get " + name, method: "GET", path: path, accept: accept}
	}
	return []step{
		get("it", one, ""),
		get("it pretty", one+"?pretty=true", ""),
		get("as a table", one, tableType),
		get("as a table without object", one+"?includeObject=None", tableType),
		get("as a table with object", one+"?includeObject=Object", tableType),
		get("as a table with what is none", one+"?includeObject=Some", tableType),
		get("its metadata", one, partialType),
		get("as a list of metadata", one, partialsType),
		get("in YAML", one, yamlType),
		get("in protobuf", one, protoType),
		get("in HTML", one, "text/html"),
		get("in HTML or anything", one, "text/html,*/*"),
		get("as what is none", one, "application/json;as=Chair;v=v1;g=meta.k8s.io"),
		get("at no version", one+"?resourceVersion=bad", ""),
		get("at version 0", one+"?resourceVersion=0", ""),
		get("what is not", k.within(k.ns())+"/nothing", ""),
		get("what is not as a table", k.within(k.ns())+"/nothing", tableType),
		get("a bad name", k.within(k.ns())+"/Bad_Name", ""),
		get("an unknown subresource", one+"/unheard", ""),
	}
}

func (k *kind) updates() []step {
	one, o := k.path(k.names()[0]), k.object(k.names()[0])
	get := step{name: "get before an update", method: "GET", path: one}
	put := func(name, query, body string) step {
		return step{name: "update " + name, method: "PUT", path: one + query, body: body}
	}
	current := with(o, `{"metadata":{"resourceVersion":"{rv}","labels":{"updated":"yes"}}}`)
	return []step{
		get,
		put("dry run", "?dryRun=All", current),
		put("", "", current),
		put("of an old version", "", with(o, `{"metadata":{"resourceVersion":"1"}}`)),
		put("of a bad version", "", with(o, `{"metadata":{"resourceVersion":"bad"}}`)),
		put("of any version", "", with(o, `{"metadata":{"labels":{"updated":"again"}}}`)),
		put("to what it is", "", with(o, `{"metadata":{"labels":{"updated":"again"}}}`)),
		put("of another UID", "", with(o, `{"metadata":{"uid":"00000000-0000-0000-0000-000000000001"}}`)),
		put("of another UID and an old version, dry run", "?dryRun=All", with(o, `{"metadata":{"uid":"00000000-0000-0000-0000-000000000001","resourceVersion":"1"}}`)),
		put("of another name", "", with(o, `{"metadata":{"name":"other"}}`)),
		put("without a name", "", with(o, `{"metadata":{"name":null}}`)),
		put("of another kind", "", with(o, `{"kind":"Unheard"}`)),
		put("of broken JSON", "", `{`),
		put("with a bad label", "", with(o, `{"metadata":{"labels":{"a b":"c"}}}`)),
		put("with an unknown field, strict", "?fieldValidation=Strict", with(o, `{"unheardOf":1}`)),
		put("with an unknown field, warn, dry run", "?fieldValidation=Warn&dryRun=All", with(o, `{"unheardOf":1,"metadata":{"labels":{"updated":"again"}}}`)),
		put("with another time of creation, dry run", "?dryRun=All", with(o, `{"metadata":{"creationTimestamp":"2020-01-01T00:00:00Z","generation":9}}`)),
		put("with another namespace", "", with(o, `{"metadata":{"namespace":"kube-public"}}`)),
		{name: "update of what is not", method: "PUT", path: k.path(k.names()[2]), body: with(k.object(k.names()[2]), `{"metadata":{"resourceVersion":"{rv}"}}`)},
		{name: "update of what is not, of any version, dry run", method: "PUT", path: k.path(k.names()[2]) + "?dryRun=All", body: k.object(k.names()[2])},
		{name: "update of what is not, of a version, dry run", method: "PUT", path: k.path(k.names()[2]) + "?dryRun=All", body: with(k.object(k.names()[2]), `{"metadata":{"resourceVersion":"1"}}`)},
		{name: "update of what is not, of a UID", method: "PUT", path: k.path(k.names()[2]), body: with(k.object(k.names()[2]), `{"metadata":{"uid":"00000000-0000-0000-0000-000000000001"}}`)},
		{name: "update of text", method: "PUT", path: one, body: o, contentType: "text/plain"},
	}
}

func (k *kind) patches() []step {
	one := k.path(k.names()[0])
	patch := func(name, contentType, query, body string) step {
		return step{name: "patch " + name, method: "PATCH", path: one + query, body: body, contentType: contentType}
	}
	return []step{
		patch("merge", mergeType, "", `{"metadata":{"labels":{"merged":"yes"}}}`),
		patch("merge, nothing new", mergeType, "", `{"metadata":{"labels":{"merged":"yes"}}}`),
		patch("merge, dry run", mergeType, "?dryRun=All", `{"metadata":{"labels":{"merged":"dry"}}}`),
		patch("merge, a label away", mergeType, "", `{"metadata":{"labels":{"merged":null}}}`),
		patch("merge of broken JSON", mergeType, "", `{`),
		patch("merge of a list", mergeType, "", `[]`),
		patch("merge with the version", mergeType, "", `{"metadata":{"resourceVersion":"{rv}","annotations":{"a":"b"}}}`),
		patch("merge with an old version", mergeType, "", `{"metadata":{"resourceVersion":"1","annotations":{"a":"c"}}}`),
		patch("merge of the name", mergeType, "", `{"metadata":{"name":"other"}}`),
		patch("merge of the UID", mergeType, "", `{"metadata":{"uid":"00000000-0000-0000-0000-000000000001"}}`),
		patch("merge of the kind", mergeType, "", `{"kind":"Unheard"}`),
		patch("merge of the version of the API", mergeType, "", `{"apiVersion":"example.com/v1"}`),
		patch("merge with an unknown field, strict", mergeType, "?fieldValidation=Strict", `{"unheardOf":1}`),
		patch("merge with an unknown field, warn", mergeType, "?fieldValidation=Warn&dryRun=All", `{"unheardOf":1}`),
		patch("merge with a wrong type", mergeType, "", `{"metadata":{"labels":[1]}}`),
		patch("merge with a bad label", mergeType, "", `{"metadata":{"labels":{"a b":"c"}}}`),
		patch("merge as a manager, forced", mergeType, "?force=true", `{"metadata":{"labels":{"a":"b"}}}`),
		patch("strategic", smpType, "", `{"metadata":{"labels":{"strategic":"yes"}}}`),
		patch("strategic, replacing", smpType, "", `{"metadata":{"annotations":{"$patch":"replace","only":"this"}}}`),
		patch("strategic, directive that is none", smpType, "", `{"metadata":{"annotations":{"$patch":"turn"}}}`),
		patch("strategic of broken JSON", smpType, "", `{`),
		patch("strategic with an unknown field, strict", smpType, "?fieldValidation=Strict", `{"unheardOf":1}`),
		patch("strategic with a wrong type", smpType, "", `{"metadata":"x"}`),
		patch("json", jsonType, "", `[{"op":"add","path":"/metadata/labels/json","value":"yes"}]`),
		patch("json, test fails", jsonType, "", `[{"op":"test","path":"/metadata/labels/json","value":"no"}]`),
		patch("json, path that is none", jsonType, "", `[{"op":"remove","path":"/metadata/labels/none"}]`),
		patch("json, operation that is none", jsonType, "", `[{"op":"turn","path":"/metadata"}]`),
		patch("json of an object", jsonType, "", `{"op":"add"}`),
		patch("json of broken JSON", jsonType, "", `[`),
		patch("json, a wrong type", jsonType, "", `[{"op":"replace","path":"/metadata","value":"x"}]`),
		patch("json with an unknown field, strict", jsonType, "?fieldValidation=Strict", `[{"op":"add","path":"/unheardOf","value":1}]`),
		patch("with plain JSON", "application/json", "", `{}`),
		patch("with text", "text/plain", "", `{}`),
		{name: "patch what is not", method: "PATCH", path: k.within(k.ns()) + "/nothing", body: `{}`, contentType: mergeType},
		{name: "get after patches", method: "GET", path: one},
	}
}

// changes are the sample's own.
func (k *kind) changes() []step {
	one := k.path(k.names()[0])
	var steps []step
	for i, c := range k.Changes {
		steps = append(steps, step{name: fmt.Sprintf("change %d: %s", i+1, marshal(c)), method: "PATCH", path: one, contentType: mergeType, body: marshal(c)})
	}
	if len(k.Changes) > 0 {
		steps = append(steps, step{name: "get after changes", method: "GET", path: one}, step{name: "get after changes as a table", method: "GET", path: one, accept: tableType})
	}
	return steps
}

func (k *kind) applies() []step {
	two := k.path(k.names()[1])
	o := k.object(k.names()[1])
	apply := func(name, query, body string) step {
		return step{name: "apply " + name, method: "PATCH", path: two + query, body: body, contentType: applyType}
	}
	ours, theirs := with(o, `{"metadata":{"labels":{"owner":"a"}}}`), with(o, `{"metadata":{"labels":{"owner":"b"}}}`)
	return []step{
		apply("without a manager", "", o),
		apply("dry run", "?fieldManager=a&dryRun=All", ours),
		apply("what is new", "?fieldManager=a", ours),
		apply("the same", "?fieldManager=a", ours),
		apply("the same by another", "?fieldManager=c", ours),
		apply("with conflicts", "?fieldManager=b", theirs),
		apply("with conflicts, forced", "?fieldManager=b&force=true", theirs),
		apply("with less", "?fieldManager=b&force=true", o),
		apply("with managed fields", "?fieldManager=a", with(o, `{"metadata":{"managedFields":[{"manager":"a"}]}}`)),
		apply("with an old version", "?fieldManager=a&force=true", with(o, `{"metadata":{"resourceVersion":"1"}}`)),
		apply("with another name", "?fieldManager=a&force=true", with(o, `{"metadata":{"name":"other"}}`)),
		apply("without a kind", "?fieldManager=a&force=true", with(o, `{"kind":null}`)),
		apply("without a version of the API", "?fieldManager=a&force=true", with(o, `{"apiVersion":null}`)),
		apply("of another version of the API", "?fieldManager=a&force=true", with(o, `{"apiVersion":"example.com/v1"}`)),
		apply("of broken YAML", "?fieldManager=a", "a: [\n"),
		apply("of YAML", "?fieldManager=a&force=true", toYAML(ours)),
		apply("with an unknown field", "?fieldManager=a&force=true", with(ours, `{"unheardOf":1}`)),
		apply("with an unknown field, strict", "?fieldManager=a&force=true&fieldValidation=Strict", with(ours, `{"unheardOf":1}`)),
		apply("with a force that is none", "?fieldManager=a&force=maybe", ours),
		apply("with a bad manager", "?fieldManager="+url.QueryEscape("a\nb"), ours),
		{name: "apply what is not, of a UID", method: "PATCH", path: k.path(k.names()[2]) + "?fieldManager=a", body: with(k.object(k.names()[2]), `{"metadata":{"uid":"00000000-0000-0000-0000-000000000001"}}`), contentType: applyType},
		{name: "apply what is not, of a version, dry run", method: "PATCH", path: k.path(k.names()[2]) + "?dryRun=All&fieldManager=a", body: with(k.object(k.names()[2]), `{"metadata":{"resourceVersion":"1"}}`), contentType: applyType},
		{name: "apply what is not, of a bad version", method: "PATCH", path: k.path(k.names()[2]) + "?fieldManager=a", body: with(k.object(k.names()[2]), `{"metadata":{"resourceVersion":"bad"}}`), contentType: applyType},
		{name: "apply a bad name", method: "PATCH", path: k.within(k.ns()) + "/Bad_Name?fieldManager=a", body: with(o, `{"metadata":{"name":"Bad_Name"}}`), contentType: applyType},
		{name: "update by another manager", method: "PATCH", path: two + "?fieldManager=d", body: `{"metadata":{"labels":{"owner":"d"}}}`, contentType: mergeType},
		apply("over an update", "?fieldManager=b", theirs),
		{name: "get after applies", method: "GET", path: two},
	}
}

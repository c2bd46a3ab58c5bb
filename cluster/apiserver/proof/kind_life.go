package proof

import (
	"fmt"
	"net/url"
	"slices"

	"sigs.k8s.io/yaml"
)

func yamlOf(doc string) ([]byte, error) { return yaml.JSONToYAML([]byte(doc)) }

func (k *kind) subresources() []step {
	one := k.path(k.names()[0])
	var steps []step
	ask := func(name, method, path, contentType, body string) {
		steps = append(steps, step{name: name, method: method, path: one + path, contentType: contentType, body: body})
	}
	if verbs := k.sub["status"]; len(verbs) > 0 {
		ask("get its status", "GET", "/status", "", "")
		ask("update its status, labels too", "PUT", "/status", "", with(k.object(k.names()[0]), `{"metadata":{"labels":{"by":"status"},"resourceVersion":"{rv}"}}`))
		ask("update its status of an old version", "PUT", "/status", "", with(k.object(k.names()[0]), `{"metadata":{"resourceVersion":"1"}}`))
		ask("update its status of another UID", "PUT", "/status", "", with(k.object(k.names()[0]), `{"metadata":{"uid":"00000000-0000-0000-0000-000000000001"}}`))
		for i, p := range k.Status {
			ask(fmt.Sprintf("patch its status %d: %s", i+1, marshal(p)), "PATCH", "/status", mergeType, marshal(p))
		}
		for i, p := range k.Status {
			ask(fmt.Sprintf("patch its status through the object %d", i+1), "PATCH", "", mergeType, marshal(p))
		}
		ask("apply its status", "PATCH", "/status?fieldManager=s&force=true", applyType, k.object(k.names()[0]))
		ask("patch its status, strict", "PATCH", "/status?fieldValidation=Strict", mergeType, `{"status":{"unheardOf":1}}`)
		ask("patch its status with a wrong type", "PATCH", "/status", mergeType, `{"status":"x"}`)
		ask("delete its status", "DELETE", "/status", "", "")
		ask("create its status", "POST", "/status", "", k.object(k.names()[0]))
		ask("get after statuses", "GET", "", "", "")
	}
	if verbs := k.sub["scale"]; len(verbs) > 0 {
		ask("get its scale", "GET", "/scale", "", "")
		ask("scale", "PATCH", "/scale", mergeType, `{"spec":{"replicas":4}}`)
		ask("scale below 0", "PATCH", "/scale", mergeType, `{"spec":{"replicas":-1}}`)
		ask("scale dry run", "PATCH", "/scale?dryRun=All", mergeType, `{"spec":{"replicas":9}}`)
		ask("update its scale", "PUT", "/scale", "", fmt.Sprintf(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":%q,"namespace":%q},"spec":{"replicas":2}}`, k.called(k.names()[0]), k.ns()))
		ask("update its scale of an old version", "PUT", "/scale", "", fmt.Sprintf(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":%q,"namespace":%q,"resourceVersion":"1"},"spec":{"replicas":2}}`, k.called(k.names()[0]), k.ns()))
		ask("update its scale of another UID", "PUT", "/scale", "", fmt.Sprintf(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":%q,"namespace":%q,"uid":"00000000-0000-0000-0000-000000000001"},"spec":{"replicas":2}}`, k.called(k.names()[0]), k.ns()))
		ask("patch the UID of its scale", "PATCH", "/scale", mergeType, `{"metadata":{"uid":"00000000-0000-0000-0000-000000000001"}}`)
		ask("update its scale of another name", "PUT", "/scale", "", `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"other"},"spec":{"replicas":2}}`)
		ask("update its scale with another kind", "PUT", "/scale", "", k.object(k.names()[0]))
		ask("apply its scale", "PATCH", "/scale?fieldManager=s&force=true", applyType, fmt.Sprintf(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":%q,"namespace":%q},"spec":{"replicas":3}}`, k.called(k.names()[0]), k.ns()))
		ask("get its scale in protobuf", "GET", "/scale", "", "")
		steps[len(steps)-1].accept = protoType
		ask("get its scale as a table", "GET", "/scale", "", "")
		steps[len(steps)-1].accept = tableType
		ask("get after scaling", "GET", "", "", "")
	}
	return steps
}

func (k *kind) lists() []step {
	c := k.within(k.ns())
	var steps []step
	get := func(name, query, accept string) {
		steps = append(steps, step{name: "list " + name, method: "GET", path: c + query, accept: accept})
	}
	steps = append(steps, step{name: "create a third", method: "POST", path: c, body: k.object(k.names()[2], meta(`{"labels":{"third":"yes"},"annotations":{"third":"yes"}}`))})
	one := k.called(k.names()[0])
	if !k.many() {
		get("all", "", "")
		get("as a table", "", tableType)
		get("in protobuf", "", protoType)
		get("first page", "?limit=2", "")
		get("first page as a table", "?limit=2", tableType)
		get("second page", "?limit=2&continue={continue}", "")
	}
	get("by label", "?labelSelector=third%3Dyes", "")
	get("by label as metadata", "?labelSelector=third%3Dyes", partialsType)
	get("by label as one's metadata", "?labelSelector=third%3Dyes", partialType)
	get("by label in YAML", "?labelSelector=third%3Dyes", yamlType)
	get("by labels in a set", "?labelSelector="+url.QueryEscape("third in (yes, no),!none"), "")
	get("by a label that nothing has", "?labelSelector=third%3Dno", "")
	get("by a bad label", "?labelSelector=%3D%3D", "")
	get("by a bad label's value", "?labelSelector=a%3D"+url.QueryEscape("b c"), "")
	get("by name", "?fieldSelector=metadata.name%3D"+one, "")
	get("by name and another", "?fieldSelector=metadata.name%3D"+one+",metadata.name!%3D"+one, "")
	get("by namespace", "?fieldSelector=metadata.namespace%3D"+k.ns()+",metadata.name%3D"+one, "")
	get("by a field that is none", "?fieldSelector=spec.unheard%3Dx", "")
	get("by a broken field selector", "?fieldSelector=metadata.name", "")
	for _, sel := range k.Selectors {
		get("by "+sel, "?fieldSelector="+url.QueryEscape(sel), "")
	}
	for _, q := range []string{
		"resourceVersion=0", "resourceVersion={listrv}", "resourceVersion=bad",
		"resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan", "resourceVersion=0&resourceVersionMatch=Exact",
		"resourceVersion=0&resourceVersionMatch=NotOlderThan", "resourceVersion={listrv}&resourceVersionMatch=Exact",
		"resourceVersion={listrv}&resourceVersionMatch=NotOlderThan", "resourceVersion={listrv}&resourceVersionMatch=Some",
		"sendInitialEvents=true",
		"limit=-1", "limit=x", "continue=bad", "continue=bad&resourceVersion=0", "limit=1&resourceVersion=0", "timeoutSeconds=x",
		"limit=1&resourceVersion={listrv}", "limit=1&resourceVersion={listrv}&resourceVersionMatch=Exact",
		"allowWatchBookmarks=true",
	} {
		get("with "+q, "?labelSelector=third%3Dyes&"+q, "")
	}
	if k.namespaced {
		steps = append(steps, step{name: "list of every namespace", method: "GET", path: k.all() + "?labelSelector=third%3Dyes"},
			step{name: "list of every namespace by namespace", method: "GET", path: k.all() + "?labelSelector=third%3Dyes&fieldSelector=metadata.namespace%3D" + k.ns()})
	}
	return steps
}

// many reports whether there are objects of the kind that no case made.
func (k *kind) many() bool {
	return slices.Contains([]string{"namespaces", "nodes", "clusterroles", "clusterrolebindings", "priorityclasses", "flowschemas", "prioritylevelconfigurations", "apiservices", "servicecidrs", "ipaddresses", "customresourcedefinitions"}, k.gvr.Resource)
}

func (k *kind) deletes() []step {
	one, two, three := k.path(k.names()[0]), k.path(k.names()[1]), k.path(k.names()[2])
	var steps []step
	del := func(name, path, body string) {
		steps = append(steps, step{name: "delete " + name, method: "DELETE", path: path, body: body})
	}
	patch := func(name, path, body string) {
		steps = append(steps, step{name: name, method: "PATCH", path: path, contentType: mergeType, body: body})
	}
	get := func(name, path string) { steps = append(steps, step{name: name, method: "GET", path: path}) }
	del("dry run", one+"?dryRun=All", "")
	del("dry run by the body", one, `{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}`)
	del("with a dry run that is none", one+"?dryRun=Some", "")
	del("of another UID", one, `{"preconditions":{"uid":"00000000-0000-0000-0000-000000000001"}}`)
	del("of an old version", one, `{"preconditions":{"resourceVersion":"1"}}`)
	del("with a policy that is none", one, `{"propagationPolicy":"Sideways"}`)
	del("with two policies", one, `{"propagationPolicy":"Orphan","orphanDependents":true}`)
	del("with a grace below 0", one+"?dryRun=All", `{"gracePeriodSeconds":-5}`)
	del("with broken options", one, `{`)
	del("with options of another kind", one, `{"kind":"Pod","apiVersion":"v1"}`)
	del("with options that are none", one, `{"unheardOf":1,"dryRun":["All"]}`)
	steps = append(steps, step{name: "delete with text", method: "DELETE", path: one, body: "x", contentType: "text/plain"})
	del("what is not", k.within(k.ns())+"/nothing", "")
	del("with a policy in the query that is none", one+"?propagationPolicy=Sideways", "")
	patch("add a finalizer", one, `{"metadata":{"finalizers":["example.com/hold"]}}`)
	del("what is held", one, "")
	get("get what is being deleted", one)
	del("what is being deleted", one, "")
	patch("patch what is being deleted", one, `{"metadata":{"labels":{"dying":"yes"}}}`)
	patch("add a finalizer to what is being deleted", one, `{"metadata":{"finalizers":["example.com/hold","example.com/more"]}}`)
	patch("bring back what is being deleted", one, `{"metadata":{"deletionTimestamp":null}}`)
	patch("let go of what is being deleted", one, `{"metadata":{"finalizers":null}}`)
	get("get what was deleted", one)
	get("get before a deletion in the foreground", two)
	del("in the foreground", two, `{"propagationPolicy":"Foreground","preconditions":{"uid":"{uid}","resourceVersion":"{rv}"}}`)
	get("get what is deleted in the foreground", two)
	del("in the background, held by its dependents", two, `{"propagationPolicy":"Background"}`)
	patch("end a deletion in the foreground", two, `{"metadata":{"finalizers":null}}`)
	get("get what was deleted in the foreground", two)
	del("and orphan", three, `{"propagationPolicy":"Orphan"}`)
	get("get what is orphaned", three)
	patch("end an orphaning", three, `{"metadata":{"finalizers":null}}`)
	c := k.within(k.ns())
	steps = append(steps, step{name: "create again what was deleted", method: "POST", path: c, body: k.object(k.names()[0], meta(`{"labels":{"mine":"yes"}}`))})
	del("collection by a bad label", c+"?labelSelector=%3D", "")
	del("collection by a field that is none", c+"?fieldSelector=spec.unheard%3Dx", "")
	del("collection, dry run", c+"?labelSelector=mine%3Dyes&dryRun=All", "")
	del("collection", c+"?labelSelector=mine%3Dyes", "")
	del("collection of nothing", c+"?labelSelector=mine%3Dyes", "")
	del("collection with broken options", c+"?labelSelector=mine%3Dyes", "{")
	get("get what was deleted with a collection", one)
	if !slices.Contains(k.verbs, "deletecollection") {
		del("at last", one, "")
	}
	return steps
}

// verbsNot are methods that a path does not have.
func (k *kind) verbsNot() []step {
	one, o := k.path(k.names()[0]), k.object(k.names()[0])
	steps := []step{
		{name: "update a collection", method: "PUT", path: k.within(k.ns()), body: o},
		{name: "patch a collection", method: "PATCH", path: k.within(k.ns()), body: `{}`, contentType: mergeType},
		{name: "create under a name", method: "POST", path: one, body: o},
		{name: "options", method: "OPTIONS", path: one},
		{name: "get of another version", method: "GET", path: unversioned(k) + "/v9/" + k.gvr.Resource},
		{name: "head", method: "HEAD", path: k.within(k.ns())},
	}
	if k.namespaced {
		steps = append(steps, step{name: "get a name without its namespace", method: "GET", path: k.all() + "/" + k.called(k.names()[0])},
			step{name: "delete of every namespace", method: "DELETE", path: k.all()})
	} else {
		steps = append(steps, step{name: "list in a namespace", method: "GET", path: k.root() + "/namespaces/default/" + k.gvr.Resource})
	}
	return steps
}

func unversioned(k *kind) string {
	if k.gvr.Group == "" {
		return "/api"
	}
	return "/apis/" + k.gvr.Group
}

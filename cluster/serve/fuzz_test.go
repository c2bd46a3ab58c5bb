package serve_test

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"kviz/assets"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/serve"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

var (
	fuzzMethods = []string{"POST", "PUT", "PATCH", "DELETE", "GET"}
	fuzzPaths   = []string{
		"/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/pods/p", "/api/v1/namespaces/default/pods/p/status",
		"/api/v1/namespaces/default/pods/p/binding", "/api/v1/namespaces/default/pods/p/eviction",
		"/api/v1/namespaces/default/services", "/api/v1/namespaces/default/services/s", "/api/v1/nodes/n/status", "/api/v1/nodes",
		"/apis/apps/v1/namespaces/default/deployments", "/apis/apps/v1/namespaces/default/deployments/d",
		"/apis/apps/v1/namespaces/default/deployments/d/scale", "/apis/apps/v1/namespaces/default/replicasets",
		"/api/v1/namespaces/default/configmaps/c", "/api/v1/namespaces/x/finalize", "/api/v1/namespaces",
		"/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
		"/apis/coordination.k8s.io/v1/namespaces/default/leases", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
		"/apis/scheduling.k8s.io/v1/priorityclasses", "/api/v1/namespaces/default/events", "/api/v1/namespaces/default/serviceaccounts/default/token",
	}
	fuzzTypes = []string{
		"application/json", "application/yaml", protoType, "application/merge-patch+json", "application/json-patch+json",
		"application/strategic-merge-patch+json", "application/apply-patch+yaml", "application/cbor", "",
	}
)

// FuzzRequest: no request, whatever its body, ends the cluster or goes without
// an answer, and no answer is "internal error".
func FuzzRequest(f *testing.F) {
	add := func(method, path, kind byte, query, body string) { f.Add(method, path, kind, query, []byte(body)) }
	err := fs.WalkDir(assets.Manifests(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(assets.Manifests(), name)
		for i, doc := range strings.Split(string(b), "\n---\n") {
			add(0, byte(5*i), 1, "", doc)
		}
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"nginx"}]}}`
	add(0, 0, 0, "", pod)
	add(1, 1, 0, "fieldManager=x", pod)
	add(2, 1, 3, "dryRun=All", `{"metadata":{"labels":{"a":null}}}`)
	add(2, 2, 5, "", `{"status":{"conditions":[{"type":"Ready","$patch":"delete"}],"$setElementOrder/conditions":[{"type":"Ready"}]}}`)
	add(2, 1, 4, "", `[{"op":"test","path":"/metadata/name","value":"p"},{"op":"add","path":"/metadata/labels","value":{"a":"b"}},{"op":"copy","from":"/spec","path":"/x/-"}]`)
	add(2, 10, 6, "fieldManager=me&force=true", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}\n")
	add(0, 3, 0, "", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"kind":"Node","name":"n"}}`)
	add(0, 4, 0, "", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}`)
	add(0, 8, 0, "", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}`)
	add(0, 5, 0, "", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"clusterIP":"10.96.0.300","ports":[{"port":80,"nodePort":30000}],"type":"NodePort"}}`)
	add(1, 11, 0, "", `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d"},"spec":{"replicas":-1}}`)
	add(0, 19, 0, "", `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":{"verb":"get"}}}`)
	add(3, 1, 0, "", `{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":-5,"preconditions":{"uid":"u"}}`)
	add(4, 0, 0, "labelSelector=a in (b,c),!d&fieldSelector=spec.nodeName!=x&limit=1&continue=zzz&resourceVersion=1", "")
	add(0, 0, 2, "", "k8s\x00\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x04\x0a\x02\x0a\x00")

	e := newEdge(f)
	f.Fuzz(func(t *testing.T, method, path, kind byte, query string, body []byte) {
		if strings.Contains(query, "atch") { // a watch has no end
			return
		}
		p := e.kernel.NewProcess(trace.Lane{Component: trace.CompClient})
		ctx, cancel := context.WithTimeout(serve.WithCaller(t.Context(), serve.Caller{User: authn.Admin(), Client: "test", Process: p}), steady.Patience(t))
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, fuzzMethods[int(method)%len(fuzzMethods)], "http://kviz"+fuzzPaths[int(path)%len(fuzzPaths)], bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.URL.RawQuery = query
		if ct := fuzzTypes[int(kind)%len(fuzzTypes)]; ct != "" {
			r.Header.Set("Content-Type", ct)
		}
		resp, err := e.h.Transport().RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode < 200 || resp.StatusCode == http.StatusInternalServerError {
			t.Fatalf("%s %s?%s: %d %s %v", r.Method, r.URL.Path, query, resp.StatusCode, answer, err)
		}
	})
}

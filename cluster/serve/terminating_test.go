package serve_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Objects of a definition that is being deleted can be changed until they are gone:
// somebody must take their finalizers off, or neither they nor the definition nor
// their namespace ever go. Only new ones are refused. Discovery says less than is
// served, as upstream's does.
func TestObjectsOfATerminatingDefinition(t *testing.T) {
	e := newEdge(t)
	ask := func(want int, method, path, body string, headers ...string) string {
		t.Helper()
		resp := e.do(t, method, path, body, headers...)
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != want {
			t.Fatalf("%s %s: %d, want %d: %s", method, path, resp.StatusCode, want, b)
		}
		return string(b)
	}
	pass := func(d time.Duration) {
		t.Helper()
		err := e.kernel.Call(t.Context(), e.kernel.NewProcess(trace.Lane{Component: trace.CompClient}), "wait", func(t *sim.Task) { t.Sleep(d) })
		if err != nil {
			t.Fatal(err)
		}
	}
	const (
		crds    = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
		group   = "/apis/example.com/v1"
		objects = group + "/namespaces/default/gears"
	)
	ask(http.StatusCreated, "POST", crds, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gears.example.com"},
		"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"gears","kind":"Gear"},"versions":[{"name":"v1","served":true,"storage":true,
		"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`)
	pass(3 * time.Second)
	for _, name := range []string{"a", "b", "c"} {
		ask(http.StatusCreated, "POST", objects, `{"apiVersion":"example.com/v1","kind":"Gear","metadata":{"name":"`+name+`","finalizers":["example.com/hold"]},"spec":{"n":1}}`)
	}
	ask(http.StatusOK, "DELETE", crds+"/gears.example.com", "")
	pass(3 * time.Second)

	var list metav1.APIResourceList
	if err := json.Unmarshal([]byte(ask(http.StatusOK, "GET", group, "")), &list); err != nil {
		t.Fatal(err)
	}
	if got := list.APIResources[0].Verbs; !slices.Equal(got, metav1.Verbs{"delete", "deletecollection", "get", "list", "watch"}) {
		t.Errorf("discovery names %v", got)
	}
	refusal := ask(http.StatusForbidden, "POST", objects, `{"apiVersion":"example.com/v1","kind":"Gear","metadata":{"name":"d"}}`)
	if !strings.Contains(refusal, "create not allowed while custom resource definition is terminating") {
		t.Error(refusal)
	}
	ask(http.StatusForbidden, "PATCH", objects+"/d?fieldManager=test", `{"apiVersion":"example.com/v1","kind":"Gear","metadata":{"name":"d"}}`, "Content-Type", "application/apply-patch+yaml")
	ask(http.StatusOK, "PATCH", objects+"/a/status", `{"status":{"phase":"going"}}`, "Content-Type", "application/merge-patch+json")
	ask(http.StatusOK, "PATCH", objects+"/a", `{"metadata":{"finalizers":null}}`, "Content-Type", "application/merge-patch+json")
	ask(http.StatusOK, "PATCH", objects+"/b", `[{"op":"remove","path":"/metadata/finalizers"}]`, "Content-Type", "application/json-patch+json")
	left := ask(http.StatusOK, "GET", objects+"/c", "")
	ask(http.StatusOK, "PUT", objects+"/c", strings.Replace(left, `"finalizers":["example.com/hold"],`, "", 1))
	pass(time.Minute)
	ask(http.StatusNotFound, "GET", crds+"/gears.example.com", "")
	ask(http.StatusNotFound, "GET", objects, "")
}

package apiserver

import (
	"strings"
	"testing"
	"time"

	"kviz/cluster/apiserver/request"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// cronTabs is the CronTab of the Kubernetes documentation ("Extend the Kubernetes
// API with CustomResourceDefinitions"), with its subresources, columns, a default
// and two rules.
const cronTabs = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: crontabs.stable.example.com
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab, shortNames: [ct], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [cronSpec, image]
            properties:
              cronSpec: {type: string, pattern: '^(\d+|\*)(/\d+)?(\s+(\d+|\*)(/\d+)?){4}$'}
              image: {type: string}
              replicas: {type: integer, default: 1, minimum: 0, maximum: 10}
            x-kubernetes-validations:
            - {rule: "self.replicas != 7", message: "seven is a bad number"}
            - {rule: "self.image == oldSelf.image || !oldSelf.image.startsWith('locked')", message: "a locked image stays"}
          status:
            type: object
            properties:
              replicas: {type: integer}
              labelSelector: {type: string}
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.labelSelector}
    additionalPrinterColumns:
    - {name: Spec, type: string, description: The cron spec, jsonPath: .spec.cronSpec}
    - {name: Replicas, type: integer, jsonPath: .spec.replicas}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
`

var cronTabResource = schema.GroupVersionResource{Group: "stable.example.com", Version: "v1", Resource: "crontabs"}

// crontab is a CronTab with the fields of spec.
func crontab(name, spec string) []byte {
	return []byte(`{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"` + name + `"},"spec":` + spec + `}`)
}

// ask sends a request as the administrator, from outside.
func (w *world) ask(t *sim.Task, req *request.Request) *request.Response {
	admin := authn.Admin()
	req.User, req.Client = &admin, "kubectl"
	if req.ContentType == "" && req.Body != nil {
		req.ContentType = "application/json"
	}
	return w.s.Handle(t, req)
}

// define creates a definition and waits until its kind is served, and has been for
// long enough that the first objects need not wait.
func (w *world) define(t *sim.Task, yaml string) {
	w.t.Helper()
	r := w.ask(t, &request.Request{Verb: "create", Resource: client.CustomResourceDefinitions.GroupVersionResource, Body: []byte(yaml), ContentType: "application/yaml"})
	w.must(r.Err)
	t.Sleep(3 * time.Second)
}

// onDefinition changes or deletes a definition.
func (w *world) onDefinition(t *sim.Task, verb, name string, patch types.PatchType, body string) {
	w.t.Helper()
	w.must(w.ask(t, &request.Request{Verb: verb, Resource: client.CustomResourceDefinitions.GroupVersionResource, Name: name, PatchType: patch, Patch: []byte(body)}).Err)
	t.Sleep(time.Second)
}

// example is a resource of the group example.com.
func example(version, plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "example.com", Version: version, Resource: plural}
}

func TestLifeOfACustomResource(t *testing.T) {
	w := run(t, Config{}, func(w *world, task *sim.Task) {
		w.sink.events = nil
		w.define(task, cronTabs)
		on := func(verb, name string, body []byte) *request.Request {
			return &request.Request{Verb: verb, Resource: cronTabResource, Namespace: "default", Name: name, Body: body, FieldValidation: "Warn"}
		}
		patch := func(name string, pt types.PatchType, p string) *request.Request {
			r := on("patch", name, nil)
			r.PatchType, r.Patch, r.FieldManager = pt, []byte(p), "kubectl"
			return r
		}
		scale := on("update", "my-cron", []byte(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"my-cron","namespace":"default"},"spec":{"replicas":4}}`))
		scale.Subresource = "scale"
		for _, req := range []*request.Request{
			on("create", "", crontab("my-cron", `{"cronSpec":"* * * * */5","image":"my-awesome-cron-image","extra":1}`)),
			on("create", "", crontab("bad", `{"cronSpec":"* * * *","replicas":15}`)),
			on("create", "", crontab("seven", `{"cronSpec":"* * * * *","image":"a","replicas":7}`)),
			on("get", "my-cron", nil),
			on("list", "", nil),
			patch("my-cron", types.MergePatchType, `{"spec":{"image":"locked:1"}}`),
			patch("my-cron", types.MergePatchType, `{"spec":{"image":"other"}}`),
			patch("my-cron", types.JSONPatchType, `[{"op":"replace","path":"/spec/cronSpec","value":"5 * * * *"}]`),
			patch("my-cron", types.StrategicMergePatchType, `{"spec":{"replicas":2}}`),
			patch("my-cron", types.ApplyPatchType, `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"my-cron"},"spec":{"replicas":3}}`),
			scale,
			{Verb: "delete", Resource: client.CustomResourceDefinitions.GroupVersionResource, Name: "crontabs.stable.example.com"},
		} {
			w.ask(task, req)
		}
		task.Sleep(time.Second)
		w.ask(task, on("list", "", nil))
	})
	golden(t, "custom", transcript(w.sink.events))
	if strings.Contains(transcript(w.sink.events), "500") {
		t.Error("an internal error")
	}
}

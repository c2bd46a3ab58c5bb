package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// program is what a webhook server does.
type program struct {
	name   string
	path   string // it serves
	means  string
	review func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse
	// convert is of a server that converts custom objects instead: it changes the
	// object to one of another apiVersion.
	convert func(u *unstructured.Unstructured, desired string) error
}

// catalogue are the programs; the manifests that install them are
// assets/manifests/webhooks.
var catalogue = []program{
	{name: "deny-all", path: "/validate", means: "Refuses everything it is asked about.", review: denyAll},
	{name: "hostport-converter", path: "/crdconvert", means: "Converts custom objects: hostPort in v1beta1 is host and port in v1.", convert: convertHostPort},
	{name: "image-policy", path: "/validate", means: "Refuses pods with an image whose name says no registry.", review: imagePolicy},
	{name: "label-owner", path: "/mutate", means: "Labels objects with the user who makes them.", review: labelOwner},
	{name: "requests-default", path: "/mutate", means: "Gives every container a request for CPU.", review: defaultRequests},
	{name: "sidecar-injector", path: "/mutate", means: "Adds a container to every pod.", review: injectSidecar},
}

// Means says in a sentence what a server of the catalogue does.
func Means(name string) string {
	for _, p := range catalogue {
		if p.name == name {
			return p.means
		}
	}
	return ""
}

func allow() *admissionv1.AdmissionResponse { return &admissionv1.AdmissionResponse{Allowed: true} }

func refuse(format string, args ...any) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Result: &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: fmt.Sprintf(format, args...),
	}}
}

// change is one operation of a JSON patch.
type change struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

func patched(changes ...change) *admissionv1.AdmissionResponse {
	r := allow()
	if len(changes) == 0 {
		return r
	}
	data, err := json.Marshal(changes)
	if err != nil {
		return refuse("%v", err)
	}
	kind := admissionv1.PatchTypeJSONPatch
	r.Patch, r.PatchType = data, &kind
	return r
}

// podOf is the pod that a request is about; ok is false for anything else.
func podOf(req *admissionv1.AdmissionRequest) (pod *corev1.Pod, ok bool) {
	if req.Kind.Group != "" || req.Kind.Kind != "Pod" || len(req.Object.Raw) == 0 {
		return nil, false
	}
	pod = &corev1.Pod{}
	return pod, json.Unmarshal(req.Object.Raw, pod) == nil
}

func denyAll(req *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return refuse("%s of %s is not wanted here", strings.ToLower(string(req.Operation)), req.Resource.Resource)
}

// imagePolicy is what an ImagePolicyWebhook does in many clusters: images come from
// a registry that is named.
func imagePolicy(req *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	pod, ok := podOf(req)
	if !ok {
		return allow()
	}
	r := allow()
	for _, c := range append(append([]corev1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
		host, _, found := strings.Cut(c.Image, "/")
		if !found || !strings.ContainsAny(host, ".:") && host != "localhost" {
			return refuse("container %q: the image %q names no registry", c.Name, c.Image)
		}
		if !strings.Contains(strings.TrimPrefix(c.Image, host), ":") || strings.HasSuffix(c.Image, ":latest") {
			r.Warnings = append(r.Warnings, fmt.Sprintf("container %q: the image %q has no fixed tag", c.Name, c.Image))
		}
	}
	r.AuditAnnotations = map[string]string{"images": fmt.Sprintf("%d checked", len(pod.Spec.InitContainers)+len(pod.Spec.Containers))}
	return r
}

func labelOwner(req *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	var obj metav1.PartialObjectMetadata
	if json.Unmarshal(req.Object.Raw, &obj) != nil {
		return allow() // a deletion has no object
	}
	owner := strings.ReplaceAll(req.UserInfo.Username, ":", ".")
	switch {
	case obj.Labels["owner"] != "":
		return allow()
	case obj.Labels == nil:
		return patched(change{"add", "/metadata/labels", map[string]string{"owner": owner}})
	}
	return patched(change{"add", "/metadata/labels/owner", owner})
}

func defaultRequests(req *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	pod, ok := podOf(req)
	if !ok {
		return allow()
	}
	var changes []change
	for i, c := range pod.Spec.Containers {
		if _, has := c.Resources.Requests[corev1.ResourceCPU]; !has && len(c.Resources.Requests) == 0 {
			changes = append(changes, change{"add", fmt.Sprintf("/spec/containers/%d/resources/requests", i), map[string]string{"cpu": "50m"}})
		}
	}
	return patched(changes...)
}

func injectSidecar(req *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	pod, ok := podOf(req)
	if !ok {
		return allow()
	}
	for _, c := range pod.Spec.Containers {
		if c.Name == "sidecar" {
			return allow()
		}
	}
	return patched(change{"add", "/spec/containers/-", map[string]any{"name": "sidecar", "image": "docker.io/kviz/echo:1", "resources": map[string]any{}}})
}

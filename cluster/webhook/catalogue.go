package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/trace"
)

// program is what a webhook server does: it reviews what is admitted, or answers
// other questions of the API server (reviews.go).
type program struct {
	name   string
	path   string // it serves
	means  string
	review func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse
	answer func(body []byte, lie Lie, p *trace.WebhookCall) (code int, answer []byte)
}

// catalogue are the programs; the manifests that install them are
// assets/manifests/webhooks.
var catalogue = []program{
	{"access-review", "/authorize", "An authorizer: lets group staff read config maps, and nobody touch secrets in namespace vault.", nil, reviewAccess},
	{"deny-all", "/validate", "Refuses everything it is asked about.", denyAll, nil},
	{"hostport-converter", conversionPath, "Converts custom objects: hostPort in v1beta1 is host and port in v1.", nil, converting(convertHostPort)},
	{"image-policy", "/validate", "Refuses pods with an image whose name says no registry.", imagePolicy, nil},
	{"image-review", "/review", "The backend of ImagePolicyWebhook: refuses images whose name says no registry.", nil, reviewImages},
	{"label-owner", "/mutate", "Labels objects with the user who makes them.", labelOwner, nil},
	{"requests-default", "/mutate", "Gives every container a request for CPU.", defaultRequests, nil},
	{"sidecar-injector", "/mutate", "Adds a container to every pod.", injectSidecar, nil},
	{"token-review", "/authenticate", "An authenticator: the token badge-NAME is of NAME, of group staff.", nil, reviewToken},
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
		host := registryOf(c.Image)
		if host == "" {
			return refuse("container %q: the image %q names no registry", c.Name, c.Image)
		}
		if !strings.Contains(strings.TrimPrefix(c.Image, host), ":") || strings.HasSuffix(c.Image, ":latest") {
			r.Warnings = append(r.Warnings, fmt.Sprintf("container %q: the image %q has no fixed tag", c.Name, c.Image))
		}
	}
	r.AuditAnnotations = map[string]string{"images": fmt.Sprintf("%d checked", len(pod.Spec.InitContainers)+len(pod.Spec.Containers))}
	return r
}

// registryOf is the registry that an image's name says; "" for none.
func registryOf(image string) string {
	host, _, found := strings.Cut(image, "/")
	if !found || !strings.ContainsAny(host, ".:") && host != "localhost" {
		return ""
	}
	return host
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

package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"

	"kviz/cluster/trace"
)

// What the API server itself asks external servers, without a webhook configuration:
// who a user is, whether the user may do something, whether images may be run.

// Reviewers lists the servers that answer such questions, by name.
func Reviewers() []string {
	var names []string
	for _, p := range catalogue {
		if p.answer != nil {
			names = append(names, p.name)
		}
	}
	return names
}

// KubeconfigPath is where on the API server's machine the kubeconfig is that leads to
// a reviewer. These files come with the simulation.
func KubeconfigPath(name string) string { return "/etc/kubernetes/webhook/" + name + ".yaml" }

// Kubeconfig is what it holds.
func Kubeconfig(name string) []byte {
	for _, p := range catalogue {
		if p.name == name {
			return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: %[1]s
  cluster:
    server: https://%[1]s.webhooks.kviz.dev%[2]s
users:
- name: api-server
contexts:
- name: %[1]s
  context: {cluster: %[1]s, user: api-server}
current-context: %[1]s
`, p.name, p.path)
		}
	}
	return nil
}

// staff is the group of those who have a badge.
const staff = "staff"

// reviewToken answers a TokenReview (--authentication-token-webhook-config-file).
func reviewToken(body []byte, lie Lie, p *trace.WebhookCall) (int, []byte) {
	r := &authenticationv1.TokenReview{}
	if err := json.Unmarshal(body, r); err != nil || r.Kind != "TokenReview" {
		return badReview("TokenReview", p)
	}
	p.Review, p.Object = r.Kind, "a token"
	name, known := strings.CutPrefix(r.Spec.Token, "badge-")
	known = known && name != ""
	if lie == Contrary {
		name, known = "guest", !known
	}
	r.Spec = authenticationv1.TokenReviewSpec{}
	p.Allowed, p.Message = known, "it does not know it"
	if known {
		r.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{
			Username: name, UID: "badge:" + name, Groups: []string{staff},
		}}
		p.Message = "it is of " + name + ", of group " + staff
	}
	return tellReview(r, lie, p)
}

// reviewAccess answers a SubjectAccessReview (AuthorizationConfiguration, type
// Webhook).
func reviewAccess(body []byte, lie Lie, p *trace.WebhookCall) (int, []byte) {
	r := &authorizationv1.SubjectAccessReview{}
	if err := json.Unmarshal(body, r); err != nil || r.Kind != "SubjectAccessReview" {
		return badReview("SubjectAccessReview", p)
	}
	p.Review, p.Object = r.Kind, r.Spec.User+", who wants to "
	st := &r.Status
	switch a := r.Spec.ResourceAttributes; {
	case a == nil && r.Spec.NonResourceAttributes == nil:
		return badReview("SubjectAccessReview", p)
	case a == nil:
		p.Operation = r.Spec.NonResourceAttributes.Verb
		p.Object += p.Operation + " " + r.Spec.NonResourceAttributes.Path
	default:
		p.Operation = a.Verb
		p.Object += strings.TrimRight(a.Verb+" "+a.Resource+" "+a.Namespace+"/"+a.Name, " /")
		reads := a.Verb == "get" || a.Verb == "list" || a.Verb == "watch"
		switch {
		case a.Resource == "secrets" && a.Namespace == "vault":
			st.Denied, st.Reason = true, "nobody touches what is in the vault"
		case a.Resource == "configmaps" && reads && slices.Contains(r.Spec.Groups, staff):
			st.Allowed, st.Reason = true, "staff may read config maps"
		}
	}
	if lie == Contrary {
		st.Allowed, st.Denied, st.Reason = !st.Allowed, st.Allowed, "why not"
		if st.Denied {
			st.Reason = "not today"
		}
	}
	r.Spec = authorizationv1.SubjectAccessReviewSpec{}
	p.Allowed = st.Allowed
	switch {
	case st.Denied:
		p.Message = "denied, " + st.Reason
	case st.Allowed:
		p.Message = "allowed, " + st.Reason
	default:
		p.Message = "no opinion"
	}
	return tellReview(r, lie, p)
}

// reviewImages answers an ImageReview (admission plugin ImagePolicyWebhook).
func reviewImages(body []byte, lie Lie, p *trace.WebhookCall) (int, []byte) {
	r := &imagepolicyv1alpha1.ImageReview{}
	if err := json.Unmarshal(body, r); err != nil || r.Kind != "ImageReview" {
		return badReview("ImageReview", p)
	}
	var images []string
	r.Status.Allowed = true
	for _, c := range r.Spec.Containers {
		images = append(images, c.Image)
		if r.Status.Allowed && registryOf(c.Image) == "" {
			r.Status.Allowed, r.Status.Reason = false, fmt.Sprintf("the image %q names no registry", c.Image)
		}
	}
	if lie == Contrary {
		r.Status.Allowed, r.Status.Reason = !r.Status.Allowed, "not today"
	}
	if r.Status.Allowed {
		r.Status.Reason = ""
	}
	r.Status.AuditAnnotations = map[string]string{"images": fmt.Sprintf("%d checked", len(images))}
	p.Review, p.Object, p.Allowed = r.Kind, strings.Join(images, ", "), r.Status.Allowed
	p.Message = "allowed"
	if !p.Allowed {
		p.Message = "refused, " + r.Status.Reason
	}
	r.Spec = imagepolicyv1alpha1.ImageReviewSpec{}
	return tellReview(r, lie, p)
}

func badReview(kind string, p *trace.WebhookCall) (int, []byte) {
	p.Error = "the body is no " + kind
	return http.StatusBadRequest, []byte("want a " + kind + "\n")
}

// tellReview writes an answer as it is sent.
func tellReview(review any, lie Lie, p *trace.WebhookCall) (int, []byte) {
	if lie != Honest {
		p.Lie = string(lie)
	}
	data, err := json.Marshal(review)
	if err != nil {
		panic(fmt.Sprintf("webhook: encoding an answer: %v", err)) // made of strings only
	}
	if lie == Garbage {
		data = append(data[:len(data)/2], 0)
	}
	return http.StatusOK, data
}

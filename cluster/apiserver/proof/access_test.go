package proof

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/apiserver/load"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/authorization"
	kubeauthorizer "k8s.io/kubernetes/pkg/kubeapiserver/authorizer"
	"k8s.io/kubernetes/pkg/registry/authorization/subjectaccessreview"

	"kviz/cluster/webhook"
)

// The same questions who may do what to kube-apiserver's chain of authorizers with a webhook and to kviz': the
// same requests to the webhook, the same decisions, reasons and errors, the same answers remembered.
func TestAccessByAWebhook(t *testing.T) {
	compareReviews(t, judges{resource: authorizationv1.SchemeGroupVersion.WithResource("subjectaccessreviews"), upstream: upstreamAccess}, accessReviews())
}

// longestWrite is requestTimeoutUpperBound of the handlers that create.
const longestWrite = 34 * time.Second

func upstreamAccess(t *testing.T, r *review, dial dialer) func(string) string {
	cfg, err := load.LoadFromData([]byte(strings.ReplaceAll(r.config, webhook.KubeconfigPath(accessServer), kubeconfigFile(t, accessServer))))
	if err != nil {
		t.Fatal(r.name, err)
	}
	config := kubeauthorizer.Config{AuthorizationConfiguration: cfg, WebhookRetryBackoff: backoff(), CustomDial: dial}
	a, _, err := config.New(t.Context(), "")
	if err != nil {
		t.Fatal(r.name, err)
	}
	rest := subjectaccessreview.NewREST(a, legacyscheme.Scheme)
	return func(body string) string {
		ctx, cancel := context.WithTimeout(genericapirequest.WithRequestInfo(t.Context(), &genericapirequest.RequestInfo{APIGroup: "authorization.k8s.io", APIVersion: "v1"}), longestWrite)
		defer cancel()
		var r authorizationv1.SubjectAccessReview
		in := &authorization.SubjectAccessReview{}
		err := json.Unmarshal([]byte(body), &r)
		if err == nil {
			err = legacyscheme.Scheme.Convert(&r, in, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		out, err := rest.Create(ctx, in, nil, nil)
		if err != nil {
			return "error: " + err.Error()
		}
		if err := legacyscheme.Scheme.Convert(out, &r, nil); err != nil {
			t.Fatal(err)
		}
		return statusJSON(t, &r)
	}
}

// authorizers is an AuthorizationConfiguration with a webhook, and what comes after it.
func authorizers(settings, conditions string, after ...string) string {
	var b bytes.Buffer
	version := "v1"
	if strings.Contains(settings, "v1beta1") {
		version = "v1beta1"
	}
	fmt.Fprintf(&b, `apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
- type: Webhook
  name: company
  webhook:
    subjectAccessReviewVersion: %s
    matchConditionSubjectAccessReviewVersion: v1
    connectionInfo: {type: KubeConfigFile, kubeConfigFile: %s}
`, version, webhook.KubeconfigPath(accessServer))
	for _, s := range strings.Fields(strings.ReplaceAll(settings, "v1beta1", "")) {
		fmt.Fprintf(&b, "    %s\n", strings.Replace(s, ":", ": ", 1))
	}
	if conditions != "" {
		fmt.Fprintf(&b, "    matchConditions: [%s]\n", conditions)
	}
	for _, a := range after {
		fmt.Fprintf(&b, "- {type: %s, name: %s}\n", a, strings.ToLower(a))
	}
	return b.String()
}

const (
	plainly  = "timeout:3s authorizedTTL:5m unauthorizedTTL:30s failurePolicy:NoOpinion"
	strictly = "timeout:3s authorizedTTL:5m unauthorizedTTL:30s failurePolicy:Deny"
	slowly   = "timeout:30s authorizedTTL:10s unauthorizedTTL:10s failurePolicy:Deny"
)

func accessReviews() []review {
	const head = `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1",`
	answer := func(status string) said {
		return said{code: 200, kind: "application/json", body: head + `"status":` + status + `}`}
	}
	older := func(s said) said {
		s.body = strings.Replace(s.body, "/v1", "/v1beta1", 1)
		return s
	}
	question := func(spec authorizationv1.SubjectAccessReviewSpec) string {
		b, err := json.Marshal(&authorizationv1.SubjectAccessReview{Spec: spec})
		if err != nil {
			panic(err) // made of strings
		}
		return string(b)
	}
	ra := func(r authorizationv1.ResourceAttributes) string {
		return question(authorizationv1.SubjectAccessReviewSpec{User: "jane", ResourceAttributes: &r})
	}
	const allowed = `{"allowed":true,"reason":"she may"}`
	get := ra(authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods", Namespace: "default", Name: "web", Version: "v1"})
	var cases []review
	add := func(name, config string, answers []said, asks ...inquiry) {
		cases = append(cases, review{name: name, config: config, answers: answers, asks: asks})
	}
	// Every verdict, by every policy, before every other authorizer, remembered as long as it may be.
	for _, status := range []string{
		allowed, `{"allowed":true}`, `{}`, `{"reason":"who knows"}`, `{"denied":true,"reason":"never"}`, `{"allowed":true,"denied":true,"reason":"both"}`,
		`{"allowed":false,"evaluationError":"half blind"}`, `{"allowed":true,"reason":"she may","evaluationError":"half blind"}`, `{"denied":true}`,
	} {
		for i, config := range []string{
			authorizers(plainly, ""), authorizers(strictly, "", "AlwaysDeny"), authorizers(plainly, "", "AlwaysAllow"), authorizers(plainly+" v1beta1", "", "AlwaysDeny"),
			authorizers(plainly+" cacheAuthorizedRequests:false cacheUnauthorizedRequests:false", ""),
			authorizers("timeout:3s authorizedTTL:0s unauthorizedTTL:0s failurePolicy:Deny", ""),
		} {
			first, then := answer(status), answer(`{"reason":"asked again"}`)
			if strings.Contains(config, "v1beta1") {
				first, then = older(first), older(then)
			}
			add(fmt.Sprintf("%s by configuration %d", status, i), config, []said{first, then}, inquiry{body: get}, inquiry{pause: 20 * time.Second, body: get},
				inquiry{pause: 10*time.Second - time.Microsecond, body: get}, inquiry{pause: 2 * time.Microsecond, body: get},
				inquiry{pause: 270*time.Second - 2*time.Microsecond, body: get}, inquiry{pause: 2 * time.Microsecond, body: get})
		}
	}
	for i, f := range failures("SubjectAccessReview", answer(allowed).body, older(answer(allowed)).body) {
		f.config, f.asks = authorizers([]string{plainly, strictly, slowly}[i%3], "", []string{"AlwaysDeny", "AlwaysAllow"}[i/3%2]), []inquiry{{body: get}, {body: get}}
		cases = append(cases, f)
	}
	for i, f := range failures("SubjectAccessReview", older(answer(allowed)).body, answer(allowed).body) {
		if i%5 == 0 {
			f.name, f.config, f.asks = "v1beta1: "+f.name, authorizers(strictly+" v1beta1", ""), []inquiry{{body: get}, {body: get}}
			cases = append(cases, f)
		}
	}
	// What is asked about.
	attributes := []authorizationv1.ResourceAttributes{
		{Verb: "list", Resource: "pods"},
		{Verb: "*", Resource: "*", Group: "*", Version: "*"},
		{Verb: "update", Resource: "deployments", Subresource: "scale", Group: "apps", Name: "x", Namespace: "ns"},
		{Verb: "get"},
		{Resource: "pods"},
		{Verb: "use", Resource: "unheard", Group: "of.example.com", Version: "v7"},
	}
	var fields []*authorizationv1.FieldSelectorAttributes
	for _, raw := range []string{"a=b", "a==b,c!=d", "a", "metadata.name=x,spec.nodeName=y", "a=b=c", `a=x\,y`, "="} {
		fields = append(fields, &authorizationv1.FieldSelectorAttributes{RawSelector: raw})
	}
	for _, r := range [][]metav1.FieldSelectorRequirement{
		{{Key: "a", Operator: "In", Values: []string{"b"}}},
		{{Key: "a", Operator: "NotIn", Values: []string{"b"}}, {Key: "c", Operator: "In", Values: []string{"d", "e"}}},
		{{Key: "a", Operator: "Exists"}},
		{{Key: "a", Operator: "DoesNotExist"}, {Key: "b", Operator: "In", Values: []string{""}}},
		{{Key: "a", Operator: "Near", Values: []string{"b"}}, {Key: "c", Operator: "In", Values: []string{"d"}}},
		{{Key: "", Operator: "In", Values: []string{"b"}}},
	} {
		fields = append(fields, &authorizationv1.FieldSelectorAttributes{Requirements: r})
	}
	fields = append(fields, &authorizationv1.FieldSelectorAttributes{RawSelector: "a=b", Requirements: []metav1.FieldSelectorRequirement{{Key: "a", Operator: "In", Values: []string{"b"}}}}, &authorizationv1.FieldSelectorAttributes{})
	var labels []*authorizationv1.LabelSelectorAttributes
	for _, raw := range []string{"a=b", "a in (x,y),b notin (z),c,!d", "a>1", "a<2", "a b", "a!=b", "a in ()", "a=", "-x=y"} {
		labels = append(labels, &authorizationv1.LabelSelectorAttributes{RawSelector: raw})
	}
	for _, r := range [][]metav1.LabelSelectorRequirement{
		{{Key: "b", Operator: "In", Values: []string{"z", "y"}}, {Key: "a", Operator: "Exists"}},
		{{Key: "a", Operator: "NotIn", Values: []string{"b"}}},
		{{Key: "a", Operator: "DoesNotExist"}},
		{{Key: "a b", Operator: "In", Values: []string{"c"}}},
		{{Key: "a", Operator: "Gt", Values: []string{"1"}}, {Key: "c", Operator: "Exists"}},
		{{Key: "a", Operator: "In"}},
		{{Key: "a", Operator: "Exists", Values: []string{"x"}}},
	} {
		labels = append(labels, &authorizationv1.LabelSelectorAttributes{Requirements: r})
	}
	labels = append(labels, &authorizationv1.LabelSelectorAttributes{})
	for i, f := range fields {
		attributes = append(attributes, authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods", Version: "v1", FieldSelector: f, LabelSelector: labels[i%len(labels)]})
	}
	for _, l := range labels {
		attributes = append(attributes, authorizationv1.ResourceAttributes{Verb: "watch", Resource: "pods", LabelSelector: l})
	}
	for i, a := range attributes {
		config, first := authorizers(plainly, ""), answer(allowed)
		if i%3 == 2 {
			config, first = authorizers(plainly+" v1beta1", ""), older(first)
		}
		add(fmt.Sprintf("attributes %d", i), config, []said{first, {code: 500}}, inquiry{body: ra(a)}, inquiry{body: ra(a)})
	}
	extra := map[string]authorizationv1.ExtraValue{"example.com/a": {"x", "y"}, "example.com/b": nil}
	whole := authorizationv1.SubjectAccessReviewSpec{User: "jane", UID: "42", Groups: []string{"dev", "ops"}, Extra: extra}
	for i, spec := range []authorizationv1.SubjectAccessReviewSpec{whole, {User: "jane"}, {Groups: []string{"dev"}}, {User: "root", Groups: []string{"system:masters"}}, {User: "system:node:n", Groups: []string{"system:nodes"}}, {Extra: extra}} {
		for k, v := range []string{"", " v1beta1"} {
			first := answer(allowed)
			if v != "" {
				first = older(first)
			}
			spec.NonResourceAttributes, spec.ResourceAttributes = &authorizationv1.NonResourceAttributes{Path: "/healthz/*", Verb: "get"}, nil
			paths := question(spec)
			spec.NonResourceAttributes, spec.ResourceAttributes = nil, &attributes[2]
			add(fmt.Sprintf("user %d %d", i, k), authorizers(plainly+v, "", "AlwaysDeny"), []said{first, {code: 500}}, inquiry{body: paths}, inquiry{body: paths}, inquiry{body: question(spec)})
		}
	}
	for _, size := range []int{9000, 9989, 9990, 10001, 30000} {
		long := ra(authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods", Name: strings.Repeat("x", size)})
		add(fmt.Sprintf("a name of %d letters", size), authorizers(plainly, ""), []said{answer(allowed), answer(`{}`)}, inquiry{body: long}, inquiry{body: long})
	}
	// Where the webhook is asked at all.
	for _, conditions := range []string{
		`{expression: "true"}`, `{expression: "false"}`, `{expression: "request.user == 'jane'"}`, `{expression: "request.user != 'jane'"}`,
		`{expression: "has(request.resourceAttributes)"}, {expression: "request.resourceAttributes.namespace == 'default'"}`,
		`{expression: "request.nonResourceAttributes.path == '/x'"}`, `{expression: "request.nonResourceAttributes.path == '/x'"}, {expression: "false"}`,
		`{expression: "request.groups[0] == 'dev'"}`, `{expression: "request.extra['example.com/a'][0] == 'x'"}`, `{expression: "request.uid == ''"}`,
		`{expression: "has(request.resourceAttributes.labelSelector)"}`, `{expression: "request.resourceAttributes.version == 'v1'"}`,
	} {
		for _, policy := range []string{plainly, strictly} {
			spec := whole
			spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: "/x", Verb: "get"}
			add("where "+conditions, authorizers(policy, conditions, "AlwaysAllow"), []said{answer(allowed)}, inquiry{body: get}, inquiry{body: question(spec)},
				inquiry{body: ra(authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods", LabelSelector: labels[0]})})
		}
	}
	add("two at once", authorizers(plainly, ""), []said{{code: 200, body: answer(allowed).body, after: time.Second}}, inquiry{body: get, twice: true}, inquiry{body: get, twice: true})
	return cases
}

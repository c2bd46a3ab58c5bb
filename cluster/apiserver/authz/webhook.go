package authz

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	authorizationv1beta1 "k8s.io/api/authorization/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/apiserver/webhook"
	"kviz/cluster/sim"
)

// webhookAuthorizer asks a server outside, with a SubjectAccessReview
// (plugin/pkg/authorizer/webhook WebhookAuthorizer).
type webhookAuthorizer struct {
	webhook.Reviewer
	name     string
	cfg      *apiserver.WebhookConfiguration
	matcher  *authorizationcel.CELMatcher // nil matches all
	said     *utilcache.LRUExpireCache    // statuses, by the review's spec
	allowTTL time.Duration
	otherTTL time.Duration
}

func (b *builder) webhookLink(a *apiserver.AuthorizerConfiguration) (link, string, error) {
	cfg := a.Webhook
	if cfg.ConnectionInfo.Type != apiserver.AuthorizationWebhookConnectionInfoTypeKubeConfigFile {
		return link{}, "", fmt.Errorf("authorizer %s: connectionInfo.type %s is for servers other than kube-apiserver", a.Name, cfg.ConnectionInfo.Type)
	}
	address, err := b.files(*cfg.ConnectionInfo.KubeConfigFile)
	if err != nil {
		return link{}, "", err
	}
	w := &webhookAuthorizer{
		Reviewer: webhook.Reviewer{Client: b.client, Codec: accessCodecs[cfg.SubjectAccessReviewVersion], Address: address, Timeout: cfg.Timeout.Duration, Pause: webhook.ReviewPause}, name: a.Name,
		cfg: cfg, said: utilcache.NewLRUExpireCacheWithClock(8192, b.clock),
	}
	if cfg.CacheAuthorizedRequests {
		w.allowTTL = cfg.AuthorizedTTL.Duration
	}
	if cfg.CacheUnauthorizedRequests {
		w.otherTTL = cfg.UnauthorizedTTL.Duration
	}
	matcher, errs := validation.ValidateAndCompileMatchConditions(b.compiler, cfg.MatchConditions)
	if err := errs.ToAggregate(); err != nil {
		return link{}, "", err
	}
	w.matcher = matcher
	line := fmt.Sprintf("%s: asks %s, which has %s, after that %s", a.Name, address, cfg.Timeout.Duration, cfg.FailurePolicy)
	for _, m := range cfg.MatchConditions {
		line += "; where " + m.Expression
	}
	return link{a.Name, w.decide}, line, nil
}

// decide is the webhook's opinion.
func (w *webhookAuthorizer) decide(t *sim.Task, a *Attributes) (o opinion) {
	r := &authorizationv1.SubjectAccessReview{Spec: reviewSpec(a)}
	onError := func(err error) opinion {
		o.err, o.denied = err, w.cfg.FailurePolicy == apiserver.FailurePolicyDeny
		return o
	}
	if w.matcher != nil {
		matches, err := w.matcher.Eval(context.Background(), r) // it does not wait
		if err != nil {
			return onError(err)
		}
		if !matches {
			o.Reason = "not asked: its matchConditions do not hold"
			return o
		}
	}
	key, err := json.Marshal(r.Spec)
	if err != nil {
		return onError(err)
	}
	was, known := w.said.Get(string(key))
	st, _ := was.(authorizationv1.SubjectAccessReviewStatus)
	if !known {
		if st, err = w.review(t, r, &o); err != nil {
			return onError(err)
		}
		ttl := w.otherTTL
		if st.Allowed {
			ttl = w.allowTTL
		}
		if size := len(a.Namespace) + len(a.Verb) + len(a.Group) + len(a.Version) + len(a.Resource) + len(a.Subresource) + len(a.Name) + len(a.Path); size < maxRemembered && ttl > 0 {
			w.said.Add(string(key), st, ttl)
		}
	}
	o.Why = st.Reason
	o.Reason = st.Reason
	if known {
		o.Reason += " (remembered)"
	}
	switch {
	case st.Denied && st.Allowed:
		o.denied, o.err = true, errors.New("webhook subject access review returned both allow and deny response")
	case st.Denied:
		o.denied = true
	case st.Allowed:
		o.Decision = Decision{Allowed: true, Why: st.Reason, By: "webhook " + w.name, Reason: "The webhook authorizer " + w.name + " allows it: " + o.Reason + "."}
	}
	return o
}

// accessCodecs write and read SubjectAccessReviews as upstream's client does, by
// their version (subjectAccessReviewInterfaceFromConfig).
var accessCodecs = map[string]runtime.Codec{
	"v1":      clientscheme.Codecs.LegacyCodec(authorizationv1.SchemeGroupVersion),
	"v1beta1": clientscheme.Codecs.LegacyCodec(authorizationv1beta1.SchemeGroupVersion),
}

// review asks the server, in the version that it knows.
func (w *webhookAuthorizer) review(t *sim.Task, r *authorizationv1.SubjectAccessReview, o *opinion) (st authorizationv1.SubjectAccessReviewStatus, err error) {
	until := t.Deadline()
	if until == 0 { // a watch, or nobody's request
		until = t.Elapsed() + request.Longest
	}
	var result runtime.Object
	if w.cfg.SubjectAccessReviewVersion == "v1" {
		result, o.answered, err = w.Ask(t, r, &authorizationv1.SubjectAccessReview{}, until)
		if err == nil {
			st = result.(*authorizationv1.SubjectAccessReview).Status
		}
		return st, err
	}
	old := &authorizationv1beta1.SubjectAccessReview{Spec: authorizationv1beta1.SubjectAccessReviewSpec{
		User: r.Spec.User, UID: r.Spec.UID, Groups: r.Spec.Groups,
		ResourceAttributes:    (*authorizationv1beta1.ResourceAttributes)(r.Spec.ResourceAttributes),
		NonResourceAttributes: (*authorizationv1beta1.NonResourceAttributes)(r.Spec.NonResourceAttributes),
	}}
	for k, v := range r.Spec.Extra {
		if old.Spec.Extra == nil {
			old.Spec.Extra = map[string]authorizationv1beta1.ExtraValue{}
		}
		old.Spec.Extra[k] = authorizationv1beta1.ExtraValue(v)
	}
	result, o.answered, err = w.Ask(t, old, &authorizationv1beta1.SubjectAccessReview{}, until)
	if err == nil {
		st = authorizationv1.SubjectAccessReviewStatus(result.(*authorizationv1beta1.SubjectAccessReview).Status)
	}
	return st, err
}

// maxRemembered is up to how many characters what the sender of a request chooses
// may have, if the answer is to be remembered (maxControlledAttrCacheSize).
const maxRemembered = 10000

// reviewSpec describes a request to an authorizer outside.
func reviewSpec(a *Attributes) authorizationv1.SubjectAccessReviewSpec {
	u := &a.User
	spec := authorizationv1.SubjectAccessReviewSpec{User: u.Name, UID: u.UID, Groups: u.Groups, Extra: userInfoExtra(u)}
	if !a.IsResourceRequest() {
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: a.Path, Verb: a.Verb}
		return spec
	}
	ra := &authorizationv1.ResourceAttributes{
		Namespace: a.Namespace, Verb: a.Verb, Group: a.Group, Version: a.Version, Resource: a.Resource, Subresource: a.Subresource, Name: a.Name,
	}
	if of := fieldsAsked(a.FieldSelector); len(of) > 0 {
		ra.FieldSelector = &authorizationv1.FieldSelectorAttributes{Requirements: of}
	}
	if of := labelsAsked(a.LabelSelector); len(of) > 0 {
		ra.LabelSelector = &authorizationv1.LabelSelectorAttributes{Requirements: of}
	}
	spec.ResourceAttributes = ra
	return spec
}

// fieldsAsked is a field selector as a review tells it. What it cannot tell is left
// out: with less of a selector, less is allowed (fieldSelectorToAuthorizationAPI).
func fieldsAsked(of fields.Requirements) (out []metav1.FieldSelectorRequirement) {
	for _, r := range of {
		op := metav1.FieldSelectorOpIn
		switch r.Operator {
		case selection.Equals, selection.DoubleEquals, selection.In:
		case selection.NotEquals, selection.NotIn:
			op = metav1.FieldSelectorOpNotIn
		default:
			continue
		}
		out = append(out, metav1.FieldSelectorRequirement{Key: r.Field, Operator: op, Values: []string{r.Value}})
	}
	return out
}

// labelsAsked is the same of a label selector (labelSelectorToAuthorizationAPI).
func labelsAsked(of labels.Requirements) (out []metav1.LabelSelectorRequirement) {
	for i := range of {
		r := metav1.LabelSelectorRequirement{Key: of[i].Key()}
		switch of[i].Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			r.Operator = metav1.LabelSelectorOpIn
		case selection.NotEquals, selection.NotIn:
			r.Operator = metav1.LabelSelectorOpNotIn
		case selection.Exists:
			r.Operator = metav1.LabelSelectorOpExists
		case selection.DoesNotExist:
			r.Operator = metav1.LabelSelectorOpDoesNotExist
		default:
			continue
		}
		if values := of[i].ValuesUnsorted(); len(values) > 0 {
			r.Values = values
		}
		out = append(out, r)
	}
	return out
}

func userInfoExtra(u *authn.User) map[string]authorizationv1.ExtraValue {
	var out map[string]authorizationv1.ExtraValue
	for k, v := range u.Extra {
		if out == nil {
			out = map[string]authorizationv1.ExtraValue{}
		}
		out[k] = v
	}
	return out
}

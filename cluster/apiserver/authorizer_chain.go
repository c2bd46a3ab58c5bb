package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	authorizationv1beta1 "k8s.io/api/authorization/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/load"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kubernetes/pkg/kubeapiserver/authorizer/modes"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/webhook"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// authorizationFile is where the AuthorizationConfiguration is that
// --authorization-config names.
const authorizationFile = "/etc/kubernetes/authorization.yaml"

// chain is a row of authorizers as a file has it; without a file it is Node, RBAC.
// The first that allows or denies decides (apiserver pkg/authorization/union).
type chain struct {
	links []link
	types sets.Set[string] // but for webhooks: a file that is taken up later must have them all
}

// kubeconfigAt reads a kubeconfig on the server's machine.
func (s *Server) kubeconfigAt(path string) (address string, err error) {
	file, err := s.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("stat %s: no such file or directory", path)
	}
	return webhook.ReadKubeconfig(file)
}

// link is one authorizer. Its opinion is allow, deny or neither.
type link struct {
	name string
	ask  func(t *sim.Task, a *authz.Attributes) opinion
}

type opinion struct {
	authz.Decision
	denied   bool
	err      error
	answered trace.ID // by a server that was asked
}

// authorizationConfig reads the file (pkg/kubeapiserver/authorizer
// LoadAndValidateData, newForConfig).
func (s *Server) authorizationConfig(file []byte) (config, error) {
	cfg, err := load.LoadFromData(file)
	if err != nil {
		return config{}, fmt.Errorf("failed to load AuthorizationConfiguration from file: %w", err)
	}
	compiler := authorizationcel.NewDefaultCompiler()
	if err := s.validateAuthorization(cfg, compiler); err != nil {
		return config{}, err
	}
	out := &chain{types: sets.New[string]()}
	var lines []string
	for i := range cfg.Authorizers {
		a := &cfg.Authorizers[i]
		if a.Type != apiserver.TypeWebhook {
			out.types.Insert(string(a.Type))
		}
		l, line, err := s.newLink(a, compiler)
		if err != nil {
			return config{}, err
		}
		out.links = append(out.links, l)
		lines = append(lines, line)
	}
	return config{
		lines: lines,
		use:   func(*sim.Task) { s.chain = out },
		reuse: func(*sim.Task) error {
			if missing := s.chain.types.Difference(out.types); missing.Len() > 0 {
				return fmt.Errorf("missing required types: %v", sets.List(missing))
			}
			if more := out.types.Difference(s.chain.types).Intersection(sets.New(modes.ModeNode, modes.ModeRBAC)); more.Len() > 0 {
				return fmt.Errorf("authorizer type %s is not allowed if it was not enabled at initial server startup", sets.List(more)[0])
			}
			s.chain = out
			return nil
		},
	}, nil
}

// validateAuthorization is upstream's validation, which looks for kubeconfigs on
// the disk; here they are on the simulated machine.
func (s *Server) validateAuthorization(cfg *apiserver.AuthorizationConfiguration, compiler authorizationcel.Compiler) error {
	checked := cfg.DeepCopy()
	var errs field.ErrorList
	for i := range checked.Authorizers {
		w := checked.Authorizers[i].Webhook
		if w == nil || w.ConnectionInfo.Type != apiserver.AuthorizationWebhookConnectionInfoTypeKubeConfigFile || w.ConnectionInfo.KubeConfigFile == nil || !strings.HasPrefix(*w.ConnectionInfo.KubeConfigFile, "/") {
			continue
		}
		path := *w.ConnectionInfo.KubeConfigFile
		if _, err := s.kubeconfigAt(path); err != nil {
			errs = append(errs, field.Invalid(field.NewPath("authorizers").Index(i).Child("connectionInfo", "kubeConfigFile"), path, "error loading file: "+err.Error()))
		}
		w.ConnectionInfo = apiserver.WebhookConnectionInfo{Type: apiserver.AuthorizationWebhookConnectionInfoTypeInCluster}
	}
	errs = append(validation.ValidateAuthorizationConfiguration(compiler, nil, checked, sets.New(modes.AuthorizationModeChoices...), sets.New(modes.ModeWebhook)), errs...)
	if err := errs.ToAggregate(); err != nil {
		return err
	}
	var names []error
	for _, a := range cfg.Authorizers {
		if want := strings.ToLower(string(a.Type)); a.Type != apiserver.TypeWebhook && a.Name != want {
			names = append(names, fmt.Errorf("expected name %s for authorizer %s instead of %s", want, a.Type, a.Name))
		}
	}
	return utilerrors.NewAggregate(names)
}

func (s *Server) newLink(a *apiserver.AuthorizerConfiguration, compiler authorizationcel.Compiler) (link, string, error) {
	l := link{name: a.Name}
	switch string(a.Type) {
	case modes.ModeNode:
		l.ask = func(_ *sim.Task, a *authz.Attributes) opinion { return opinion{Decision: s.authorizer.DecideNode(a)} }
		return l, "node: what every kubelet may do", nil
	case modes.ModeRBAC:
		l.ask = func(_ *sim.Task, a *authz.Attributes) opinion { return opinion{Decision: s.authorizer.DecideRBAC(a)} }
		return l, "rbac: roles and their bindings", nil
	case modes.ModeAlwaysAllow:
		l.ask = func(*sim.Task, *authz.Attributes) opinion {
			return opinion{Decision: authz.Decision{Allowed: true, By: a.Name, Reason: "The authorizer alwaysallow allows everything."}}
		}
		return l, "alwaysallow: everything", nil
	case modes.ModeAlwaysDeny:
		l.ask = func(*sim.Task, *authz.Attributes) opinion {
			return opinion{Decision: authz.Decision{Why: "Everything is forbidden."}}
		}
		return l, "alwaysdeny: nothing", nil
	case modes.ModeWebhook:
		return s.newWebhookLink(a, compiler)
	}
	return l, "", fmt.Errorf("authorizer %s: there is no --authorization-policy-file on the API server's machine", a.Type)
}

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

func (s *Server) newWebhookLink(a *apiserver.AuthorizerConfiguration, compiler authorizationcel.Compiler) (link, string, error) {
	cfg := a.Webhook
	if cfg.ConnectionInfo.Type != apiserver.AuthorizationWebhookConnectionInfoTypeKubeConfigFile {
		return link{}, "", fmt.Errorf("authorizer %s: connectionInfo.type %s is for servers other than kube-apiserver", a.Name, cfg.ConnectionInfo.Type)
	}
	address, err := s.kubeconfigAt(*cfg.ConnectionInfo.KubeConfigFile)
	if err != nil {
		return link{}, "", err
	}
	w := &webhookAuthorizer{
		Reviewer: webhook.Reviewer{Client: s.webhooks, Codec: accessCodecs[cfg.SubjectAccessReviewVersion], Address: address, Timeout: cfg.Timeout.Duration, Pause: webhook.ReviewPause}, name: a.Name,
		cfg: cfg, said: utilcache.NewLRUExpireCacheWithClock(8192, virtualClock{s.k}),
	}
	if cfg.CacheAuthorizedRequests {
		w.allowTTL = cfg.AuthorizedTTL.Duration
	}
	if cfg.CacheUnauthorizedRequests {
		w.otherTTL = cfg.UnauthorizedTTL.Duration
	}
	matcher, errs := validation.ValidateAndCompileMatchConditions(compiler, cfg.MatchConditions)
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
func (w *webhookAuthorizer) decide(t *sim.Task, a *authz.Attributes) (o opinion) {
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
		o.Decision = authz.Decision{Allowed: true, Why: st.Reason, By: "webhook " + w.name, Reason: "The webhook authorizer " + w.name + " allows it: " + o.Reason + "."}
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
		until = t.Elapsed() + longestRequest
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
func reviewSpec(a *authz.Attributes) authorizationv1.SubjectAccessReviewSpec {
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

// privileged is the authorizer that comes before all others, whatever the file says.
const privileged = "kubernetes.io/system-privileged-group"

// decide asks the authorizers of the chain in turn.
func (ch *chain) decide(t *sim.Task, a *authz.Attributes) authz.Decision {
	if d, ok := authz.DecideMasters(a); ok {
		d.Asked = []string{privileged + ": allows it"}
		return d
	}
	var asked, reasons []string // reasons under their authors' names
	var errs []error
	var answered trace.ID
	for _, l := range ch.links {
		o := l.ask(t, a)
		if !o.answered.IsZero() {
			answered = o.answered
			t.SetCauses(answered)
		}
		asked = append(asked, l.name+": "+o.says())
		if o.err != nil {
			errs = append(errs, o.err)
		}
		reasons = append(reasons, l.name, o.Why)
		if o.Allowed || o.denied {
			d := o.Decision
			d.Forbidden, d.Err, d.Asked, d.Answered = o.denied, o.err, asked, answered
			if o.denied {
				d.By = l.name
			}
			return d
		}
	}
	return authz.Decision{Why: authz.Reasons(reasons...), Err: utilerrors.NewAggregate(errs), Asked: slices.Clip(asked), Answered: answered}
}

// says is an opinion in words.
func (o *opinion) says() string {
	tail := func(s, why string) string {
		if why != "" {
			s += ", " + why
		}
		return s
	}
	switch {
	case o.err != nil && o.denied:
		return "denies it: " + o.err.Error()
	case o.err != nil:
		return "no opinion: " + o.err.Error()
	case o.denied:
		return tail("denies it", o.Reason)
	case o.Allowed:
		return "allows it"
	case o.Reason != "":
		return tail("no opinion", o.Reason)
	}
	return tail("no opinion", o.Why)
}

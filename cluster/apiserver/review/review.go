// Package review answers the kinds that are questions: who am I, may I, what may I, whose token
// is this (pkg/registry/authentication, pkg/registry/authorization). Nothing is stored: a
// client creates the question and gets it back with its answer. Start reading at
// [Reviews.Create].
package review

import (
	"errors"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/kubernetes/pkg/apis/authorization"
	"k8s.io/kubernetes/pkg/apis/authorization/validation"
	authorizationutil "k8s.io/kubernetes/pkg/registry/authorization/util"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/handlers"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// Reviews know whom to ask.
type Reviews struct {
	Handlers       *handlers.Handlers
	Authenticators *authn.Authenticators
	Authorizers    *authz.Authorizers
}

// Create answers a question.
func (v *Reviews) Create(c *handlers.Call) *request.Response {
	in, err := v.Handlers.Decode(c)
	if err != nil {
		return &request.Response{Err: err}
	}
	obj, err := v.question(c, in)
	if err != nil {
		return &request.Response{Err: c.Refuse(trace.StageValidation, "", err)}
	}
	note := ""
	switch r := obj.(type) {
	case *authenticationv1.SelfSubjectReview:
		r.ObjectMeta = metav1.ObjectMeta{CreationTimestamp: c.Now()}
		r.Status.UserInfo = userInfo(c.User)
		note = "You are " + c.User.Name + "."
	case *authenticationv1.TokenReview:
		note = v.token(c, r)
	case *authorizationv1.SelfSubjectAccessReview:
		r.Status, note = v.access(c, c.User, r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes)
	case *authorizationv1.SubjectAccessReview:
		r.Status, note = v.access(c, reviewed(&r.Spec), r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes)
	case *authorizationv1.LocalSubjectAccessReview:
		r.Status, note = v.access(c, reviewed(&r.Spec), r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes)
	case *authorizationv1.SelfSubjectRulesReview:
		note = "Listed what " + c.User.Name + " may do in namespace " + r.Spec.Namespace + "."
		*r = authorizationv1.SelfSubjectRulesReview{TypeMeta: r.TypeMeta, Status: v.rules(c, r.Spec.Namespace)} // upstream's says no more either
	}
	c.Pass(trace.StageStorage, "", note+" Nothing is stored.", nil)
	return &request.Response{Object: obj, Created: true}
}

// question is a question as it is answered: with what the handler of all creations
// does to its metadata (handlers/create.go), and if its kind has nothing against it.
func (v *Reviews) question(c *handlers.Call, obj runtime.Object) (runtime.Object, error) {
	if c.Req.System {
		return obj, nil
	}
	m := object.Meta(obj)
	m.SetUID("")
	m.SetSelfLink("")
	m.SetCreationTimestamp(metav1.Time{})
	m.SetDeletionTimestamp(nil)
	m.SetDeletionGracePeriodSeconds(nil)
	if err := c.MatchNamespace(m); err != nil {
		return nil, err
	}
	obj, err := v.Handlers.Fields.Track(&c.Scope, c.Req, c.Kind, obj, nil)
	if err != nil {
		return nil, err
	}
	var errs field.ErrorList
	ctx := registry.Versioned{Resource: c.Kind.Resource}.Context(v.Handlers.Write(c))
	switch r := obj.(type) {
	case *authenticationv1.TokenReview:
		if r.Spec.Token == "" {
			return nil, apierrors.NewBadRequest("token is required for TokenReview in authentication")
		}
	case *authorizationv1.SelfSubjectAccessReview:
		errs = validation.ValidateSelfSubjectAccessReviewCreate(ctx, registry.Scheme, registry.Internal[authorization.SelfSubjectAccessReview](r))
	case *authorizationv1.SubjectAccessReview:
		errs = validation.ValidateSubjectAccessReviewCreate(ctx, registry.Scheme, registry.Internal[authorization.SubjectAccessReview](r))
	case *authorizationv1.LocalSubjectAccessReview:
		errs = validation.ValidateLocalSubjectAccessReviewCreate(ctx, registry.Scheme, registry.Internal[authorization.LocalSubjectAccessReview](r))
	case *authorizationv1.SelfSubjectRulesReview:
		if r.Spec.Namespace == "" {
			return nil, apierrors.NewBadRequest("no namespace on request")
		}
	}
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(authorization.Kind(""), "", errs) // the internal object does not say its kind
	}
	return obj, nil
}

func userInfo(u authn.User) authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{Username: u.Name, UID: u.UID, Groups: u.Groups}
	for k, v := range u.Extra {
		if info.Extra == nil {
			info.Extra = map[string]authenticationv1.ExtraValue{}
		}
		info.Extra[k] = v
	}
	return info
}

// token is TokenReview (pkg/registry/authentication/tokenreview/storage.go):
// whose is the token, on behalf of those audiences?
func (v *Reviews) token(c *handlers.Call, r *authenticationv1.TokenReview) string {
	audiences := r.Spec.Audiences
	if len(audiences) == 0 {
		audiences = authn.APIAudiences
	}
	p := &authn.Proof{}
	if token := shown(r.Spec.Token); token != "" {
		p = v.Authenticators.AuthenticateToken(c.Ask(), token, audiences)
	}
	c.Hear(p.Answered)
	c.Warnings = append(c.Warnings, p.Warnings...)
	for _, note := range p.Annotations {
		c.Annotate(note.Key, note.Value)
	}
	if p.User == nil {
		r.Status = authenticationv1.TokenReviewStatus{Error: p.Why}
		return "Nobody vouches for the token: " + strings.Join(p.Tried, "; ") + "."
	}
	u := *p.User
	u.Groups = u.WithAuthenticated()
	r.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: userInfo(u), Audiences: p.Audiences}
	return "The token belongs to " + u.Name + ", says " + p.By + "."
}

// shown is the token that a header with these words shows: its first word, which has
// to be the first (apiserver pkg/authentication/request/bearertoken).
func shown(words string) string {
	parts := strings.SplitN(strings.TrimSpace("Bearer "+words), " ", 3)
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}

func reviewed(s *authorizationv1.SubjectAccessReviewSpec) authn.User {
	u := authn.User{Name: s.User, UID: s.UID, Groups: s.Groups}
	for k, v := range s.Extra {
		if u.Extra == nil {
			u.Extra = map[string][]string{}
		}
		u.Extra[k] = v
	}
	return u
}

func (v *Reviews) access(c *handlers.Call, u authn.User, ra *authorizationv1.ResourceAttributes, na *authorizationv1.NonResourceAttributes) (authorizationv1.SubjectAccessReviewStatus, string) {
	a := authz.Attributes{User: u}
	what := ""
	var asked authorizer.AttributesRecord
	switch {
	case ra != nil:
		in := registry.Internal[authorization.SubjectAccessReview](&authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: ra}})
		asked = authorizationutil.ResourceAttributesFrom(u.Info(), *in.Spec.ResourceAttributes)
		a.Verb, a.Group, a.Version, a.Resource, a.Subresource, a.Namespace, a.Name = ra.Verb, ra.Group, asked.APIVersion, ra.Resource, ra.Subresource, ra.Namespace, ra.Name
		a.Nameless = true
		a.FieldSelector, a.LabelSelector = asked.FieldSelectorRequirements, asked.LabelSelectorRequirements
		what = ra.Verb + " " + ra.Resource
	case na != nil:
		a.Verb, a.Path = na.Verb, na.Path
		what = na.Verb + " " + na.Path
	}
	d := v.Authorizers.Decide(&c.Scope, a)
	st := authorizationv1.SubjectAccessReviewStatus{Allowed: d.Allowed, Denied: d.Forbidden, Reason: d.Why}
	st.EvaluationError = authorizationutil.BuildEvaluationError(d.Err, asked)
	if !d.Allowed {
		return st, u.Name + " may not " + what + "."
	}
	return st, u.Name + " may " + what + ". " + d.Reason
}

func (v *Reviews) rules(c *handlers.Call, namespace string) authorizationv1.SubjectRulesReviewStatus {
	st := authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{}, NonResourceRules: []authorizationv1.NonResourceRule{}}
	rules, err := v.Authorizers.Rules(c.User, namespace)
	for _, r := range rules {
		if len(r.Resources) > 0 {
			st.ResourceRules = append(st.ResourceRules, authorizationv1.ResourceRule{Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames})
		}
		if len(r.NonResourceURLs) > 0 {
			st.NonResourceRules = append(st.NonResourceRules, authorizationv1.NonResourceRule{Verbs: r.Verbs, NonResourceURLs: r.NonResourceURLs})
		}
	}
	errs := []error{err}
	if _, node := authz.NodeName(&c.User); node {
		errs, st.Incomplete = []error{errors.New("node authorizer does not support user rule resolution"), err}, true
	}
	if err := utilerrors.NewAggregate(errs); err != nil {
		st.EvaluationError = err.Error()
	}
	return st
}

package apiserver

import (
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/trace"
)

// review answers the kinds that are questions: who am I, may I, what may I
// (pkg/registry/authentication, pkg/registry/authorization). Nothing is
// stored.
func (c *call) review() *Response {
	obj, err := c.decode()
	if err != nil {
		return &Response{Err: err}
	}
	note := ""
	switch r := obj.(type) {
	case *authenticationv1.SelfSubjectReview:
		r.Status.UserInfo = userInfo(c.user)
		r.CreationTimestamp = c.now()
		note = "You are " + c.user.Name + "."
	case *authenticationv1.TokenReview:
		if r.Spec.Token == "" {
			return &Response{Err: c.refuse(trace.StageValidation, "", apierrors.NewBadRequest("token is required for TokenReview in authentication"))}
		}
		note = c.reviewToken(r)
	case *authorizationv1.SelfSubjectAccessReview:
		r.Status, note = c.reviewAccess(c.user, r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes)
	case *authorizationv1.SubjectAccessReview:
		r.Status, note = c.reviewAccess(reviewed(&r.Spec), r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes)
	case *authorizationv1.LocalSubjectAccessReview:
		r.Status, note = c.reviewAccess(reviewed(&r.Spec), r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes)
	case *authorizationv1.SelfSubjectRulesReview:
		r.Status = c.reviewRules(r.Spec.Namespace)
		note = "Listed what " + c.user.Name + " may do in namespace " + r.Spec.Namespace + "."
	}
	c.pass(trace.StageStorage, "", note+" Nothing is stored.", nil)
	c.created = true
	return &Response{Object: obj}
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

// reviewToken is TokenReview (pkg/registry/authentication/tokenreview/storage.go):
// whose is the token, on behalf of those audiences?
func (c *call) reviewToken(r *authenticationv1.TokenReview) string {
	audiences := r.Spec.Audiences
	if len(audiences) == 0 {
		audiences = apiAudiences
	}
	p := &proof{why: "invalid bearer token"}
	c.t.SetCauses(c.last)
	c.s.bearer(c.t, p, r.Spec.Token, audiences)
	c.heard(p)
	if p.user == nil {
		r.Status = authenticationv1.TokenReviewStatus{Error: p.why}
		return "Nobody vouches for the token: " + strings.Join(p.tried, "; ") + "."
	}
	u := *p.user
	u.Groups = withAuthenticated(u)
	r.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: userInfo(u), Audiences: p.audiences}
	return "The token belongs to " + u.Name + ", says " + p.by + "."
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

func (c *call) reviewAccess(u authn.User, ra *authorizationv1.ResourceAttributes, na *authorizationv1.NonResourceAttributes) (authorizationv1.SubjectAccessReviewStatus, string) {
	a := authz.Attributes{User: u}
	what := ""
	switch {
	case ra != nil:
		a.Verb, a.Group, a.Version, a.Resource, a.Subresource, a.Namespace, a.Name = ra.Verb, ra.Group, ra.Version, ra.Resource, ra.Subresource, ra.Namespace, ra.Name
		what = ra.Verb + " " + ra.Resource
	case na != nil:
		a.Verb, a.Path = na.Verb, na.Path
		what = na.Verb + " " + na.Path
	}
	d := c.decide(a)
	if d.Allowed {
		return authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: d.Reason}, u.Name + " may " + what + ". " + d.Reason
	}
	st := authorizationv1.SubjectAccessReviewStatus{Denied: d.Forbidden, Reason: d.Denied}
	if d.Err != nil {
		st.EvaluationError = d.Err.Error()
	}
	return st, u.Name + " may not " + what + "."
}

func (c *call) reviewRules(namespace string) authorizationv1.SubjectRulesReviewStatus {
	st := authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{}, NonResourceRules: []authorizationv1.NonResourceRule{}}
	for _, r := range c.s.authorizer.Rules(c.user, namespace) {
		if len(r.Resources) > 0 {
			st.ResourceRules = append(st.ResourceRules, authorizationv1.ResourceRule{Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames})
		}
		if len(r.NonResourceURLs) > 0 {
			st.NonResourceRules = append(st.NonResourceRules, authorizationv1.NonResourceRule{Verbs: r.Verbs, NonResourceURLs: r.NonResourceURLs})
		}
	}
	_, isNode := authz.NodeName(&c.user)
	st.Incomplete = isNode
	return st
}

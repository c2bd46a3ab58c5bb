package authz

import (
	"context"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/request"
)

// Decider decides whether the sender of a request may do something; an authorizer
// outside is asked because of the request.
type Decider interface {
	Decide(r *request.Scope, a Attributes) Decision
}

// InContext is the authorizer that Kubernetes' own code asks in the context of a
// request.
type InContext struct{ Decider }

// Authorize is authorizer.UnconditionalAuthorizer.
func (c InContext) Authorize(ctx context.Context, at authorizer.Attributes) (authorizer.Decision, string, error) {
	u := at.GetUser()
	ofFields, _ := at.GetFieldSelector() // what cannot be parsed selects nothing
	ofLabels, _ := at.GetLabelSelector()
	d := c.Decide(request.From(ctx), Attributes{
		User:          authn.User{Name: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(), Extra: u.GetExtra()},
		FieldSelector: ofFields, LabelSelector: ofLabels, Nameless: at.IsResourceRequest(),
		Verb: at.GetVerb(), Group: at.GetAPIGroup(), Version: at.GetAPIVersion(), Resource: at.GetResource(), Subresource: at.GetSubresource(),
		Namespace: at.GetNamespace(), Name: at.GetName(), Path: nonResourcePath(at),
	})
	if d.Allowed {
		return authorizer.DecisionAllow, d.Why, nil
	}
	if d.Forbidden {
		return authorizer.DecisionDeny, d.Why, d.Err
	}
	return authorizer.DecisionNoOpinion, d.Why, d.Err
}

// InRequest is an [InContext] for expressions, which ask without the context that they are
// evaluated in (cel/library/authz.go).
func InRequest(of *request.Scope, by authorizer.UnconditionalAuthorizer) authorizer.UnconditionalAuthorizer {
	return inRequest{by, of}
}

type inRequest struct {
	authorizer.UnconditionalAuthorizer
	of *request.Scope
}

// Authorize is authorizer.UnconditionalAuthorizer.
func (r inRequest) Authorize(_ context.Context, at authorizer.Attributes) (authorizer.Decision, string, error) {
	return r.UnconditionalAuthorizer.Authorize(request.NewContext(r.of), at)
}

// asked is what is asked of Kubernetes' own authorizers.
type asked struct{ *Attributes }

var _ authorizer.Attributes = asked{}

// The methods of authorizer.Attributes.
func (a asked) GetUser() user.Info     { return a.User.Info() }
func (a asked) GetVerb() string        { return a.Verb }
func (a asked) GetAPIGroup() string    { return a.Group }
func (a asked) GetAPIVersion() string  { return a.Version }
func (a asked) GetResource() string    { return a.Resource }
func (a asked) GetSubresource() string { return a.Subresource }
func (a asked) GetNamespace() string   { return a.Namespace }
func (a asked) GetName() string        { return a.Name }
func (a asked) GetPath() string        { return a.Path }
func (a asked) IsReadOnly() bool       { return a.Verb == "get" || a.Verb == "list" || a.Verb == "watch" }

func (a asked) GetFieldSelector() (fields.Requirements, error) { return a.FieldSelector, nil }
func (a asked) GetLabelSelector() (labels.Requirements, error) { return a.LabelSelector, nil }

func nonResourcePath(at authorizer.Attributes) string {
	if at.IsResourceRequest() {
		return ""
	}
	return at.GetPath()
}

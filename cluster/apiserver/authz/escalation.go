package authz

import (
	"context"
	"errors"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/apis/rbac"
	rbacregistry "k8s.io/kubernetes/pkg/registry/rbac"
	rbacregistryvalidation "k8s.io/kubernetes/pkg/registry/rbac/validation"

	"kviz/cluster/apiserver/authn"
)

// Grant is the writing of a role or a binding.
type Grant struct {
	User              *authn.User
	Resource          string // "roles" …
	Namespace, Name   string
	Object, OldObject runtime.Object
}

// MayGrant says what is wrong with a grant by somebody who lacks what is granted, and
// is not allowed to escalate roles or to bind this one
// (pkg/registry/rbac/*/policybased/storage.go). ctx is the request's.
func (a *Authorizers) MayGrant(ctx context.Context, g Grant) error {
	if g.OldObject != nil && rbacregistry.IsOnlyMutatingGCFields(g.Object, g.OldObject, equality.Semantic) {
		return nil
	}
	ctx = genericapirequest.WithUser(ctx, g.User.Info())
	ctx = genericapirequest.WithNamespace(ctx, g.Namespace)
	ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, APIGroup: rbacv1.GroupName, Resource: g.Resource, Namespace: g.Namespace, Name: g.Name,
	})
	if rbacregistry.EscalationAllowed(ctx) {
		return nil
	}
	return a.grants(ctx, &g)
}

// grants says what is granted that the user does not hold.
func (a *Authorizers) grants(ctx context.Context, g *Grant) error {
	ask := InContext{a}
	resolver := resolverOf(a.Source)
	var ref rbacv1.RoleRef
	switch o := g.Object.(type) {
	case *rbacv1.Role:
		if rbacregistry.RoleEscalationAuthorized(ctx, ask) {
			return nil
		}
		return rbacregistryvalidation.ConfirmNoEscalation(ctx, resolver, o.Rules)
	case *rbacv1.ClusterRole:
		if rbacregistry.RoleEscalationAuthorized(ctx, ask) {
			return nil
		}
		if err := rbacregistryvalidation.ConfirmNoEscalation(ctx, resolver, o.Rules); err != nil {
			return err
		}
		if aggregates(o) || aggregates(g.OldObject) {
			if rbacregistryvalidation.ConfirmNoEscalation(ctx, resolver, fullAuthority) != nil {
				return errors.New("must have cluster-admin privileges to use the aggregationRule")
			}
		}
		return nil
	case *rbacv1.RoleBinding:
		ref = o.RoleRef
	case *rbacv1.ClusterRoleBinding:
		ref = o.RoleRef
	}
	if rbacregistry.BindingAuthorized(ctx, rbac.RoleRef{APIGroup: ref.APIGroup, Kind: ref.Kind, Name: ref.Name}, g.Namespace, ask) {
		return nil
	}
	rules, err := resolver.GetRoleReferenceRules(ctx, ref, g.Namespace)
	if err != nil {
		return err
	}
	return rbacregistryvalidation.ConfirmNoEscalation(ctx, resolver, rules)
}

// fullAuthority is what it takes to gather roles of whatever label.
var fullAuthority = []rbacv1.PolicyRule{
	{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
	{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
}

func aggregates(obj runtime.Object) bool {
	r, ok := obj.(*rbacv1.ClusterRole)
	return ok && r.AggregationRule != nil && len(r.AggregationRule.ClusterRoleSelectors) > 0
}

func resolverOf(from Source) *rbacregistryvalidation.DefaultRuleResolver {
	r := roleSource{from}
	return rbacregistryvalidation.NewDefaultRuleResolver(r, r, r, r)
}

// roleSource are the roles and bindings of the watch caches, as upstream's listers
// give them.
type roleSource struct{ Source }

// GetRole is rbacregistryvalidation.RoleGetter.
func (r roleSource) GetRole(_ context.Context, namespace, name string) (*rbacv1.Role, error) {
	if o := r.Role(namespace, name); o != nil {
		return o, nil
	}
	return nil, apierrors.NewNotFound(rbacv1.Resource("role"), name)
}

// GetClusterRole is rbacregistryvalidation.ClusterRoleGetter.
func (r roleSource) GetClusterRole(_ context.Context, name string) (*rbacv1.ClusterRole, error) {
	if o := r.ClusterRole(name); o != nil {
		return o, nil
	}
	return nil, apierrors.NewNotFound(rbacv1.Resource("clusterrole"), name)
}

// ListRoleBindings is rbacregistryvalidation.RoleBindingLister.
func (r roleSource) ListRoleBindings(_ context.Context, namespace string) ([]*rbacv1.RoleBinding, error) {
	return r.RoleBindings(namespace), nil
}

// ListClusterRoleBindings is rbacregistryvalidation.ClusterRoleBindingLister.
func (r roleSource) ListClusterRoleBindings(context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	return r.ClusterRoleBindings(), nil
}

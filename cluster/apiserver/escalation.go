package apiserver

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

	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

const rbacGroup = "rbac.authorization.k8s.io"

// byEscalation refuses who would grant more than he has.
const byEscalation = "RBAC escalation check"

// holds refuses a role or a binding of somebody who has not himself what it grants, nor
// is allowed to escalate roles or to bind this one; so who may write roles cannot give
// himself anything (pkg/registry/rbac/*/policybased/storage.go). The components of
// this process are not asked.
func (c *call) holds() error {
	if c.kind.Group != rbacGroup || c.req.System || c.req.Subresource != "" {
		return nil
	}
	if c.old != nil && rbacregistry.IsOnlyMutatingGCFields(c.obj, c.old, equality.Semantic) {
		return nil
	}
	ctx := genericapirequest.WithUser(request.NewContext(&c.Scope), c.user.Info())
	ctx = genericapirequest.WithNamespace(ctx, c.req.Namespace)
	ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, APIGroup: c.kind.Group, Resource: c.kind.GroupVersionResource.Resource, Namespace: c.req.Namespace, Name: c.req.Name,
	})
	if rbacregistry.EscalationAllowed(ctx) {
		return nil
	}
	err := c.grants(ctx)
	if err == nil {
		return nil
	}
	if !apierrors.IsNotFound(err) { // the role that is bound
		err = apierrors.NewForbidden(c.kind.GroupResource(), object.Meta(c.obj).GetName(), err)
	}
	return c.Refuse(trace.StageValidation, byEscalation, err)
}

// grants says what is granted that the user does not hold.
func (c *call) grants(ctx context.Context) error {
	ask := authz.InContext{Decider: decider{c.s}}
	resolver := resolverOf(c.s.authorizer.Source)
	var ref rbacv1.RoleRef
	switch o := c.obj.(type) {
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
		if aggregates(o) || aggregates(c.old) {
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
	if rbacregistry.BindingAuthorized(ctx, rbac.RoleRef{APIGroup: ref.APIGroup, Kind: ref.Kind, Name: ref.Name}, c.req.Namespace, ask) {
		return nil
	}
	rules, err := resolver.GetRoleReferenceRules(ctx, ref, c.req.Namespace)
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

func resolverOf(from authz.Source) *rbacregistryvalidation.DefaultRuleResolver {
	r := roleSource{from}
	return rbacregistryvalidation.NewDefaultRuleResolver(r, r, r, r)
}

// roleSource are the roles and bindings of the watch caches, as upstream's listers
// give them.
type roleSource struct{ authz.Source }

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

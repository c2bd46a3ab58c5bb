package apiserver

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

const rbacGroup = "rbac.authorization.k8s.io"

// byEscalation refuses who would grant more than he has.
const byEscalation = "RBAC escalation check"

// confirmNoEscalation refuses a role or a binding of somebody who has not himself what it grants, nor
// is allowed to escalate roles or to bind this one; so who may write roles cannot give
// himself anything (pkg/registry/rbac/*/policybased/storage.go). The components of
// this process are not asked.
func (c *call) confirmNoEscalation(obj, old runtime.Object, sub string) error {
	if c.kind.Group != rbacGroup || c.req.System || sub != "" {
		return nil
	}
	err := c.s.authorizers.MayGrant(request.NewContext(&c.Scope), authz.Grant{
		User: &c.user, Resource: c.kind.GroupVersionResource.Resource, Namespace: c.req.Namespace, Name: c.req.Name, Object: obj, OldObject: old,
	})
	if err == nil {
		return nil
	}
	if !apierrors.IsNotFound(err) { // the role that is bound
		err = apierrors.NewForbidden(c.kind.GroupResource(), object.Meta(obj).GetName(), err)
	}
	return c.Refuse(trace.StageValidation, byEscalation, err)
}

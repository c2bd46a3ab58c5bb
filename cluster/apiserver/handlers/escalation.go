package handlers

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

const rbacGroup = "rbac.authorization.k8s.io"

// byEscalation refuses a user who would grant more than they have.
const byEscalation = "RBAC escalation check"

// confirmNoEscalation refuses a role or a binding from a user who lacks what it grants, and is
// not allowed to escalate roles or to bind this one; so a user who may write roles cannot gain
// anything by it (pkg/registry/rbac/*/policybased/storage.go). The components of this process
// are not asked.
func (h *Handlers) confirmNoEscalation(c *Call, obj, old runtime.Object, sub string) error {
	if c.Kind.Group != rbacGroup || c.Req.System || sub != "" {
		return nil
	}
	err := h.Authorizers.MayGrant(request.NewContext(&c.Scope), authz.Grant{
		User: &c.User, Resource: c.Kind.GroupVersionResource.Resource, Namespace: c.Req.Namespace, Name: c.Req.Name, Object: obj, OldObject: old,
	})
	if err == nil {
		return nil
	}
	if !apierrors.IsNotFound(err) { // the role that is bound
		err = apierrors.NewForbidden(c.Kind.GroupResource(), object.Meta(obj).GetName(), err)
	}
	return c.Refuse(trace.StageValidation, byEscalation, err)
}

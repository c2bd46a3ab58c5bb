// Package serviceaccount issues tokens of service accounts (pkg/registry/core/serviceaccount
// TokenREST; pkg/serviceaccount), and the documents by which others can verify them. Verifying
// tokens is in package authn. Tokens bound to Nodes or Secrets are not issued. Start reading at
// [Issuer.Issue].
package serviceaccount

import (
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/authentication"
	authenticationvalidation "k8s.io/kubernetes/pkg/apis/authentication/validation"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/handlers"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/trace"
)

// A token for so many seconds is one that admission asks for, for a pod; there may be
// programs that read it once, from the time when such tokens did not end. So it is good
// for a year, the kubelet is told that it has to be replaced within the hour, and who
// uses it later is noted (pkg/serviceaccount/claims.go WarnOnlyBoundTokenExpirationPeriod,
// ExpirationExtensionSeconds; kube-apiserver --service-account-extend-token-expiration).
const (
	warnOnlySeconds = 3607
	extendedTime    = 365 * 24 * time.Hour
)

// Issuer signs tokens.
type Issuer struct {
	Keys   *authn.Keys
	Expiry *authn.Expiry
	Lister admission.Lister
	// Restriction is NodeRestriction, as it is configured now.
	Restriction func() admission.Mutating
	Store       Store
	Fields      Fields
	NewID       func() types.UID // of a token
}

// Store reads the service accounts.
type Store interface {
	Current(r *request.Scope, at etcd3.Key, live bool) (*etcd3.Stored, error)
}

// Fields notes which fields of a TokenRequest its sender wrote.
type Fields interface {
	Track(r *request.Scope, req *request.Request, kind *registry.Kind, obj, old runtime.Object) (runtime.Object, error)
}

// Issue is serviceaccounts/token
// (pkg/registry/core/serviceaccount/storage/token.go).
func (i *Issuer) Issue(c *handlers.Call, a *admission.Attributes, body runtime.Object) (runtime.Object, error) {
	req, err := i.tokenRequest(c, body.(*authenticationv1.TokenRequest))
	if err != nil {
		return nil, c.Refuse(trace.StageValidation, "", err)
	}
	a.Sent = req
	if _, err := i.Restriction().Admit(&c.Scope, a); err != nil {
		return nil, c.Refuse(trace.StageMutatingAdmission, "NodeRestriction", err)
	}
	old, err := i.Store.Current(&c.Scope, c.At(), false)
	if err != nil {
		return nil, c.Refuse(trace.StageStorage, "", err)
	}
	sa := old.Object.(*corev1.ServiceAccount)
	if req.UID != "" && req.UID != sa.UID {
		return nil, c.Refuse(trace.StageValidation, "", apierrors.NewConflict(schema.GroupResource{Group: c.Sub.GVK.Group, Resource: c.Sub.GVK.Kind}, sa.Name,
			fmt.Errorf("the UID in the token request (%s) does not match the UID of the service account (%s)", req.UID, sa.UID)))
	}
	if errs := authenticationvalidation.ValidateTokenRequest(registry.Internal[authentication.TokenRequest](req)); len(errs) > 0 {
		return nil, c.Refuse(trace.StageValidation, "", apierrors.NewInvalid(c.Sub.GVK.GroupKind(), "", errs))
	}
	seconds := *req.Spec.ExpirationSeconds // defaulted
	now := c.Task.Now()
	claims := authn.Claims{
		Audience: req.Spec.Audiences, Issuer: authn.Issuer, IssuedAt: now.Unix(), NotBefore: now.Unix(),
		Expires: now.Add(time.Duration(seconds) * time.Second).Unix(), ID: string(i.NewID()),
		Subject: "system:serviceaccount:" + sa.Namespace + ":" + sa.Name,
		Kube:    authn.KubeClaims{Namespace: sa.Namespace, ServiceAccount: authn.Bound{Name: sa.Name, UID: string(sa.UID)}},
	}
	if len(claims.Audience) == 0 {
		claims.Audience = []string{authn.Issuer}
	}
	if err := i.bind(c, req.Spec.BoundObjectRef, &claims); err != nil {
		return nil, c.Refuse(trace.StageValidation, "", err)
	}
	if seconds == warnOnlySeconds && claims.Kube.Pod != nil && len(authn.Intersect(authn.APIAudiences, claims.Audience)) > 0 {
		claims.Kube.WarnAfter, claims.Expires = claims.Expires, now.Add(extendedTime).Unix()
	}
	token, err := i.Keys.Sign(claims)
	if err != nil {
		return nil, c.Refuse(trace.StageStorage, "", apierrors.NewInternalError(err))
	}
	i.Expiry.Issued(&claims)
	out := req.DeepCopy()
	out.Name, out.Namespace, out.UID, out.CreationTimestamp = sa.Name, sa.Namespace, sa.UID, c.Now()
	out.Spec.Audiences, out.Spec.ExpirationSeconds = claims.Audience, &seconds
	out.Status = authenticationv1.TokenRequestStatus{Token: token, ExpirationTimestamp: metav1.NewTime(now.Add(time.Duration(seconds) * time.Second).Truncate(time.Second))}
	c.Pass(trace.StageStorage, "", "Signed a token for service account "+sa.Namespace+"/"+sa.Name+", good for "+object.FormatRevision(seconds)+" s; nothing is stored.", nil)
	return out, nil
}

// tokenRequest is a request for a token as the handler of all creations gives it to
// the registry: it may name nobody but the service account of its path.
func (i *Issuer) tokenRequest(c *handlers.Call, req *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
	path := field.NewPath("metadata")
	switch {
	case req.Name != "" && req.Name != c.Req.Name:
		return nil, apierrors.NewInvalid(c.Sub.GVK.GroupKind(), c.Req.Name, field.ErrorList{field.Invalid(path.Child("name"), req.Name, "must match the service account name if specified")})
	case req.Namespace != "" && req.Namespace != c.Req.Namespace:
		return nil, c.MatchNamespace(req)
	case c.Req.System:
		return req, nil
	}
	owned, err := i.Fields.Track(&c.Scope, c.Req, c.PartOf(c.Sub.GVK), req, nil)
	if err != nil {
		return nil, err
	}
	return owned.(*authenticationv1.TokenRequest), nil
}

// bind binds a token to an object, without which it is worth nothing: a Pod, a
// Secret or a Node.
func (i *Issuer) bind(c *handlers.Call, ref *authenticationv1.BoundObjectReference, claims *authn.Claims) error {
	if ref == nil {
		return nil
	}
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	kind, namespace := client.Pods, c.Req.Namespace
	switch ref.Kind {
	case "Pod":
	case "Secret":
		kind = client.Secrets
	case "Node":
		kind, namespace = client.Nodes, ""
	default:
		return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s", gvk))
	}
	found := i.Lister.Get(kind, namespace, ref.Name)
	if found == nil {
		return apierrors.NewNotFound(kind.GroupResource(), ref.Name)
	}
	bound := &authn.Bound{Name: ref.Name, UID: string(object.Meta(found).GetUID())}
	switch obj := found.(type) {
	case *corev1.Pod:
		if obj.Spec.ServiceAccountName != c.Req.Name {
			return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", c.Req.Name))
		}
		claims.Kube.Pod, claims.Kube.Node = bound, i.nodeOf(obj)
	case *corev1.Secret:
		claims.Kube.Secret = bound
	case *corev1.Node:
		claims.Kube.Node = bound
	}
	if ref.UID != "" && string(ref.UID) != bound.UID {
		return apierrors.NewConflict(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, ref.Name, fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID))
	}
	return nil
}

// nodeOf is where a pod is: a token that is bound to the pod tells it, and does not end
// with the node.
func (i *Issuer) nodeOf(pod *corev1.Pod) *authn.Bound {
	if pod.Spec.NodeName == "" {
		return nil
	}
	at := &authn.Bound{Name: pod.Spec.NodeName}
	if node := i.Lister.Get(client.Nodes, "", at.Name); node != nil {
		at.UID = string(object.Meta(node).GetUID())
	}
	return at
}

package apiserver

import (
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// errUnknownToken is what nobody vouches for.
var errUnknownToken = errors.New("invalid bearer token")

// authenticateToken finds whom a bearer token belongs to: one of the table, or
// a service account whose token is bound to objects that still exist.
func (s *Server) authenticateToken(t *sim.Task, token string) (u authn.User, by string, err error) {
	if u, ok := s.cfg.Tokens[token]; ok {
		return u, "token table", nil
	}
	claims, err := s.keys.Verify(token, t.Now())
	if err != nil {
		return u, "service account token", fmt.Errorf("%w: %w", errUnknownToken, err)
	}
	if err := s.stillBound(claims); err != nil {
		return u, "service account token", err
	}
	return claims.User(), "service account token", nil
}

func (s *Server) stillBound(c *authn.Claims) error {
	check := func(r client.Resource, b authn.Bound) error {
		en := s.caches[KindFor(r.GroupVersionResource)].get(c.Kube.Namespace + "/" + b.Name)
		if en == nil || string(metaOf(en.obj).GetUID()) != b.UID {
			return fmt.Errorf("the token is bound to a %s that is gone", r.Kind)
		}
		return nil
	}
	if err := check(client.ServiceAccounts, c.Kube.ServiceAccount); err != nil {
		return err
	}
	if c.Kube.Pod != nil {
		return check(client.Pods, *c.Kube.Pod)
	}
	return nil
}

// issueToken is serviceaccounts/token
// (pkg/registry/core/serviceaccount/storage/token.go).
func (c *call) issueToken(body runtime.Object) (runtime.Object, error) {
	req := body.(*authenticationv1.TokenRequest)
	if err := c.load(); err != nil {
		return nil, c.refuse(trace.StageStorage, "", err)
	}
	sa := c.old.(*corev1.ServiceAccount)
	seconds := int64(3600)
	if req.Spec.ExpirationSeconds != nil {
		seconds = *req.Spec.ExpirationSeconds
	}
	if seconds < 600 {
		return nil, c.refuse(trace.StageValidation, "", apierrors.NewInvalid(c.sub.GVK.GroupKind(), "",
			field.ErrorList{field.Invalid(field.NewPath("spec", "expirationSeconds"), seconds, "may not specify a duration less than 10 minutes")}))
	}
	now := c.t.Now()
	claims := authn.Claims{
		Audience: req.Spec.Audiences, Issuer: authn.Issuer, IssuedAt: now.Unix(), NotBefore: now.Unix(),
		Expires: now.Add(time.Duration(seconds) * time.Second).Unix(), ID: string(c.s.newUID()),
		Subject: "system:serviceaccount:" + sa.Namespace + ":" + sa.Name,
		Kube:    authn.KubeClaims{Namespace: sa.Namespace, ServiceAccount: authn.Bound{Name: sa.Name, UID: string(sa.UID)}},
	}
	if len(claims.Audience) == 0 {
		claims.Audience = []string{authn.Issuer}
	}
	if err := c.bindToken(req.Spec.BoundObjectRef, &claims); err != nil {
		return nil, c.refuse(trace.StageValidation, "", err)
	}
	token, err := c.s.keys.Sign(claims)
	if err != nil {
		return nil, c.refuse(trace.StageStorage, "", apierrors.NewInternalError(err))
	}
	out := req.DeepCopy()
	out.Name, out.Namespace, out.CreationTimestamp = sa.Name, sa.Namespace, c.now()
	out.Spec.Audiences, out.Spec.ExpirationSeconds = claims.Audience, &seconds
	out.Status = authenticationv1.TokenRequestStatus{Token: token, ExpirationTimestamp: metav1.NewTime(now.Add(time.Duration(seconds) * time.Second).Truncate(time.Second))}
	c.pass(trace.StageStorage, "", "Signed a token for service account "+sa.Namespace+"/"+sa.Name+", good for "+formatRevision(seconds)+" s; nothing is stored.", nil)
	return out, nil
}

func (c *call) bindToken(ref *authenticationv1.BoundObjectReference, claims *authn.Claims) error {
	if ref == nil {
		return nil
	}
	if ref.Kind != "Pod" {
		return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s/%s: only pods are supported", ref.APIVersion, ref.Kind))
	}
	k := KindFor(client.Pods.GroupVersionResource)
	en := c.s.caches[k].get(c.req.Namespace + "/" + ref.Name)
	if en == nil {
		return apierrors.NewNotFound(k.groupResource(), ref.Name)
	}
	pod := en.obj.(*corev1.Pod)
	if ref.UID != "" && ref.UID != pod.UID {
		return apierrors.NewConflict(k.groupResource(), ref.Name, fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID))
	}
	if pod.Spec.ServiceAccountName != c.req.Name {
		return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", c.req.Name))
	}
	claims.Kube.Pod = &authn.Bound{Name: pod.Name, UID: string(pod.UID)}
	return nil
}

package apiserver

import (
	"errors"
	"fmt"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/authentication"
	authenticationvalidation "k8s.io/kubernetes/pkg/apis/authentication/validation"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// apiAudiences are those of the API server itself: --api-audiences, by default the
// issuer of service account tokens.
var apiAudiences = []string{authn.Issuer}

// bearer asks those who know tokens, the local ones before the remote ones, on
// behalf of audiences.
func (s *Server) bearer(t *sim.Task, p *proof, token string, audiences []string) {
	for _, a := range []struct {
		by    string
		there bool // the server is configured with it
		ask   func(*sim.Task, string, []string) (tokenAnswer, error)
	}{
		{byTokenFile, true, s.askTokenFile},
		{byServiceAccount, true, s.askServiceAccounts},
		{byBootstrap, true, s.askBootstrap},
		{byOIDC, len(s.issuers.list) > 0, s.askIssuers},
		{byTokenWebhook, s.tokenWebhook != nil, s.askTokenWebhook},
	} {
		if !a.there {
			continue
		}
		answer, err := a.ask(t, token, audiences)
		if !answer.fault.IsZero() {
			p.fault = answer.fault
		}
		if !answer.answered.IsZero() {
			p.answered = answer.answered
			t.SetCauses(p.answered)
		}
		if p.says(a.by, answer.user, answer.unknown, err) {
			p.tried[len(p.tried)-1] += answer.note
			p.audiences = answer.audiences
			return
		}
	}
}

// tokenAnswer is what an authenticator of tokens knows of one.
type tokenAnswer struct {
	user      *authn.User
	audiences []string
	unknown   string   // without a user: why it has nothing to say
	note      string   // with one: what else there is to say
	answered  trace.ID // by a server that was asked
	fault     trace.ID // that made it expire
}

// everywhere is an answer of an authenticator that knows no audiences: its tokens
// are meant for the API server (authenticator.WrapAudienceAgnosticToken).
func everywhere(u authn.User, audiences []string) tokenAnswer {
	both := authn.Intersect(apiAudiences, audiences)
	if len(both) == 0 {
		return tokenAnswer{unknown: "it is asked for audiences that its tokens are not for"}
	}
	return tokenAnswer{user: &u, audiences: both}
}

// askTokenFile looks the token up among those that the server was started with.
func (s *Server) askTokenFile(_ *sim.Task, token string, audiences []string) (tokenAnswer, error) {
	u, ok := s.tokenFile.User(token)
	if !ok {
		u, ok = s.cfg.Tokens[token]
	}
	switch {
	case !ok && s.tokenFile == nil && s.cfg.Tokens == nil:
		return tokenAnswer{unknown: "there is none"}, nil
	case !ok:
		return tokenAnswer{unknown: "not in it"}, nil
	}
	return everywhere(u, audiences), nil
}

// askServiceAccounts checks a service account's token: signature, audience, time,
// and that what it is bound to exists (pkg/serviceaccount/jwt.go AuthenticateToken).
func (s *Server) askServiceAccounts(t *sim.Task, token string, audiences []string) (tokenAnswer, error) {
	claims, err := s.keys.Verify(token)
	if errors.Is(err, authn.ErrForeign) {
		return tokenAnswer{unknown: err.Error()}, nil
	}
	if err != nil {
		return tokenAnswer{}, err
	}
	both, err := claims.For(audiences)
	if err != nil {
		return tokenAnswer{}, err
	}
	if err := claims.Check(t.Now()); err != nil {
		return tokenAnswer{}, err
	}
	if fault, err := s.expiry.token(claims); err != nil {
		return tokenAnswer{fault: fault}, err
	}
	if err := s.stillBound(claims, t.Now()); err != nil {
		return tokenAnswer{}, err
	}
	u := claims.User()
	answer := tokenAnswer{user: &u, audiences: both}
	if late := t.Now().Unix() - claims.Kube.WarnAfter; claims.Kube.WarnAfter > 0 && late > 0 {
		answer.note = fmt.Sprintf(", with a token that should have been replaced %v ago", time.Duration(late)*time.Second)
	}
	return answer, nil
}

// stillBound says whether the objects that a token is bound to still exist. One
// that is being deleted counts for a minute more (pkg/serviceaccount/claims.go
// Validate).
func (s *Server) stillBound(c *authn.Claims, now time.Time) error {
	account := s.caches[registry.KindFor(client.ServiceAccounts.GroupVersionResource)].Get(c.Kube.Namespace + "/" + c.Kube.ServiceAccount.Name)
	switch {
	case account == nil:
		return fmt.Errorf("serviceaccounts %q not found", c.Kube.ServiceAccount.Name)
	case string(object.Meta(account.Object).GetUID()) != c.Kube.ServiceAccount.UID:
		return fmt.Errorf("service account UID (%s) does not match claim (%s)", object.Meta(account.Object).GetUID(), c.Kube.ServiceAccount.UID)
	case deletedBefore(account.Object, now.Add(-authn.Leeway)):
		return fmt.Errorf("service account %s/%s has been deleted", c.Kube.Namespace, c.Kube.ServiceAccount.Name)
	}
	in := c.Kube.Namespace + "/"
	for _, b := range []struct {
		bound *authn.Bound
		kind  client.Resource
		key   string // of the namespace it is in
		as    string // in upstream's words
	}{
		{c.Kube.Secret, client.Secrets, in, "secret UID (%s) does not match service account secret ref claim (%s)"},
		{c.Kube.Pod, client.Pods, in, "pod UID (%s) does not match service account pod ref claim (%s)"},
		{c.Kube.Node, client.Nodes, "", "node UID (%s) does not match service account node ref claim (%s)"},
	} {
		if b.bound == nil || b.kind == client.Nodes && c.Kube.Pod != nil { // then it only says where the pod is
			continue
		}
		at := s.caches[registry.KindFor(b.kind.GroupVersionResource)].Get(b.key + b.bound.Name)
		switch {
		case at == nil:
			return fmt.Errorf("%w: %s %s%s is gone", authn.ErrInvalidated, strings.ToLower(b.kind.Kind), b.key, b.bound.Name)
		case string(object.Meta(at.Object).GetUID()) != b.bound.UID:
			return fmt.Errorf(b.as, object.Meta(at.Object).GetUID(), b.bound.UID)
		case deletedBefore(at.Object, now.Add(-authn.Leeway)):
			return authn.ErrInvalidated
		}
	}
	return nil
}

func deletedBefore(obj runtime.Object, at time.Time) bool {
	d := object.Meta(obj).GetDeletionTimestamp()
	return d != nil && d.Time.Before(at)
}

// A token for so many seconds is one that admission asks for, for a pod; there may be
// programs that read it once, from the time when such tokens did not end. So it is good
// for a year, the kubelet is told that it has to be replaced within the hour, and who
// uses it later is noted (pkg/serviceaccount/claims.go WarnOnlyBoundTokenExpirationPeriod,
// ExpirationExtensionSeconds; kube-apiserver --service-account-extend-token-expiration).
const (
	warnOnlySeconds = 3607
	extendedTime    = 365 * 24 * time.Hour
)

// issueToken is serviceaccounts/token
// (pkg/registry/core/serviceaccount/storage/token.go).
func (c *call) issueToken(body runtime.Object) (runtime.Object, error) {
	req, err := c.tokenRequest(body.(*authenticationv1.TokenRequest))
	if err != nil {
		return nil, c.Refuse(trace.StageValidation, "", err)
	}
	if err := admission.NewNodeRestriction(lister{c.s}, c.s.authorizers).RestrictToken(&c.Scope, c.admissionAttributes(admission.Create), req); err != nil {
		return nil, c.Refuse(trace.StageMutatingAdmission, "NodeRestriction", err)
	}
	if err := c.load(); err != nil {
		return nil, c.Refuse(trace.StageStorage, "", err)
	}
	sa := c.old.(*corev1.ServiceAccount)
	if req.UID != "" && req.UID != sa.UID {
		return nil, c.Refuse(trace.StageValidation, "", apierrors.NewConflict(schema.GroupResource{Group: c.sub.GVK.Group, Resource: c.sub.GVK.Kind}, sa.Name,
			fmt.Errorf("the UID in the token request (%s) does not match the UID of the service account (%s)", req.UID, sa.UID)))
	}
	if errs := authenticationvalidation.ValidateTokenRequest(registry.Internal[authentication.TokenRequest](req)); len(errs) > 0 {
		return nil, c.Refuse(trace.StageValidation, "", apierrors.NewInvalid(c.sub.GVK.GroupKind(), "", errs))
	}
	seconds := *req.Spec.ExpirationSeconds // defaulted
	now := c.Task.Now()
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
		return nil, c.Refuse(trace.StageValidation, "", err)
	}
	if seconds == warnOnlySeconds && claims.Kube.Pod != nil && len(authn.Intersect(apiAudiences, claims.Audience)) > 0 {
		claims.Kube.WarnAfter, claims.Expires = claims.Expires, now.Add(extendedTime).Unix()
	}
	token, err := c.s.keys.Sign(claims)
	if err != nil {
		return nil, c.Refuse(trace.StageStorage, "", apierrors.NewInternalError(err))
	}
	c.s.expiry.issued(&claims)
	out := req.DeepCopy()
	out.Name, out.Namespace, out.UID, out.CreationTimestamp = sa.Name, sa.Namespace, sa.UID, c.Now()
	out.Spec.Audiences, out.Spec.ExpirationSeconds = claims.Audience, &seconds
	out.Status = authenticationv1.TokenRequestStatus{Token: token, ExpirationTimestamp: metav1.NewTime(now.Add(time.Duration(seconds) * time.Second).Truncate(time.Second))}
	c.Pass(trace.StageStorage, "", "Signed a token for service account "+sa.Namespace+"/"+sa.Name+", good for "+object.FormatRevision(seconds)+" s; nothing is stored.", nil)
	return out, nil
}

// tokenRequest is a request for a token as the handler of all creations gives it to
// the registry: it may name nobody but the service account of its path.
func (c *call) tokenRequest(req *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
	path := field.NewPath("metadata")
	switch {
	case req.Name != "" && req.Name != c.req.Name:
		return nil, apierrors.NewInvalid(c.sub.GVK.GroupKind(), c.req.Name, field.ErrorList{field.Invalid(path.Child("name"), req.Name, "must match the service account name if specified")})
	case req.Namespace != "" && req.Namespace != c.req.Namespace:
		return nil, c.place(req)
	case c.req.System:
		return req, nil
	}
	on := *c
	on.kind, on.obj = c.bodysKind(c.sub.GVK), req
	err := on.trackManager(admission.Create)
	return on.obj.(*authenticationv1.TokenRequest), err
}

// bindToken binds a token to an object, without which it is worth nothing: a Pod, a
// Secret or a Node.
func (c *call) bindToken(ref *authenticationv1.BoundObjectReference, claims *authn.Claims) error {
	if ref == nil {
		return nil
	}
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	kind, in := client.Pods, c.req.Namespace+"/"
	switch ref.Kind {
	case "Pod":
	case "Secret":
		kind = client.Secrets
	case "Node":
		kind, in = client.Nodes, ""
	default:
		return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s", gvk))
	}
	k := registry.KindFor(kind.GroupVersionResource)
	en := c.s.caches[k].Get(in + ref.Name)
	if en == nil {
		return apierrors.NewNotFound(k.GroupResource(), ref.Name)
	}
	bound := &authn.Bound{Name: ref.Name, UID: string(object.Meta(en.Object).GetUID())}
	switch obj := en.Object.(type) {
	case *corev1.Pod:
		if obj.Spec.ServiceAccountName != c.req.Name {
			return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", c.req.Name))
		}
		claims.Kube.Pod, claims.Kube.Node = bound, c.nodeOf(obj)
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
func (c *call) nodeOf(pod *corev1.Pod) *authn.Bound {
	if pod.Spec.NodeName == "" {
		return nil
	}
	at := &authn.Bound{Name: pod.Spec.NodeName}
	if node := c.s.caches[registry.KindFor(client.Nodes.GroupVersionResource)].Get(at.Name); node != nil {
		at.UID = string(object.Meta(node.Object).GetUID())
	}
	return at
}

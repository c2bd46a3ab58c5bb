package authn

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// AccountTokens know the tokens of service accounts: signature, audience, time, and
// that what a token is bound to exists (pkg/serviceaccount/jwt.go).
type AccountTokens struct {
	keys   *Keys
	expiry *Expiry
	lister Lister

	// Secrets writes when the tokens of Secrets are used; nil: nobody does.
	Secrets SecretPatcher
}

// NewAccountTokens makes the authenticator.
func NewAccountTokens(k *Keys, e *Expiry, l Lister) *AccountTokens {
	return &AccountTokens{keys: k, expiry: e, lister: l}
}

// AuthenticateToken is [TokenAuthenticator]: it checks a token's signature, audience, time,
// and that what it is bound to exists (pkg/serviceaccount/jwt.go AuthenticateToken).
func (s *AccountTokens) AuthenticateToken(t *sim.Task, token string, audiences []string) (Answer, error) {
	claims, err := s.keys.Verify(token)
	if errors.Is(err, ErrForeign) {
		return s.secretToken(t, token, audiences)
	}
	if err != nil {
		return Answer{}, err
	}
	both, err := claims.For(audiences)
	if err != nil {
		return Answer{}, err
	}
	if err := claims.Check(t.Now()); err != nil {
		return Answer{}, err
	}
	if fault, err := s.expiry.token(claims); err != nil {
		return Answer{Fault: fault}, err
	}
	if err := s.stillBound(claims, t.Now()); err != nil {
		return Answer{}, err
	}
	u := claims.User()
	answer := Answer{User: &u, Audiences: both}
	if late := t.Now().Unix() - claims.Kube.WarnAfter; claims.Kube.WarnAfter > 0 && late > 0 {
		answer.Note = fmt.Sprintf(", with a token that should have been replaced %v ago", time.Duration(late)*time.Second)
	}
	return answer, nil
}

// stillBound says whether the objects that a token is bound to still exist. One
// that is being deleted counts for a minute more (pkg/serviceaccount/claims.go
// Validate).
func (s *AccountTokens) stillBound(c *Claims, now time.Time) error {
	account := s.lister.Get(client.ServiceAccounts, c.Kube.Namespace, c.Kube.ServiceAccount.Name)
	switch {
	case account == nil:
		return fmt.Errorf("serviceaccounts %q not found", c.Kube.ServiceAccount.Name)
	case string(object.Meta(account).GetUID()) != c.Kube.ServiceAccount.UID:
		return fmt.Errorf("service account UID (%s) does not match claim (%s)", object.Meta(account).GetUID(), c.Kube.ServiceAccount.UID)
	case deletedBefore(account, now.Add(-Leeway)):
		return fmt.Errorf("service account %s/%s has been deleted", c.Kube.Namespace, c.Kube.ServiceAccount.Name)
	}
	in := c.Kube.Namespace
	for _, b := range []struct {
		bound *Bound
		kind  client.Resource
		in    string // the namespace
		as    string // in upstream's words
	}{
		{c.Kube.Secret, client.Secrets, in, "secret UID (%s) does not match service account secret ref claim (%s)"},
		{c.Kube.Pod, client.Pods, in, "pod UID (%s) does not match service account pod ref claim (%s)"},
		{c.Kube.Node, client.Nodes, "", "node UID (%s) does not match service account node ref claim (%s)"},
	} {
		if b.bound == nil || b.kind == client.Nodes && c.Kube.Pod != nil { // then it only says where the pod is
			continue
		}
		at := s.lister.Get(b.kind, b.in, b.bound.Name)
		switch {
		case at == nil:
			return fmt.Errorf("%w: %s %s is gone", ErrInvalidated, strings.ToLower(b.kind.Kind), strings.TrimPrefix(b.in+"/"+b.bound.Name, "/"))
		case string(object.Meta(at).GetUID()) != b.bound.UID:
			return fmt.Errorf(b.as, object.Meta(at).GetUID(), b.bound.UID)
		case deletedBefore(at, now.Add(-Leeway)):
			return ErrInvalidated
		}
	}
	return nil
}

func deletedBefore(obj runtime.Object, at time.Time) bool {
	d := object.Meta(obj).GetDeletionTimestamp()
	return d != nil && d.Time.Before(at)
}

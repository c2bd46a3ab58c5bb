package authn

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"kviz/cluster/jws"
)

// Issuer is who signs service account tokens: --service-account-issuer.
const Issuer = "https://kubernetes.default.svc.cluster.local"

// Keys signs service account tokens and checks them: JSON web tokens, ES256,
// as pkg/serviceaccount/jwt.go makes them. The key comes from the seed, so it
// is no secret.
type Keys struct{ key *jws.Key }

// NewKeys draws a key.
func NewKeys(r *rand.Rand) *Keys { return &Keys{jws.NewKey(r)} }

// Claims is what a token says.
type Claims struct {
	Audience  []string   `json:"aud"`
	Expires   int64      `json:"exp"`
	IssuedAt  int64      `json:"iat"`
	Issuer    string     `json:"iss"`
	ID        string     `json:"jti"`
	Kube      KubeClaims `json:"kubernetes.io"`
	NotBefore int64      `json:"nbf"`
	Subject   string     `json:"sub"`
}

// KubeClaims is Kubernetes' own part of the claims.
type KubeClaims struct {
	Namespace      string `json:"namespace"`
	Node           *Bound `json:"node,omitempty"`
	Pod            *Bound `json:"pod,omitempty"`
	Secret         *Bound `json:"secret,omitempty"`
	ServiceAccount Bound  `json:"serviceaccount"`
	// WarnAfter is when the requested lifetime of a token ends whose lifetime was
	// extended; 0 for other tokens.
	WarnAfter int64 `json:"warnafter,omitempty"`
}

// Bound is an object a token is bound to: it is worth nothing without it.
type Bound struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// Public is the half of the key that checks tokens.
func (k *Keys) Public() jws.Public { return k.key.Public() }

// Sign makes a token. The same claims give the same token.
func (k *Keys) Sign(c Claims) (string, error) { return k.key.Sign(c) }

// Reasons for which a token is refused, in the words of pkg/serviceaccount.
var (
	// ErrForeign: it was not issued by this cluster, as far as it says; another
	// authenticator may know it.
	ErrForeign     = errors.New("not a token of this cluster's service accounts")
	ErrKey         = errors.New("invalid signature, no keys found")
	ErrSignature   = errors.New("invalid signature")
	ErrExpired     = errors.New("service account token has expired")
	ErrNotYetValid = errors.New("service account token is not valid yet")
	ErrFuture      = errors.New("service account token is issued in the future")
	ErrInvalidated = errors.New("service account token has been invalidated")
)

// Leeway is how much clocks may differ: so long after its time a token is still
// taken, and so long before (go-jose jwt.DefaultLeeway).
const Leeway = time.Minute

// Verify checks a token's issuer and signature, and gives what it says. Whether
// it holds now and for whom is [Claims.Check]'s to say (pkg/serviceaccount/jwt.go
// AuthenticateToken).
func (k *Keys) Verify(token string) (*Claims, error) {
	t, err := jws.Parse(token)
	if err != nil {
		return nil, ErrForeign
	}
	var issuer struct {
		Issuer string `json:"iss"`
	}
	if json.Unmarshal(t.Payload, &issuer) != nil || issuer.Issuer != Issuer {
		return nil, ErrForeign
	}
	if t.Header.KeyID != "" && t.Header.KeyID != k.key.ID() {
		return nil, ErrKey
	}
	if !k.key.Public().Verify(t) {
		return nil, ErrSignature
	}
	c := &Claims{}
	if err := json.Unmarshal(t.Payload, c); err != nil {
		return nil, ErrSignature
	}
	return c, nil
}

// For gives those of the wanted audiences that the token is meant for; the API
// server's own when it names none.
func (c *Claims) For(wanted []string) ([]string, error) {
	meant := c.Audience
	if len(meant) == 0 {
		meant = []string{Issuer}
	}
	both := Intersect(meant, wanted)
	if len(both) == 0 {
		return nil, fmt.Errorf("token audiences %q is invalid for the target audiences %q", meant, wanted)
	}
	return both, nil
}

// Intersect returns those elements of b that are also in a (apiserver
// pkg/authentication/authenticator Audiences.Intersect).
func Intersect(a, b []string) []string {
	var both []string
	for _, x := range b {
		if slices.Contains(a, x) {
			both = append(both, x)
		}
	}
	return both
}

// Check says whether the token holds at this time (pkg/serviceaccount/claims.go
// Validate).
func (c *Claims) Check(now time.Time) error {
	switch early, late := now.Add(-Leeway), now.Add(Leeway); {
	case late.Before(time.Unix(c.NotBefore, 0)):
		return ErrNotYetValid
	case early.After(time.Unix(c.Expires, 0)):
		return ErrExpired
	case late.Before(time.Unix(c.IssuedAt, 0)):
		return ErrFuture
	}
	return nil
}

// User is whom the claims speak for.
func (c *Claims) User() User {
	u := ServiceAccount(c.Kube.Namespace, c.Kube.ServiceAccount.Name)
	u.UID = c.Kube.ServiceAccount.UID
	u.Extra = map[string][]string{"authentication.kubernetes.io/credential-id": {"JTI=" + c.ID}}
	if c.Kube.Pod != nil {
		u.Extra["authentication.kubernetes.io/pod-name"] = []string{c.Kube.Pod.Name}
		u.Extra["authentication.kubernetes.io/pod-uid"] = []string{c.Kube.Pod.UID}
	}
	if c.Kube.Node != nil {
		u.Extra["authentication.kubernetes.io/node-name"] = []string{c.Kube.Node.Name}
		if c.Kube.Node.UID != "" {
			u.Extra["authentication.kubernetes.io/node-uid"] = []string{c.Kube.Node.UID}
		}
	}
	return u
}

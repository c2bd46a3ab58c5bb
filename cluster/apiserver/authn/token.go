package authn

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Issuer is who signs service account tokens: --service-account-issuer.
const Issuer = "https://kubernetes.default.svc.cluster.local"

// Keys signs service account tokens and checks them: JSON web tokens, ES256,
// as pkg/serviceaccount/jwt.go makes them. The key comes from the seed, so it
// is no secret.
type Keys struct {
	key *ecdsa.PrivateKey
	id  string
}

// NewKeys draws a key.
func NewKeys(r *rand.Rand) *Keys {
	for {
		b := make([]byte, 32)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		if key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), b); err == nil {
			pub, err := key.PublicKey.Bytes()
			if err != nil {
				continue
			}
			sum := sha256.Sum256(pub)
			return &Keys{key: key, id: base64.RawURLEncoding.EncodeToString(sum[:])}
		}
	}
}

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
	ServiceAccount Bound  `json:"serviceaccount"`
}

// Bound is an object a token is bound to: it is worth nothing without it.
type Bound struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

type header struct {
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
}

// Sign makes a token. The same claims give the same token.
func (k *Keys) Sign(c Claims) (string, error) {
	h, err := json.Marshal(header{"ES256", k.id})
	if err != nil {
		return "", fmt.Errorf("encoding a token's header: %w", err)
	}
	body, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encoding a token's claims: %w", err)
	}
	text := base64.RawURLEncoding.EncodeToString(h) + "." + base64.RawURLEncoding.EncodeToString(body)
	sum := sha256.Sum256([]byte(text))
	der, err := k.key.Sign(nil, sum[:], crypto.SHA256) // without randomness: RFC 6979
	if err != nil {
		return "", fmt.Errorf("signing a token: %w", err)
	}
	var sig struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &sig); err != nil {
		return "", fmt.Errorf("signing a token: %w", err)
	}
	raw := make([]byte, 64)
	sig.R.FillBytes(raw[:32])
	sig.S.FillBytes(raw[32:])
	return text + "." + base64.RawURLEncoding.EncodeToString(raw), nil
}

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
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, ErrForeign
	}
	var issuer struct {
		Issuer string `json:"iss"`
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(body, &issuer) != nil || issuer.Issuer != Issuer {
		return nil, ErrForeign
	}
	var h header
	raw, err := base64.RawURLEncoding.DecodeString(parts[0])
	if err != nil || json.Unmarshal(raw, &h) != nil {
		return nil, ErrForeign
	}
	sig, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return nil, ErrForeign
	}
	if h.KeyID != "" && h.KeyID != k.id {
		return nil, ErrKey
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if h.Algorithm != "ES256" || len(sig) != 64 ||
		!ecdsa.Verify(&k.key.PublicKey, sum[:], new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:])) {
		return nil, ErrSignature
	}
	c := &Claims{}
	if err := json.Unmarshal(body, c); err != nil {
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

// Intersect gives what is in both (apiserver pkg/authentication/authenticator
// Audiences.Intersect).
func Intersect(a, b []string) []string {
	var both []string
	for _, x := range a {
		if slices.Contains(b, x) {
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
	return u
}

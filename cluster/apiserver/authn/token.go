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

// Reasons for which a token is refused.
var (
	ErrNotAToken = errors.New("not a service account token of this cluster")
	ErrExpired   = errors.New("the token has expired")
)

// Verify checks a token's signature, issuer and time.
func (k *Keys) Verify(token string, now time.Time) (*Claims, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, ErrNotAToken
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(raw) != 64 {
		return nil, ErrNotAToken
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(&k.key.PublicKey, sum[:], new(big.Int).SetBytes(raw[:32]), new(big.Int).SetBytes(raw[32:])) {
		return nil, ErrNotAToken
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil, ErrNotAToken
	}
	c := &Claims{}
	if err := json.Unmarshal(body, c); err != nil || c.Issuer != Issuer {
		return nil, ErrNotAToken
	}
	if now.Unix() >= c.Expires {
		return nil, ErrExpired
	}
	return c, nil
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

// Package jws signs JSON web tokens and checks their signatures: JWS in its compact form, ES256
// only (RFC 7515, RFC 7518). Kubernetes uses go-jose, and etcd golang-jwt, which this build
// contains; both sign with the machine's randomness. Here the same key and claims give the same
// token in every run. Simplified: no other algorithm. Start reading at [Key.Sign].
package jws

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

	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simplified,
	What: "tokens are signed with ES256 only, so that they are the same in every run",
})

// Algorithm is the one there is.
const Algorithm = "ES256"

// Key signs tokens. It comes from the seed, so it is no secret.
type Key struct {
	key *ecdsa.PrivateKey
	id  string
}

// NewKey draws a key.
func NewKey(r *rand.Rand) *Key {
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
			return &Key{key: key, id: base64.RawURLEncoding.EncodeToString(sum[:])}
		}
	}
}

// ID is the key's ID: the hash of its public half.
func (k *Key) ID() string { return k.id }

// Header is a token's first part.
type Header struct {
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
}

// Sign makes a token of claims. The same claims give the same token.
func (k *Key) Sign(claims any) (string, error) {
	h, err := json.Marshal(Header{Algorithm, k.id})
	if err != nil {
		return "", fmt.Errorf("encoding a token's header: %w", err)
	}
	body, err := json.Marshal(claims)
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

// Token is a token that was taken apart; its signature may be anything.
type Token struct {
	Header    Header
	Payload   []byte // JSON, or anything
	signed    string
	signature []byte
}

// ErrMalformed is of text that is no token.
var ErrMalformed = errors.New("compact JWS format must have three parts")

// Parse takes a token apart.
func Parse(token string) (*Token, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, ErrMalformed
	}
	var raw [3][]byte
	for i, p := range parts {
		b, err := base64.RawURLEncoding.DecodeString(p)
		if err != nil {
			return nil, err
		}
		raw[i] = b
	}
	t := &Token{Payload: raw[1], signed: parts[0] + "." + parts[1], signature: raw[2]}
	if err := json.Unmarshal(raw[0], &t.Header); err != nil {
		return nil, err
	}
	return t, nil
}

// Public is the half of a key that checks signatures.
type Public struct {
	ID  string
	key *ecdsa.PublicKey
}

// Public is the key's public half.
func (k *Key) Public() Public { return Public{ID: k.id, key: &k.key.PublicKey} }

// Verify reports whether the key has signed the token.
func (p Public) Verify(t *Token) bool {
	sum := sha256.Sum256([]byte(t.signed))
	return p.key != nil && t.Header.Algorithm == Algorithm && len(t.signature) == 64 &&
		ecdsa.Verify(p.key, sum[:], new(big.Int).SetBytes(t.signature[:32]), new(big.Int).SetBytes(t.signature[32:]))
}

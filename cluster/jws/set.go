package jws

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// webKey is a key of a JSON web key set (RFC 7517).
type webKey struct {
	Use   string `json:"use,omitempty"`
	Type  string `json:"kty"`
	ID    string `json:"kid,omitempty"`
	Curve string `json:"crv,omitempty"`
	Alg   string `json:"alg,omitempty"`
	X     string `json:"x,omitempty"`
	Y     string `json:"y,omitempty"`
}

type webKeys struct {
	Keys []webKey `json:"keys"`
}

// MarshalSet writes public keys as a JSON web key set.
func MarshalSet(keys []Public) ([]byte, error) {
	set := webKeys{Keys: []webKey{}}
	for _, k := range keys {
		point, err := k.key.Bytes() // 4, X, Y
		if err != nil {
			return nil, fmt.Errorf("encoding key %s: %w", k.ID, err)
		}
		set.Keys = append(set.Keys, webKey{
			Use: "sig", Type: "EC", ID: k.ID, Curve: "P-256", Alg: Algorithm,
			X: base64.RawURLEncoding.EncodeToString(point[1:33]), Y: base64.RawURLEncoding.EncodeToString(point[33:]),
		})
	}
	return json.Marshal(set)
}

// ParseSet reads a JSON web key set. Keys of other kinds than ES256 wants are left
// out.
func ParseSet(data []byte) ([]Public, error) {
	var set webKeys
	if err := json.Unmarshal(data, &set); err != nil {
		return nil, err
	}
	var out []Public
	for _, k := range set.Keys {
		if k.Type != "EC" || k.Curve != "P-256" {
			continue
		}
		x, errX := base64.RawURLEncoding.DecodeString(k.X)
		y, errY := base64.RawURLEncoding.DecodeString(k.Y)
		if errX != nil || errY != nil || len(x) != 32 || len(y) != 32 {
			return nil, errors.New("invalid EC key, wrong length for x or y")
		}
		key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
		if err != nil {
			return nil, errors.New("invalid EC key, X/Y are not on declared curve")
		}
		out = append(out, Public{ID: k.ID, key: key})
	}
	return out, nil
}

package oidc

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"kviz/cluster/jws"
)

// algorithms are those that kube-apiserver allows where a configuration file names
// the issuers (plugin/pkg/authenticator/token/oidc AllValidSigningAlgorithms). Only
// keys for the first are known here.
var algorithms = []string{"ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512"}

// idToken is what the verifier itself looks at (go-oidc oidc.go idToken).
type idToken struct {
	Issuer       string            `json:"iss"`
	Subject      string            `json:"sub"`
	Audience     audience          `json:"aud"`
	Expiry       jsonTime          `json:"exp"`
	IssuedAt     jsonTime          `json:"iat"`
	NotBefore    *jsonTime         `json:"nbf"`
	Nonce        string            `json:"nonce"`
	AtHash       string            `json:"at_hash"`
	ClaimNames   map[string]string `json:"_claim_names"`
	ClaimSources map[string]struct {
		Endpoint    string `json:"endpoint"`
		AccessToken string `json:"access_token"`
	} `json:"_claim_sources"`
}

// audience is a string or a list of them.
type audience []string

func (a *audience) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*a = audience{s}
		return nil
	}
	var list []string
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	*a = list
	return nil
}

// jsonTime is seconds since 1970, with a fraction or without.
type jsonTime time.Time

func (j *jsonTime) UnmarshalJSON(b []byte) error {
	var n json.Number
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	unix, err := n.Int64()
	if err != nil {
		f, err := n.Float64()
		if err != nil {
			return err
		}
		unix = int64(f)
	}
	*j = jsonTime(time.Unix(unix, 0))
	return nil
}

// Keys checks the signature of a token with the issuer's keys and gives what was
// signed; it may ask the provider for them.
type Keys func(token *jws.Token) (payload []byte, err error)

// verify checks a token's form, signature, issuer, audience and time (go-oidc
// verify.go IDTokenVerifier.Verify; plugin/pkg/authenticator/token/oidc
// idTokenVerifier.Verify).
func (a *Authenticator) verify(raw string, now time.Time, keys Keys) ([]byte, error) {
	if strings.Count(raw, ".") > 2 {
		return nil, errors.New("oidc: malformed jwt")
	}
	token, err := jws.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("oidc: malformed jwt: %w", err)
	}
	if !slices.Contains(algorithms, token.Header.Algorithm) {
		return nil, fmt.Errorf("oidc: id token signed with unsupported algorithm, expected %q got %q", algorithms, token.Header.Algorithm)
	}
	payload, err := keys(token)
	if err != nil {
		return nil, fmt.Errorf("failed to verify signature: %w", err)
	}
	var t idToken
	if err := json.Unmarshal(payload, &t); err != nil {
		return nil, fmt.Errorf("oidc: failed to unmarshal claims: %w", err)
	}
	for _, source := range sorted(t.ClaimNames) {
		if t.ClaimNames[source] == "" {
			return nil, errors.New("oidc: failed to obtain source from claim name")
		}
		if _, ok := t.ClaimSources[t.ClaimNames[source]]; !ok {
			return nil, errors.New("oidc: source does not exist")
		}
	}
	if t.Issuer != a.jwt.Issuer.URL {
		return nil, fmt.Errorf("oidc: id token issued by a different provider, expected %q got %q", a.jwt.Issuer.URL, t.Issuer)
	}
	meant := a.jwt.Issuer.Audiences
	if len(meant) == 1 && !slices.Contains(t.Audience, meant[0]) {
		return nil, fmt.Errorf("oidc: expected audience %q got %q", meant[0], []string(t.Audience))
	}
	if expiry := time.Time(t.Expiry); expiry.Before(now) {
		return nil, fmt.Errorf("oidc: token is expired (Token Expiry: %v)", expiry.In(now.Location()))
	}
	if t.NotBefore != nil {
		if nbf := time.Time(*t.NotBefore); now.Add(time.Minute).Before(nbf) {
			return nil, fmt.Errorf("oidc: current time %v before the nbf (not before) time: %v", now, nbf.In(now.Location()))
		}
	}
	if !slices.ContainsFunc(meant, func(m string) bool { return slices.Contains(t.Audience, m) }) {
		return nil, fmt.Errorf("oidc: expected audience in %q got %q", slices.Compact(slices.Sorted(slices.Values(meant))), []string(t.Audience))
	}
	return payload, nil
}

// untrustedIssuer is the issuer that a token names, before anything is checked.
func untrustedIssuer(token string) (string, error) {
	if strings.HasPrefix(strings.TrimSpace(token), "{") {
		return "", errors.New("token is not compact JWT")
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", errors.New("malformed token")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", fmt.Errorf("error decoding token: %w", err)
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return "", fmt.Errorf("while unmarshaling token: %w", err)
	}
	if claims.Issuer == "accounts.google.com" {
		return "https://accounts.google.com", nil
	}
	return claims.Issuer, nil
}

// Discovery is a provider's document at ISSUER/.well-known/openid-configuration.
type Discovery struct {
	Issuer  string `json:"issuer"`
	JWKSURL string `json:"jwks_uri"`
}

// ReadDiscovery reads a provider's answer (go-oidc oidc.go NewProvider).
func (a *Authenticator) ReadDiscovery(code int, body []byte) (*Discovery, error) {
	if code != 200 {
		return nil, fmt.Errorf("%s: %s", strconv.Itoa(code), body)
	}
	d := &Discovery{}
	if err := json.Unmarshal(body, d); err != nil {
		return nil, fmt.Errorf("oidc: failed to decode provider discovery object: %w", err)
	}
	if d.Issuer != a.jwt.Issuer.URL {
		return nil, fmt.Errorf("oidc: issuer did not match the issuer returned by provider, expected %q got %q", a.jwt.Issuer.URL, d.Issuer)
	}
	if d.JWKSURL == "" {
		return nil, errors.New("provider did not return JWKS URL")
	}
	return d, nil
}

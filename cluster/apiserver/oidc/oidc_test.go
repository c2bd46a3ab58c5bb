package oidc_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/oidc"
	"kviz/cluster/jws"
)

var epoch = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

const plain = `
  claimMappings:
    username: {claim: sub, prefix: "corp:"}
    groups: {claim: groups, prefix: "g:"}`

func file(jwt string) []byte {
	return []byte(`apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer: {url: "https://id.example.com", audiences: [cluster]}` + jwt + "\n")
}

type claims map[string]any

// TestAuthenticate: what comes of a token under a configuration, in the words of
// upstream's authenticator (plugin/pkg/authenticator/token/oidc, go-oidc) where it is
// refused.
func TestAuthenticate(t *testing.T) {
	key, other := jws.NewKey(rand.New(rand.NewPCG(1, 1))), jws.NewKey(rand.New(rand.NewPCG(2, 2)))
	for _, c := range []struct {
		name, jwt string
		claims    claims
		want      string
	}{
		{"by claims", plain, claims{"sub": "jane", "groups": []string{"dev", "ops"}}, "corp:jane [g:dev g:ops]"},
		{"one group", plain, claims{"sub": "jane", "groups": "dev"}, "corp:jane [g:dev]"},
		{"no groups", plain, claims{"sub": "jane"}, "corp:jane []"},
		{"groups of another type", plain, claims{"sub": "jane", "groups": 3}, `oidc: parse groups claim "groups": json: cannot unmarshal number into Go value of type string`},
		{"no name", plain, claims{"sub": nil, "name": "jane", "-": "sub"}, `corp: []`},
		{"audiences", plain, claims{"sub": "jane", "aud": []string{"other", "cluster"}}, "corp:jane []"},
		{"another audience", plain, claims{"sub": "jane", "aud": "other"}, `oidc: verify token: oidc: expected audience "cluster" got ["other"]`},
		{"expired", plain, claims{"sub": "jane", "exp": epoch.Add(-time.Second).Unix()}, "oidc: verify token: oidc: token is expired (Token Expiry: 2026-01-01 11:59:59 +0000 UTC)"},
		{"a little early", plain, claims{"sub": "jane", "nbf": epoch.Add(59 * time.Second).Unix()}, "corp:jane []"},
		{"too early", plain, claims{"sub": "jane", "nbf": epoch.Add(61 * time.Second).Unix()}, "oidc: verify token: oidc: current time 2026-01-01 12:00:00 +0000 UTC before the nbf (not before) time: 2026-01-01 12:01:01 +0000 UTC"},
		{"a source that is not there", plain, claims{"sub": "jane", "_claim_names": claims{"groups": "s"}}, "oidc: verify token: oidc: source does not exist"},
		{"email", `
  claimMappings: {username: {claim: email, prefix: ""}}`, claims{"email": "jane@example.com", "email_verified": true}, "jane@example.com []"},
		{"email not verified", `
  claimMappings: {username: {claim: email, prefix: ""}}`, claims{"email": "jane@example.com", "email_verified": false}, "oidc: email not verified"},
		{
			"expressions", `
  claimMappings:
    username: {expression: "claims.sub + '@corp'"}
    groups: {expression: "claims.roles.split(',').map(r, r)"}
    uid: {expression: "claims.id"}
    extra: [{key: example.com/team, valueExpression: "claims.team"}, {key: example.com/none, valueExpression: "''"}]`,
			claims{"sub": "jane", "roles": "a,b", "id": "u1", "team": []string{"", "blue"}},
			"jane@corp [a b] uid=u1 map[example.com/team:[blue]]",
		},
		{
			"a list that upstream does not take for one", `
  claimMappings: {username: {expression: "claims.sub"}, groups: {expression: "claims.roles.split(',')"}}`,
			claims{"sub": "jane", "roles": "a,b"},
			"oidc: error evaluating group claim expression: expression must return a string or a list of strings",
		},
		{"nested claims", `
  claimMappings: {username: {expression: "claims.real.first__dot__name"}}`, claims{"real": claims{"first.name": "jane"}}, "jane []"},
		{"an empty name", `
  claimMappings: {username: {expression: "claims.sub"}}`, claims{"sub": ""}, "oidc: empty username via CEL expression is not allowed"},
		{"a name that is none", `
  claimMappings: {username: {expression: "claims.n"}}`, claims{"n": 3}, "oidc: error evaluating username claim expression: username claim expression must return a string"},
		{"a required claim", plain + `
  claimValidationRules: [{claim: hd, requiredValue: example.com}]`, claims{"sub": "jane", "hd": "other.com"}, "oidc: required claim hd value does not match. Got = other.com, want = example.com"},
		{"a required claim that is missing", plain + `
  claimValidationRules: [{claim: hd, requiredValue: example.com}]`, claims{"sub": "jane"}, "oidc: required claim hd not present in ID token"},
		{"a rule for claims", plain + `
  claimValidationRules: [{expression: "claims.level > 3", message: too low}]`, claims{"sub": "jane", "level": 3}, "oidc: error evaluating claim validation expression: validation expression 'claims.level > 3' failed: too low"},
		{"a rule for users", plain + `
  userValidationRules: [{expression: "'g:dev' in user.groups", message: developers only}]`, claims{"sub": "jane", "groups": []string{"ops"}}, "oidc: error evaluating user info validation rule: validation expression ''g:dev' in user.groups' failed: developers only"},
	} {
		cfg, err := oidc.Parse(file(c.jwt), nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		a := cfg.JWT[0]
		all := claims{"iss": "https://id.example.com", "aud": "cluster", "exp": epoch.Add(time.Hour).Unix()}
		for k, v := range c.claims {
			all[k] = v
		}
		token, err := key.Sign(all)
		if err != nil || !a.Knows(token) {
			t.Fatalf("%s: it does not know the token (%v)", c.name, err)
		}
		verify := func(with jws.Public) oidc.Keys {
			return func(tok *jws.Token) ([]byte, error) {
				if !with.Verify(tok) {
					return nil, fmt.Errorf("failed to verify id token signature")
				}
				return tok.Payload, nil
			}
		}
		if got := outcome(a.Authenticate(token, epoch, verify(key.Public()))); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		if got, want := outcome(a.Authenticate(token, epoch, verify(other.Public()))), "oidc: verify token: failed to verify signature: failed to verify id token signature"; got != want {
			t.Errorf("%s, with another key:\n got %s\nwant %s", c.name, got, want)
		}
	}
}

func outcome(u authn.User, err error) string {
	if err != nil {
		return err.Error()
	}
	out := fmt.Sprint(u.Name, " ", u.Groups)
	if u.UID != "" {
		out += " uid=" + u.UID
	}
	if u.Extra != nil {
		out += fmt.Sprint(" ", u.Extra)
	}
	return out
}

// TestParseRefuses: configurations that the server could not start with, in
// upstream's words.
func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"nothing", "", "empty config data"},
		{"an unknown field", strings.Replace(string(file(plain)), "jwt:", "wrong: 1\njwt:", 1), `strict decoding error: unknown field "wrong"`},
		{"http", strings.Replace(string(file(plain)), "https:", "http:", 1), `jwt[0].issuer.url: Invalid value: "http://id.example.com": URL scheme must be https`},
		{"our own issuer", strings.Replace(string(file(plain)), "https://id.example.com", authn.Issuer, 1), "URL must not overlap with disallowed issuers"},
		{"an expression that is none", string(file("\n  claimMappings: {username: {expression: \"claims.sub +\"}}")), "jwt[0].claimMappings.username.expression: Invalid value"},
	} {
		if _, err := oidc.Parse([]byte(c.file), []string{authn.Issuer}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// TestKeySet: the keys that a provider tells are those that it signs with.
func TestKeySet(t *testing.T) {
	key := jws.NewKey(rand.New(rand.NewPCG(3, 3)))
	data, err := jws.MarshalSet([]jws.Public{key.Public()})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := jws.ParseSet(data)
	if err != nil || len(keys) != 1 || keys[0].ID != key.ID() {
		t.Fatalf("%s is read as %v (%v)", data, keys, err)
	}
	text, err := key.Sign(claims{"sub": "jane"})
	if err != nil {
		t.Fatal(err)
	}
	token, err := jws.Parse(text)
	if err != nil || !keys[0].Verify(token) {
		t.Errorf("the key does not know its token (%v)", err)
	}
	forged, err := jws.Parse(text[:len(text)-4] + "AAAA")
	if err != nil || keys[0].Verify(forged) {
		t.Errorf("a forged signature is believed (%v)", err)
	}
}

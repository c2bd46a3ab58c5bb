package proof

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"
	"k8s.io/apiserver/pkg/authentication/user"
	upstreamoidc "k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"

	"kviz/cluster/apiserver/oidc"
	"kviz/cluster/jws"
)

// provider has the keys of an issuer, for both sides.
type provider struct{ keys jws.Public }

func (p provider) payload(t *jws.Token) ([]byte, error) {
	if !p.keys.Verify(t) {
		return nil, errors.New("failed to verify id token signature")
	}
	return t.Payload, nil
}

// VerifySignature is go-oidc's KeySet.
func (p provider) VerifySignature(_ context.Context, text string) ([]byte, error) {
	t, err := jws.Parse(text)
	if err != nil {
		return nil, err
	}
	return p.payload(t)
}

// The same tokens to upstream's authenticator of OIDC and to kviz': the same users,
// the same refusals.
func TestTokensOfAnIssuer(t *testing.T) {
	const plain = `
  claimMappings:
    username: {claim: sub, prefix: "corp:"}
    groups: {claim: groups, prefix: "g:"}`
	configs := []string{
		plain,
		"\n  claimMappings: {username: {claim: email, prefix: \"\"}}",
		plain + "\n  claimValidationRules: [{claim: hd, requiredValue: example.com}]",
		plain + "\n  claimValidationRules: [{expression: \"claims.level > 3\", message: too low}]",
		plain + "\n  userValidationRules: [{expression: \"'g:dev' in user.groups\", message: developers only}]",
		`
  claimMappings:
    username: {expression: "claims.sub + '@corp'"}
    groups: {expression: "claims.roles.split(',').map(r, r)"}
    uid: {expression: "claims.id"}
    extra: [{key: example.com/team, valueExpression: "claims.team"}, {key: example.com/none, valueExpression: "''"}]`,
		"\n  claimMappings: {username: {expression: \"claims.sub\"}, groups: {expression: \"claims.roles.split(',')\"}, uid: {claim: id}}",
	}
	now := time.Now()
	claims := []map[string]any{
		{"sub": "jane", "groups": []string{"dev", "ops"}, "roles": "a,b", "id": "u1", "team": []string{"", "blue"}, "hd": "example.com", "level": 4, "email": "jane@example.com", "email_verified": true},
		{"sub": "jane", "groups": "dev", "hd": "other.com", "level": 3, "email": "jane@example.com", "email_verified": false, "jti": "t1"},
		{"sub": "jane"},
		{"sub": ""},
		{"sub": 3, "id": 4},
		{},
		{"sub": "jane", "groups": 3},
		{"sub": "jane", "groups": []any{"dev", 3}},
		{"sub": "jane", "aud": []string{"other", "cluster"}},
		{"sub": "jane", "aud": "other"},
		{"sub": "jane", "iss": "https://other.example.com"},
		{"sub": "jane", "exp": now.Add(-time.Minute).Unix()},
		{"sub": "jane", "nbf": now.Add(time.Hour).Unix()},
		{"sub": "jane", "nbf": now.Add(30 * time.Second).Unix()},
		{"sub": "jane", "_claim_names": map[string]any{"groups": "s"}},
		{"email": "jane@example.com"},
		{"sub": "jane", "email_verified": "yes", "email": "j"},
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	key, other := jws.NewKey(rand.New(rand.NewPCG(1, 1))), jws.NewKey(rand.New(rand.NewPCG(2, 2)))
	compared := 0
	for _, c := range configs {
		file := []byte("apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt:\n- issuer: {url: \"https://id.example.com\", audiences: [cluster]}" + c + "\n")
		obj, err := runtime.Decode(codecs.UniversalDecoder(), file)
		if err != nil {
			t.Fatal(err)
		}
		ours, err := oidc.Parse(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, keys := range []provider{{key.Public()}, {other.Public()}} {
			theirs, err := upstreamoidc.New(t.Context(), upstreamoidc.Options{
				JWTAuthenticator: obj.(*apiserver.AuthenticationConfiguration).JWT[0], KeySet: keys, SupportedSigningAlgs: upstreamoidc.AllValidSigningAlgorithms(),
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, more := range claims {
				all := map[string]any{"iss": "https://id.example.com", "aud": "cluster", "exp": now.Add(time.Hour).Unix()}
				for k, v := range more {
					all[k] = v
				}
				text, err := key.Sign(all)
				if err != nil {
					t.Fatal(err)
				}
				want, got := "unknown", "unknown"
				if resp, ok, err := theirs.AuthenticateToken(t.Context(), text); err != nil {
					want = err.Error()
				} else if ok {
					want = who(resp.User.(*user.DefaultInfo))
				}
				if a := ours.JWT[0]; a.Knows(text) {
					if u, err := a.Authenticate(text, time.Now(), keys.payload); err != nil {
						got = err.Error()
					} else {
						got = who(&user.DefaultInfo{Name: u.Name, UID: u.UID, Groups: u.Groups, Extra: u.Extra})
					}
				}
				compared++
				if want, got = clock.ReplaceAllString(want, "<time>"), clock.ReplaceAllString(got, "<time>"); want != got {
					t.Errorf("%v under%s\nkube-apiserver: %s\nkviz:           %s", more, c, want, got)
				}
			}
		}
	}
	t.Logf("%d tokens judged", compared)
}

// clock are times as go-oidc writes them.
var clock = regexp.MustCompile(`20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9:.]+ [+-][0-9]{4} [A-Z]+( m=[+0-9.]+)?`)

func who(u *user.DefaultInfo) string {
	return fmt.Sprintf("%s %q uid=%s %v", u.Name, u.Groups, u.UID, u.Extra)
}

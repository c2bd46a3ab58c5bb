package serve_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"

	"kviz/cluster/jws"
)

// Who knows only the API server's address can check a service account's token: the
// issuer is in the token and in the discovery document, and one of the keys has signed.
func TestTokensCanBeCheckedByTheDocumentsAboutThem(t *testing.T) {
	e := newEdge(t)
	read := func(path string, headers ...string) (*http.Response, []byte) {
		resp := e.do(t, http.MethodGet, path, "", headers...)
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, body
	}
	const document = "/.well-known/openid-configuration"
	robot := []string{"Impersonate-User", "system:serviceaccount:default:default", "Impersonate-Group", "system:serviceaccounts"}
	resp, body := read(document, robot...)
	if got, want := string(body), `{"issuer":"https://kubernetes.default.svc.cluster.local","jwks_uri":"https://192.168.0.10:6443/openid/v1/jwks",`+
		`"response_types_supported":["id_token"],"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256"]}`; got != want {
		t.Errorf("the issuer's document: %d\n%s\nwant\n%s", resp.StatusCode, got, want)
	}
	for header, want := range map[string]string{"Content-Type": "application/json", "Cache-Control": "public, max-age=3600"} {
		if got := resp.Header.Get(header); got != want {
			t.Errorf("the issuer's document has %s %q, want %q", header, got, want)
		}
	}
	var metadata struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(body, &metadata); err != nil {
		t.Fatal(err)
	}

	resp, body = read(strings.TrimPrefix(metadata.JWKSURI, "https://192.168.0.10:6443"), robot...)
	for header, want := range map[string]string{"Content-Type": "application/jwk-set+json", "Cache-Control": "public, max-age=3600"} {
		if got := resp.Header.Get(header); got != want {
			t.Errorf("the keys have %s %q, want %q", header, got, want)
		}
	}
	keys, err := jws.ParseSet(body)
	if err != nil || len(keys) != 1 {
		t.Fatalf("%d keys, %v, in\n%s", len(keys), err, body)
	}

	resp = e.do(t, http.MethodPost, "/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"robot"}}`)
	resp.Body.Close()
	resp = e.do(t, http.MethodPost, "/api/v1/namespaces/default/serviceaccounts/robot/token", `{"spec":{"audiences":["somebody"]}}`)
	var asked authenticationv1.TokenRequest
	if err := json.NewDecoder(resp.Body).Decode(&asked); err != nil {
		t.Fatal(err)
	}
	token, err := jws.Parse(asked.Status.Token)
	if err != nil {
		t.Fatal(err)
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	if err := json.Unmarshal(token.Payload, &claims); err != nil {
		t.Fatal(err)
	}
	if claims.Issuer != metadata.Issuer || token.Header.KeyID != keys[0].ID || !keys[0].Verify(token) {
		t.Errorf("a token of %s, key %s, cannot be checked by\n%s", claims.Issuer, token.Header.KeyID, body)
	}

	for _, c := range []struct {
		method, path string
		headers      []string
		want         int
	}{
		{http.MethodGet, document, []string{"Impersonate-User", "jane"}, http.StatusForbidden},
		{http.MethodGet, "/openid/v1/jwks", []string{"Impersonate-User", "jane"}, http.StatusForbidden},
		{http.MethodGet, "/openid/v1/jwks", []string{"Accept", "application/json"}, http.StatusNotAcceptable},
		{http.MethodPost, document, nil, http.StatusMethodNotAllowed},
		{http.MethodGet, "/openid/v1/jwks/1", nil, http.StatusNotFound},
	} {
		resp := e.do(t, c.method, c.path, "", c.headers...)
		resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%s %s %q: %d, want %d", c.method, c.path, c.headers, resp.StatusCode, c.want)
		}
	}
}

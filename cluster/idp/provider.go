// Package idp is an OpenID Connect identity provider: the server where a company's
// people log in, and whose signed tokens the API server accepts if an
// AuthenticationConfiguration names it as an issuer.
//
// A real one (Keycloak, Dex, Entra ID) is somewhere on the network, and a person logs
// in with a browser. Simplified: everybody may log in as anybody, without a password;
// the signing keys are in the provider's memory, which outlives its process; requests
// go from task to task instead of over TLS. What the API server fetches follows
// OpenID Connect Discovery 1.0 and RFC 7517. Start reading at [Provider.Login].
package idp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"kviz/cluster/jws"
	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simulated,
	What: "the identity provider lets everybody log in as anybody, without a password; its signing keys outlive its process",
	Seen: "kviz oidc",
})

// Issuer is the provider's URL, which is in its tokens.
const Issuer = "https://oidc.kviz.dev"

// Host is where it is reached, and Address the host's.
const (
	Host    = "oidc.kviz.dev"
	Address = "198.51.100.20:443"
)

// Audience is whom a token is for unless the login says otherwise.
const Audience = "kubernetes"

// TTL is how long a token holds unless the login says otherwise.
const TTL = time.Hour

// latency is how long the provider takes for one request.
const latency = 5 * time.Millisecond

// loginTimeout is how long somebody who logs in waits for an answer.
const loginTimeout = 30 * time.Second

// Provider is the identity provider. Its methods may be called only on the kernel's
// goroutine.
type Provider struct {
	remote.Server
	rand  *rand.Rand
	keys  []*jws.Key // the newest signs, it and the one before are published
	begin func(causes []trace.ID)
}

// New makes a provider with one key. begin is called to have its process begin, when
// it is asked for the first time.
func New(k *sim.Kernel, begin func(causes []trace.ID)) *Provider {
	p := &Provider{rand: k.Rand("oidc"), begin: begin}
	p.Latency, p.Handle = latency, p.serve
	p.Rotate()
	return p
}

// Rotate makes a new key, which from now on signs. The one before it stays
// published, those before that do not.
func (p *Provider) Rotate() { p.keys = append(p.keys, jws.NewKey(p.rand)) }

// KeyID names the key that signs: "key-2".
func (p *Provider) KeyID() string { return fmt.Sprintf("key-%d", len(p.keys)) }

// Get fetches a URL of the provider's host. It begins to run when it is asked for
// the first time. The error is that of Go's HTTP client.
func (p *Provider) Get(t *sim.Task, address *url.URL, deadline time.Duration) (code int, body []byte, answered trace.ID, err error) {
	if address.Hostname() != Host {
		err = fmt.Errorf("dial tcp: lookup %s: no such host", address.Hostname())
	} else {
		code, body, answered, err = p.ask(t, remote.Request{Method: http.MethodGet, Path: address.Path}, deadline)
	}
	if err != nil {
		err = &url.Error{Op: "Get", URL: address.String(), Err: err}
	}
	return code, body, answered, err
}

func (p *Provider) ask(t *sim.Task, r remote.Request, deadline time.Duration) (int, []byte, trace.ID, error) {
	if !p.Started() {
		p.begin(t.Causes())
	}
	call := p.Send(t, r)
	if call == nil {
		return 0, nil, trace.ID{}, fmt.Errorf("dial tcp %s: connect: connection refused", Address)
	}
	body, code, err := call.Wait(t, deadline)
	return code, body, call.Answered(), err
}

// Login is what somebody who logs in asks for.
type Login struct {
	User      string         `json:"user"`
	Groups    []string       `json:"groups,omitempty"`
	Audiences []string       `json:"audiences,omitempty"` // of the token; [Audience] if none
	TTL       time.Duration  `json:"ttl,omitempty"`       // of the token; [TTL] if 0
	Claims    map[string]any `json:"claims,omitempty"`    // that it has besides, or instead
}

// Login gives a token to whoever logs in.
func (p *Provider) Login(t *sim.Task, l Login) (token string, err error) {
	body, err := json.Marshal(l)
	if err != nil {
		return "", fmt.Errorf("encoding a login: %w", err)
	}
	code, answer, _, err := p.ask(t, remote.Request{Method: http.MethodPost, Path: "/token", Body: body}, t.Elapsed()+loginTimeout)
	switch {
	case err == context.DeadlineExceeded: //nolint:errorlint // it is made by Wait
		return "", fmt.Errorf("the identity provider did not answer within %s", loginTimeout)
	case err != nil:
		return "", fmt.Errorf("the identity provider cannot be reached: %w", err)
	case code != http.StatusOK:
		return "", fmt.Errorf("the identity provider answered %d: %s", code, answer)
	}
	return string(answer), nil
}

// serve is the provider's HTTP handler.
func (p *Provider) serve(t *sim.Task, r *remote.Request) remote.Answer {
	payload := &trace.OIDCCall{Method: r.Method, Path: r.Path, Code: http.StatusOK, KeyID: p.KeyID()}
	var body []byte
	var err error
	switch r.Method + " " + r.Path {
	case "GET /.well-known/openid-configuration":
		body, err = discovery()
	case "GET /keys":
		for _, k := range p.published() {
			payload.Keys = append(payload.Keys, k.ID)
		}
		body, err = jws.MarshalSet(p.published())
	case "POST /token":
		body, err = p.issue(t, r.Body, payload)
	default:
		payload.Code, body = http.StatusNotFound, []byte("404 page not found\n")
	}
	if err != nil {
		payload.Code, body = http.StatusBadRequest, []byte(err.Error()+"\n")
		payload.Error = err.Error()
	}
	return remote.Answer{Code: payload.Code, Body: body, Event: t.Emit(trace.Event{Kind: trace.OIDCCalled, Payload: payload})}
}

// published are the public halves of the newest two keys, the newest first.
func (p *Provider) published() []jws.Public {
	var out []jws.Public
	for i := len(p.keys) - 1; i >= 0 && len(out) < 2; i-- {
		out = append(out, p.keys[i].Public())
	}
	return out
}

func discovery() ([]byte, error) {
	return json.Marshal(map[string]any{
		"issuer": Issuer, "authorization_endpoint": Issuer + "/authorize", "token_endpoint": Issuer + "/token", "jwks_uri": Issuer + "/keys",
		"response_types_supported": []string{"id_token"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{jws.Algorithm},
	})
}

// issue makes a token.
func (p *Provider) issue(t *sim.Task, body []byte, payload *trace.OIDCCall) ([]byte, error) {
	var l Login
	if err := json.Unmarshal(body, &l); err != nil || l.User == "" {
		return nil, fmt.Errorf("want the name of a user")
	}
	payload.User = l.User
	if l.Audiences == nil {
		l.Audiences = []string{Audience}
	}
	if l.TTL == 0 {
		l.TTL = TTL
	}
	now := t.Now()
	claims := map[string]any{
		"iss": Issuer, "sub": l.User, "aud": l.Audiences, "iat": now.Unix(), "exp": now.Add(l.TTL).Unix(),
		"jti": fmt.Sprintf("%016x", p.rand.Uint64()), "email": l.User + "@kviz.dev", "email_verified": true,
	}
	if len(l.Groups) > 0 {
		claims["groups"] = l.Groups
	}
	maps.Copy(claims, l.Claims)
	token, err := p.keys[len(p.keys)-1].Sign(claims)
	if err != nil {
		return nil, fmt.Errorf("making a token: %w", err)
	}
	payload.Until = time.Unix(now.Add(l.TTL).Unix(), 0).Sub(t.Kernel().Epoch())
	return []byte(token), nil
}

// State is what is known of the provider.
type State struct {
	Up   bool
	Key  string   // that signs
	Keys []string // the IDs of those that it publishes
}

// State tells how the provider is.
func (p *Provider) State() State {
	st := State{Up: p.Up(), Key: p.KeyID()}
	for _, k := range p.published() {
		st.Keys = append(st.Keys, k.ID)
	}
	return st
}

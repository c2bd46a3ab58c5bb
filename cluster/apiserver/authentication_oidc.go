package apiserver

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"kviz/cluster/apiserver/oidc"
	"kviz/cluster/jws"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

const byOIDC = "OIDC"

// issuers are those whose tokens are believed, and what is known of their
// providers: what --authentication-config comes to.
type issuers struct {
	config *oidc.Config // nil without a file
	list   []*issuer
}

// issuer is one of them.
type issuer struct {
	*oidc.Authenticator
	s     *Server
	found *oidc.Discovery // what its provider tells of itself; nil before it was asked
	ill   error           // why it could not be
	dead  bool            // another configuration is in force

	keys     []jws.Public // as they were fetched last
	fetching bool
	fetched  sim.Cond
	answered trace.ID // the provider's newest answer
}

// How long a request to a provider takes at most; how long it is until it is asked
// again that did not answer; and how long a new configuration has until its
// providers have answered, or is not taken up (plugin/pkg/authenticator/token/oidc
// New; pkg/kubeapiserver/options UpdateAuthenticationConfigTimeout).
const (
	providerTimeout = 30 * time.Second
	providerRetry   = 10 * time.Second
	providersKnown  = time.Minute
)

// authenticationConfig reads the file.
func (s *Server) authenticationConfig(file []byte) (config, error) {
	c, err := oidc.Parse(file, apiAudiences)
	if err != nil {
		return config{}, err
	}
	return config{
		lines: c.Says(),
		use:   func(t *sim.Task) { s.useIssuers(t, c) },
		reuse: func(t *sim.Task) error { return s.replaceIssuers(t, c) },
	}, nil
}

func (s *Server) useIssuers(t *sim.Task, c *oidc.Config) {
	s.leaveIssuers()
	s.issuers = s.newIssuers(t, c)
}

func (s *Server) leaveIssuers() {
	for _, i := range s.issuers.list {
		i.dead = true
	}
	s.issuers = issuers{}
}

// newIssuers begins to ask the providers.
func (s *Server) newIssuers(t *sim.Task, c *oidc.Config) issuers {
	out := issuers{config: c}
	causes := t.Causes()
	for _, a := range c.JWT {
		i := &issuer{Authenticator: a, s: s}
		out.list = append(out.list, i)
		s.p.Go("oidc/"+a.Issuer(), func(t *sim.Task) {
			t.SetCauses(causes...)
			for !i.dead && !i.discover(t) {
				t.Sleep(providerRetry)
			}
		})
	}
	return out
}

// replaceIssuers takes up another configuration in a running server, once all its
// providers have answered.
func (s *Server) replaceIssuers(t *sim.Task, c *oidc.Config) error {
	if !reflect.DeepEqual(s.issuers.config.Anonymous, c.Anonymous) {
		return field.Forbidden(field.NewPath("anonymous"), "changed from initial configuration file")
	}
	next := s.newIssuers(t, c)
	for deadline := t.Elapsed() + providersKnown; ; t.Sleep(time.Second) {
		at := slices.IndexFunc(next.list, func(i *issuer) bool { return i.found == nil })
		if at < 0 {
			break
		}
		if t.Elapsed() < deadline {
			continue
		}
		for _, i := range next.list {
			i.dead = true
		}
		ill := next.list[at]
		return fmt.Errorf("oidc: authenticator for issuer %q is not healthy: %w", ill.Issuer(), ill.ill)
	}
	s.leaveIssuers()
	s.issuers = next
	return nil
}

// discover asks the provider where its keys are.
func (i *issuer) discover(t *sim.Task) bool {
	code, body, err := i.get(t, i.DiscoveryURL())
	if err == nil {
		i.found, err = i.ReadDiscovery(code, body)
	}
	i.ill = err
	return err == nil
}

func (i *issuer) get(t *sim.Task, address string) (code int, body []byte, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, nil, err
	}
	if i.s.cfg.Provider == nil {
		return 0, nil, &url.Error{Op: "Get", URL: address, Err: fmt.Errorf("dial tcp: lookup %s: no such host", u.Hostname())}
	}
	code, body, answered, err := i.s.cfg.Provider.Get(t, u, t.Elapsed()+providerTimeout)
	if !answered.IsZero() {
		i.answered = answered
	}
	return code, body, err
}

// askIssuers believes a token that one of the issuers has signed.
func (s *Server) askIssuers(t *sim.Task, token string, audiences []string) (tokenAnswer, error) {
	for _, i := range s.issuers.list {
		if !i.Knows(token) {
			continue
		}
		if i.found == nil {
			return tokenAnswer{}, errors.New("oidc: authenticator not initialized")
		}
		was := i.answered
		u, err := i.Authenticate(token, t.Now(), func(token *jws.Token) ([]byte, error) { return i.check(t, token) })
		answer := tokenAnswer{}
		if err == nil {
			answer = everywhere(u, audiences)
		}
		if i.answered != was {
			answer.answered = i.answered
		}
		return answer, err
	}
	return tokenAnswer{unknown: "of no issuer in the configuration"}, nil
}

// check looks for the key that has signed a token among those that are known, and
// then among those that the provider has now. Its answer says nothing of how long it
// holds, so it is asked for every token whose key is not known (go-oidc jwks.go
// remoteKeySet.verify).
func (i *issuer) check(t *sim.Task, token *jws.Token) ([]byte, error) {
	if !signed(i.keys, token) {
		keys, err := i.fetch(t)
		if err != nil {
			return nil, fmt.Errorf("fetching keys %w", err)
		}
		if !signed(keys, token) {
			return nil, errors.New("failed to verify id token signature")
		}
	}
	return token.Payload, nil
}

func signed(keys []jws.Public, token *jws.Token) bool {
	return slices.ContainsFunc(keys, func(k jws.Public) bool {
		return (token.Header.KeyID == "" || token.Header.KeyID == k.ID) && k.Verify(token)
	})
}

// fetch gets the provider's keys. Who wants them while they are on their way gets
// the same.
func (i *issuer) fetch(t *sim.Task) ([]jws.Public, error) {
	if i.fetching {
		for i.fetching {
			i.fetched.Wait(t)
		}
		return i.keys, i.ill
	}
	i.fetching = true
	defer func() {
		i.fetching = false
		i.fetched.Broadcast()
	}()
	code, body, err := i.get(t, i.found.JWKSURL)
	var keys []jws.Public
	switch {
	case err != nil:
		err = fmt.Errorf("oidc: get keys failed %w", err)
	case code != http.StatusOK:
		err = fmt.Errorf("oidc: get keys failed: %d %s", code, body)
	default:
		if keys, err = jws.ParseSet(body); err != nil {
			err = fmt.Errorf("oidc: failed to decode keys: %w %s", err, body)
		}
	}
	if i.ill = err; err != nil {
		return nil, err
	}
	i.keys = keys
	return keys, nil
}

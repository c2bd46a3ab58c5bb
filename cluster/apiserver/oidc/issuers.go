package oidc

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/jws"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Issuers are those whose tokens are accepted, and what is known of their providers:
// what --authentication-config configures. Nil is none.
type Issuers struct {
	config *Config
	list   []*issuer
}

// Provider is the identity providers outside; nil where there are none. answered is the
// event of the answer.
type Provider interface {
	Get(t *sim.Task, u *url.URL, until time.Duration) (code int, body []byte, answered trace.ID, err error)
}

// Leave says that another configuration is in effect.
func (all *Issuers) Leave() {
	if all == nil {
		return
	}
	for _, i := range all.list {
		i.dead = true
	}
}

// Any reports whether there is one.
func (all *Issuers) Any() bool { return len(all.list) > 0 }

// MayBeAnonymous reports whether a request for a path may come without credentials.
func (all *Issuers) MayBeAnonymous(path string) bool {
	if all == nil {
		return true
	}
	return all.config.MayBeAnonymous(path)
}

// issuer is one of them.
type issuer struct {
	*Authenticator
	provider Provider
	found    *Discovery // what its provider tells of itself; nil before it was asked
	ill      error      // why it could not be
	dead     bool       // another configuration is in force

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
	providersPoll   = time.Second // how often it is looked whether all have answered
)

// NewIssuers begins to ask the providers, by tasks of the process.
func NewIssuers(t *sim.Task, p *sim.Process, c *Config, provider Provider) *Issuers {
	out := &Issuers{config: c}
	causes := t.Causes()
	for _, a := range c.JWT {
		i := &issuer{Authenticator: a, provider: provider}
		out.list = append(out.list, i)
		p.Go("oidc/"+a.Issuer(), func(t *sim.Task) {
			t.SetCauses(causes...)
			for !i.dead && !i.discover(t) {
				t.Sleep(providerRetry)
			}
		})
	}
	return out
}

// AwaitKnown waits until all providers have answered, without which the issuers are not
// taken up in place of others.
func (all *Issuers) AwaitKnown(t *sim.Task) error {
	for deadline := t.Elapsed() + providersKnown; ; t.Sleep(providersPoll) {
		at := slices.IndexFunc(all.list, func(i *issuer) bool { return i.found == nil })
		if at < 0 {
			return nil
		}
		if t.Elapsed() < deadline {
			continue
		}
		all.Leave()
		ill := all.list[at]
		return fmt.Errorf("oidc: authenticator for issuer %q is not healthy: %w", ill.Issuer(), ill.ill)
	}
}

// MayFollow says why a configuration cannot be taken up by a server that runs with the
// issuers of another.
func (all *Issuers) MayFollow(c *Config) error {
	if !reflect.DeepEqual(all.config.Anonymous, c.Anonymous) {
		return field.Forbidden(field.NewPath("anonymous"), "changed from initial configuration file")
	}
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
	if i.provider == nil {
		return 0, nil, &url.Error{Op: "Get", URL: address, Err: fmt.Errorf("dial tcp: lookup %s: no such host", u.Hostname())}
	}
	code, body, answered, err := i.provider.Get(t, u, t.Elapsed()+providerTimeout)
	if !answered.IsZero() {
		i.answered = answered
	}
	return code, body, err
}

// AuthenticateToken is [authn.TokenAuthenticator]: it believes a token that one of the
// issuers has signed.
func (all *Issuers) AuthenticateToken(t *sim.Task, token string, audiences []string) (authn.Answer, error) {
	for _, i := range all.list {
		if !i.Knows(token) {
			continue
		}
		if i.found == nil {
			return authn.Answer{}, errors.New("oidc: authenticator not initialized")
		}
		was := i.answered
		u, err := i.Authenticate(token, t.Now(), func(token *jws.Token) ([]byte, error) { return i.check(t, token) })
		answer := authn.Answer{}
		if err == nil {
			answer = authn.Everywhere(u, audiences)
		}
		if i.answered != was {
			answer.Answered = i.answered
		}
		return answer, err
	}
	return authn.Answer{Unknown: "of no issuer in the configuration"}, nil
}

// check looks for the key that signed a token among the known ones, and then among
// those that the provider has now. The provider's answer has no lifetime, so it is
// fetched for every token whose key is unknown (go-oidc jwks.go remoteKeySet.verify).
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

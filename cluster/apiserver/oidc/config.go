// Package oidc authenticates a user by a token that an identity provider has signed:
// the JWT authenticators of an AuthenticationConfiguration, which kube-apiserver
// reads from --authentication-config.
//
// The configuration, its validation and its CEL expressions are upstream's
// (k8s.io/apiserver/pkg/apis/apiserver, pkg/authentication/cel). The authenticator
// (plugin/pkg/authenticator/token/oidc) and the verifier that it uses
// (github.com/coreos/go-oidc) are ported, because they fetch keys in goroutines of
// their own and read the machine's clock. Errors are in their words. Simplified:
// distributed claims are not fetched, only ES256 signatures are checked, and the
// egress selector and the certificate authority are not used. Start reading at
// [Authenticator.Authenticate].
package oidc

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"

	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simplified,
	What: "for tokens of an identity provider, distributed claims are not fetched and only ES256 signatures are verified; the egress selector and the certificate authority are not used",
})

// File is where the configuration is that --authentication-config names.
const File = "/etc/kubernetes/authentication.yaml"

// Config is an AuthenticationConfiguration that was found valid.
type Config struct {
	JWT       []*Authenticator
	Anonymous *apiserver.AnonymousAuthConfig // nil where the file says nothing of it
}

var codecs = func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict)
}()

// Parse reads a configuration (pkg/kubeapiserver/options/authentication.go
// loadAuthenticationConfigFromData, Validate). The issuers that are disallowed are
// those of service account tokens.
func Parse(file []byte, disallowed []string) (*Config, error) {
	if len(file) == 0 {
		return nil, errors.New("empty config data")
	}
	obj, err := runtime.Decode(codecs.UniversalDecoder(), file)
	if err != nil {
		return nil, err
	}
	c, ok := obj.(*apiserver.AuthenticationConfiguration)
	if !ok {
		return nil, fmt.Errorf("expected AuthenticationConfiguration, got %T", obj)
	}
	compiler := authenticationcel.NewDefaultCompiler()
	if err := validation.ValidateAuthenticationConfiguration(compiler, c, disallowed).ToAggregate(); err != nil {
		return nil, err
	}
	out := &Config{Anonymous: c.Anonymous}
	for _, j := range c.JWT {
		a, err := newAuthenticator(compiler, j, disallowed)
		if err != nil {
			return nil, err
		}
		out.JWT = append(out.JWT, a)
	}
	return out, nil
}

// Says is the configuration in short, a line an issuer.
func (c *Config) Says() []string {
	var out []string
	for _, a := range c.JWT {
		out = append(out, a.says())
	}
	switch n := c.Anonymous; {
	case n == nil:
	case !n.Enabled:
		out = append(out, "anonymous: nobody is")
	case len(n.Conditions) > 0:
		paths := make([]string, len(n.Conditions))
		for i, p := range n.Conditions {
			paths[i] = p.Path
		}
		out = append(out, "anonymous: only at "+strings.Join(paths, ", "))
	default:
		out = append(out, "anonymous: everywhere")
	}
	return out
}

// MayBeAnonymous reports whether a request for a path may come without credentials
// (apiserver pkg/authentication/request/anonymous).
func (c *Config) MayBeAnonymous(path string) bool {
	if c == nil || c.Anonymous == nil {
		return true
	}
	n := c.Anonymous
	return n.Enabled && (len(n.Conditions) == 0 ||
		slices.ContainsFunc(n.Conditions, func(p apiserver.AnonymousAuthCondition) bool { return p.Path == path }))
}

func (a *Authenticator) says() string {
	m := &a.jwt.ClaimMappings
	name := func(claim, expression string, prefix *string) string {
		switch {
		case expression != "":
			return expression
		case prefix != nil && *prefix != "":
			return fmt.Sprintf("%q + claims.%s", *prefix, claim)
		}
		return "claims." + claim
	}
	out := "issuer " + a.jwt.Issuer.URL + " for " + strings.Join(a.jwt.Issuer.Audiences, ", ") +
		": username is " + name(m.Username.Claim, m.Username.Expression, m.Username.Prefix)
	if m.Groups.Claim != "" || m.Groups.Expression != "" {
		out += "; groups are " + name(m.Groups.Claim, m.Groups.Expression, m.Groups.Prefix)
	}
	for _, r := range a.jwt.ClaimValidationRules {
		if r.Claim != "" {
			out += fmt.Sprintf("; claims.%s must be %q", r.Claim, r.RequiredValue)
			continue
		}
		out += "; must hold: " + r.Expression
	}
	for _, r := range a.jwt.UserValidationRules {
		out += "; must hold: " + r.Expression
	}
	return out
}

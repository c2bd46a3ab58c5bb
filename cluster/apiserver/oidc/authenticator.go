package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	celgo "github.com/google/cel-go/cel"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	authenticationjwt "k8s.io/apiserver/pkg/authentication/token/jwt"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/lazy"

	"kviz/cluster/apiserver/authn"
)

// Authenticator is one issuer whose tokens are believed.
type Authenticator struct {
	jwt      apiserver.JWTAuthenticator
	mapper   authenticationcel.CELMapper
	required map[string]string // claims that must have this value
}

func newAuthenticator(compiler authenticationcel.Compiler, jwt apiserver.JWTAuthenticator, disallowed []string) (*Authenticator, error) {
	mapper, errs := validation.CompileAndValidateJWTAuthenticator(compiler, jwt, disallowed)
	if err := errs.ToAggregate(); err != nil {
		return nil, err
	}
	a := &Authenticator{jwt: jwt, mapper: mapper, required: map[string]string{}}
	for _, r := range jwt.ClaimValidationRules {
		if r.Claim != "" {
			a.required[r.Claim] = r.RequiredValue
		}
	}
	return a, nil
}

// Issuer is the issuer's URL.
func (a *Authenticator) Issuer() string { return a.jwt.Issuer.URL }

// DiscoveryURL is the URL of the provider's discovery document.
func (a *Authenticator) DiscoveryURL() string {
	if u := a.jwt.Issuer.DiscoveryURL; u != "" {
		return u
	}
	return strings.TrimSuffix(a.jwt.Issuer.URL, "/") + "/.well-known/openid-configuration"
}

// Knows reports whether a token says that it comes from this issuer.
func (a *Authenticator) Knows(token string) bool {
	issuer, err := untrustedIssuer(token)
	return err == nil && issuer == a.jwt.Issuer.URL
}

// Authenticate says whom a token proves at this time (plugin/pkg/authenticator/token/oidc
// AuthenticateToken), one that the authenticator knows.
func (a *Authenticator) Authenticate(token string, now time.Time, keys Keys) (authn.User, error) {
	payload, err := a.verify(token, now, keys)
	if err != nil {
		return authn.User{}, fmt.Errorf("oidc: verify token: %w", err)
	}
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil {
		return authn.User{}, fmt.Errorf("oidc: parse claims: %w", err)
	}
	ctx := context.Background() // nothing here waits
	value := newClaimsValue(c)
	u := authn.User{}
	if u.Name, err = a.username(ctx, c, value); err != nil {
		return authn.User{}, err
	}
	if u.Groups, err = a.groups(ctx, c, value); err != nil {
		return authn.User{}, err
	}
	if u.UID, err = a.uid(ctx, c, value); err != nil {
		return authn.User{}, err
	}
	if u.Extra, err = a.extra(ctx, c, value); err != nil {
		return authn.User{}, err
	}
	if err := a.validate(ctx, c, value, u); err != nil {
		return authn.User{}, err
	}
	return u, nil
}

// validate applies the rules for claims and for what they were mapped to.
func (a *Authenticator) validate(ctx context.Context, c claims, value *lazy.MapValue, u authn.User) error {
	for _, claim := range sorted(a.required) {
		if _, ok := c[claim]; !ok {
			return fmt.Errorf("oidc: required claim %s not present in ID token", claim)
		}
		var got string
		if err := c.read(claim, &got); err != nil {
			return fmt.Errorf("oidc: parse claim %s: %w", claim, err)
		}
		if want := a.required[claim]; got != want {
			return fmt.Errorf("oidc: required claim %s value does not match. Got = %s, want = %s", claim, got, want)
		}
	}
	if rules := a.mapper.ClaimValidationRules; rules != nil {
		results, err := rules.EvalClaimMappings(ctx, value)
		if err == nil {
			err = hold(results)
		}
		if err != nil {
			return fmt.Errorf("oidc: error evaluating claim validation expression: %w", err)
		}
	}
	if rules := a.mapper.UserValidationRules; rules != nil {
		results, err := rules.EvalUser(ctx, newUserValue(u))
		if err == nil {
			err = hold(results)
		}
		if err != nil {
			return fmt.Errorf("oidc: error evaluating user info validation rule: %w", err)
		}
	}
	return nil
}

// hold reports the first rule that does not hold (checkValidationRulesEvaluation).
func hold(results []authenticationcel.EvaluationResult) error {
	for _, r := range results {
		if r.EvalResult.Type() != celgo.BoolType {
			return errors.New("validation expression must return a boolean")
		}
		if r.EvalResult.Value().(bool) {
			continue
		}
		message := ""
		switch rule := r.ExpressionAccessor.(type) {
		case *authenticationcel.ClaimValidationCondition:
			message = rule.Message
		case *authenticationcel.UserValidationCondition:
			message = rule.Message
		}
		return fmt.Errorf("validation expression '%s' failed: %s", r.ExpressionAccessor.GetExpression(), message)
	}
	return nil
}

func (a *Authenticator) username(ctx context.Context, c claims, value *lazy.MapValue) (string, error) {
	if a.mapper.Username != nil {
		result, err := a.mapper.Username.EvalClaimMapping(ctx, value)
		if err == nil && result.EvalResult.Type() != celgo.StringType {
			err = errors.New("username claim expression must return a string")
		}
		if err != nil {
			return "", fmt.Errorf("oidc: error evaluating username claim expression: %w", err)
		}
		name := result.EvalResult.Value().(string)
		if name == "" {
			return "", errors.New("oidc: empty username via CEL expression is not allowed")
		}
		return name, nil
	}
	name, m := "", &a.jwt.ClaimMappings.Username
	if err := c.read(m.Claim, &name); err != nil {
		return "", fmt.Errorf("oidc: parse username claims %q: %w", m.Claim, err)
	}
	if _, said := c["email_verified"]; m.Claim == "email" && said {
		verified := false
		if err := c.read("email_verified", &verified); err != nil {
			return "", fmt.Errorf("oidc: parse 'email_verified' claim: %w", err)
		}
		if !verified {
			return "", errors.New("oidc: email not verified")
		}
	}
	if m.Prefix != nil {
		name = *m.Prefix + name
	}
	return name, nil
}

func (a *Authenticator) groups(ctx context.Context, c claims, value *lazy.MapValue) ([]string, error) {
	m := &a.jwt.ClaimMappings.Groups
	if _, ok := c[m.Claim]; ok && m.Claim != "" {
		var groups audience // a string or a list of them, too
		if err := c.read(m.Claim, (*[]string)(&groups)); err != nil {
			one := ""
			if err := c.read(m.Claim, &one); err != nil {
				return nil, fmt.Errorf("oidc: parse groups claim %q: %w", m.Claim, err)
			}
			groups = audience{one}
		}
		if m.Prefix != nil {
			for i := range groups {
				groups[i] = *m.Prefix + groups[i]
			}
		}
		return groups, nil
	}
	if a.mapper.Groups == nil {
		return nil, nil
	}
	result, err := a.mapper.Groups.EvalClaimMapping(ctx, value)
	var groups []string
	if err == nil {
		groups, err = stringList(result.EvalResult)
	}
	if err != nil {
		return nil, fmt.Errorf("oidc: error evaluating group claim expression: %w", err)
	}
	return groups, nil
}

func (a *Authenticator) uid(ctx context.Context, c claims, value *lazy.MapValue) (string, error) {
	if claim := a.jwt.ClaimMappings.UID.Claim; claim != "" {
		uid := ""
		if err := c.read(claim, &uid); err != nil {
			return "", fmt.Errorf("oidc: parse uid claim %q: %w", claim, err)
		}
		return uid, nil
	}
	if a.mapper.UID == nil {
		return "", nil
	}
	result, err := a.mapper.UID.EvalClaimMapping(ctx, value)
	if err == nil && result.EvalResult.Type() != celgo.StringType {
		err = errors.New("uid claim expression must return a string")
	}
	if err != nil {
		return "", fmt.Errorf("oidc: error evaluating uid claim expression: %w", err)
	}
	return result.EvalResult.Value().(string), nil
}

func (a *Authenticator) extra(ctx context.Context, c claims, value *lazy.MapValue) (map[string][]string, error) {
	extra := map[string][]string{}
	jti := ""
	if c.read("jti", &jti) == nil {
		if id := authenticationjwt.CredentialIDForJTI(jti); id != "" {
			extra[user.CredentialIDKey] = []string{id}
		}
	}
	if a.mapper.Extra != nil {
		results, err := a.mapper.Extra.EvalClaimMappings(ctx, value)
		if err != nil {
			return nil, err
		}
		for _, r := range results {
			m := r.ExpressionAccessor.(*authenticationcel.ExtraMappingExpression)
			values, err := stringList(r.EvalResult)
			if err != nil {
				return nil, fmt.Errorf("oidc: error evaluating extra claim expression: %s: %w", m.Expression, err)
			}
			if len(values) > 0 {
				extra[m.Key] = values
			}
		}
	}
	if len(extra) == 0 {
		return nil, nil
	}
	return extra, nil
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

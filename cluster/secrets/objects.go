package secrets

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/trace"
)

// object is an object without its secrets; the same where it has none.
func (p *pass) object(o *trace.Object) *trace.Object {
	if o == nil {
		return nil
	}
	var without runtime.Object
	switch one := o.Value.(type) {
	case *corev1.Secret:
		without = p.secret(one)
	case *authenticationv1.TokenRequest:
		if one.Status.Token == "" {
			return o
		}
		c := one.DeepCopy()
		c.Status.Token = p.token(c.Status.Token)
		without = c
	case *authenticationv1.TokenReview:
		c := one.DeepCopy()
		c.Spec.Token = p.token(c.Spec.Token)
		without = c
	default:
		return o
	}
	return trace.Obj(without)
}

func (p *pass) secret(s *corev1.Secret) *corev1.Secret {
	c := s.DeepCopy()
	for _, key := range slices.Sorted(maps.Keys(c.Data)) {
		c.Data[key] = []byte(p.datum(s.Type, key, string(c.Data[key])))
	}
	for _, key := range slices.Sorted(maps.Keys(c.StringData)) {
		c.StringData[key] = p.datum(s.Type, key, c.StringData[key])
	}
	if applied, ok := c.Annotations[corev1.LastAppliedConfigAnnotation]; ok {
		c.Annotations[corev1.LastAppliedConfigAnnotation] = string(p.document([]byte(applied), nil, string(s.Type), true))
	}
	return c
}

// open are the keys of Secrets that say nothing secret, and by which the cluster goes.
var open = map[corev1.SecretType][]string{
	corev1.SecretTypeServiceAccountToken: {corev1.ServiceAccountRootCAKey, corev1.ServiceAccountNamespaceKey},
	corev1.SecretTypeBootstrapToken: {
		"token-id", "expiration", "description", "auth-extra-groups", "usage-bootstrap-authentication", "usage-bootstrap-signing",
	},
}

// datum is one value of a Secret.
func (p *pass) datum(of corev1.SecretType, key, value string) string {
	switch {
	case slices.Contains(open[of], key):
		return value
	case of == corev1.SecretTypeServiceAccountToken && key == corev1.ServiceAccountTokenKey:
		return p.token(value)
	case key == corev1.DockerConfigJsonKey || key == corev1.DockerConfigKey:
		// The API server wants JSON there.
		if trimmed := strings.TrimSpace(value); strings.HasPrefix(trimmed, "{") && json.Valid([]byte(value)) {
			return p.leaves(value)
		}
	}
	return p.value(value)
}

// leaves is a JSON document in which each text is hidden, at its length.
func (p *pass) leaves(value string) string {
	if p.back {
		if was, ok := p.of[value]; ok {
			return was
		}
	} else if stands, ok := p.stands[value]; ok {
		return stands
	}
	out, err := splice([]byte(value), func(_ []string, literal, s string) string {
		if plain(literal) {
			return p.value(s)
		}
		if p.back {
			return p.was(s)
		}
		return p.longer(s, len(literal))
	})
	if err != nil {
		return p.value(value)
	}
	if !p.back {
		p.keep(value, string(out))
		p.seek64(value, string(out))
	}
	return string(out)
}

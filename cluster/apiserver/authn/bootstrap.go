package authn

import (
	"crypto/subtle"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// What a bootstrap token looks like, and the groups it may give
// (k8s.io/cluster-bootstrap token/api).
var (
	bootstrapToken = regexp.MustCompile(`\A([a-z0-9]{6})\.([a-z0-9]{16})\z`)
	bootstrapGroup = regexp.MustCompile(`\Asystem:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]\z`)
)

const bootstrappers = "system:bootstrappers"

// BootstrapTokens know the tokens with which machines that are no nodes yet ask for
// their certificates (kubeadm join): each is a Secret kube-system/bootstrap-token-ID
// (plugin/pkg/auth/authenticator/token/bootstrap). A Secret that does not fit is no
// error upstream either: the token is then unknown.
type BootstrapTokens struct{ lister Lister }

// NewBootstrapTokens makes the authenticator.
func NewBootstrapTokens(l Lister) *BootstrapTokens { return &BootstrapTokens{l} }

// AuthenticateToken is [TokenAuthenticator].
func (b *BootstrapTokens) AuthenticateToken(t *sim.Task, token string, audiences []string) (Answer, error) {
	parts := bootstrapToken.FindStringSubmatch(token)
	if parts == nil {
		return Answer{Unknown: "not of the form id.secret"}, nil
	}
	name := "bootstrap-token-" + parts[1]
	secret, ok := b.lister.Get(client.Secrets, metav1.NamespaceSystem, name).(*corev1.Secret)
	if !ok {
		return Answer{Unknown: "there is no Secret kube-system/" + name}, nil
	}
	groups, why := bootstrapGroups(secret, parts[1], parts[2], t.Now())
	if why != "" {
		return Answer{Unknown: "Secret kube-system/" + name + " " + why}, nil
	}
	return Everywhere(User{Name: "system:bootstrap:" + parts[1], Groups: groups}, audiences), nil
}

// bootstrapGroups are those of a token's bearer, or why it is worth nothing.
func bootstrapGroups(s *corev1.Secret, id, secret string, now time.Time) (groups []string, why string) {
	switch {
	case s.DeletionTimestamp != nil:
		return nil, "is deleted and awaiting removal"
	case s.Type != corev1.SecretTypeBootstrapToken:
		return nil, "has invalid type, expected " + string(corev1.SecretTypeBootstrapToken)
	case subtle.ConstantTimeCompare(s.Data["token-secret"], []byte(secret)) != 1:
		return nil, "has invalid value for key token-secret"
	case string(s.Data["token-id"]) != id:
		return nil, "has invalid value for key token-id"
	}
	if text := string(s.Data["expiration"]); text != "" {
		end, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return nil, "has no time at key expiration"
		}
		if !end.After(now) {
			return nil, "has expired at " + text
		}
	}
	if string(s.Data["usage-bootstrap-authentication"]) != "true" {
		return nil, "is not marked usage-bootstrap-authentication=true"
	}
	groups = []string{bootstrappers}
	if extra := string(s.Data["auth-extra-groups"]); extra != "" {
		for _, g := range strings.Split(extra, ",") {
			if !bootstrapGroup.MatchString(g) {
				return nil, fmt.Sprintf("has invalid value for key auth-extra-groups: bootstrap group %q is invalid", g)
			}
			groups = append(groups, g)
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups), ""
}

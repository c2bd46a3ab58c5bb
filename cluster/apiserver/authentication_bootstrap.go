package apiserver

import (
	"crypto/subtle"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

const byBootstrap = "bootstrap token"

// What a bootstrap token looks like, and the groups it may give
// (k8s.io/cluster-bootstrap token/api).
var (
	bootstrapToken = regexp.MustCompile(`\A([a-z0-9]{6})\.([a-z0-9]{16})\z`)
	bootstrapGroup = regexp.MustCompile(`\Asystem:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]\z`)
)

const bootstrappers = "system:bootstrappers"

// askBootstrap looks for the Secret of a bootstrap token, with which a machine that
// is no node yet asks for its certificate (kubeadm join): kube-system/bootstrap-token-ID
// (plugin/pkg/auth/authenticator/token/bootstrap). A Secret that does not fit is no
// error upstream either: the token is then unknown.
func (s *Server) askBootstrap(t *sim.Task, token string, audiences []string) (tokenAnswer, error) {
	parts := bootstrapToken.FindStringSubmatch(token)
	if parts == nil {
		return tokenAnswer{unknown: "not of the form id.secret"}, nil
	}
	name := "bootstrap-token-" + parts[1]
	en := s.caches[registry.KindFor(client.Secrets.GroupVersionResource)].Get(metav1.NamespaceSystem + "/" + name)
	if en == nil {
		return tokenAnswer{unknown: "there is no Secret kube-system/" + name}, nil
	}
	groups, why := bootstrapGroups(en.Object.(*corev1.Secret), parts[1], parts[2], t.Now())
	if why != "" {
		return tokenAnswer{unknown: "Secret kube-system/" + name + " " + why}, nil
	}
	return everywhere(authn.User{Name: "system:bootstrap:" + parts[1], Groups: groups}, audiences), nil
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

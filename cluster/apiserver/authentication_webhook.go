package apiserver

import (
	"errors"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/sim"
)

const byTokenWebhook = "token webhook"

// tokenWebhookFile is where the kubeconfig is that
// --authentication-token-webhook-config-file names.
const tokenWebhookFile = "/etc/kubernetes/token-webhook.yaml"

// tokenWebhookTTL is how long its answers are believed
// (--authentication-token-webhook-cache-ttl).
const tokenWebhookTTL = 2 * time.Minute

// tokenWebhook asks a server outside whose a token is, with a TokenReview
// (plugin/pkg/authenticator/token/webhook), as with
// --authentication-token-webhook-version=v1.
type tokenWebhook struct {
	reviewer
	said *answers[authenticationv1.TokenReviewStatus]
}

// tokenWebhookConfig reads the file.
func (s *Server) tokenWebhookConfig(file []byte) (config, error) {
	address, err := readKubeconfig(file)
	if err != nil {
		return config{}, err
	}
	return config{lines: []string{"asked: " + address}, use: func(*sim.Task) {
		s.tokenWebhook = &tokenWebhook{
			reviewer: reviewer{s, address, reviewTimeout, reviewPause}, said: newAnswers[authenticationv1.TokenReviewStatus](8192),
		}
	}}, nil
}

// askTokenWebhook asks the server, unless it has answered lately. That it cannot be
// asked is an error, and not remembered.
func (s *Server) askTokenWebhook(t *sim.Task, token string, audiences []string) (tokenAnswer, error) {
	w := s.tokenWebhook
	var answer tokenAnswer
	key := token + "\x00" + strings.Join(audiences, "\x00")
	st, known := w.said.get(key, t.Elapsed())
	if !known {
		r := &authenticationv1.TokenReview{
			TypeMeta: metav1.TypeMeta{Kind: "TokenReview", APIVersion: authenticationv1.SchemeGroupVersion.String()},
			Spec:     authenticationv1.TokenReviewSpec{Token: token, Audiences: audiences},
		}
		var err error
		if answer.answered, err = w.ask(t, r); err != nil {
			return answer, err
		}
		st = r.Status
		if st.Error == "" {
			w.said.add(key, st, t.Elapsed(), tokenWebhookTTL)
		}
	}
	old := ""
	if known {
		old = " (its answer is remembered for " + tokenWebhookTTL.String() + ")"
	}
	got := apiAudiences
	if len(st.Audiences) > 0 {
		got = st.Audiences
	}
	both := authn.Intersect(audiences, got)
	switch {
	case len(both) == 0:
		answer.unknown = "it is for other audiences" + old
	case !st.Authenticated && st.Error != "":
		return answer, errors.New(st.Error)
	case !st.Authenticated:
		answer.unknown = "does not know it" + old
	default:
		u := authn.User{Name: st.User.Username, UID: st.User.UID, Groups: st.User.Groups}
		for k, v := range st.User.Extra {
			if u.Extra == nil {
				u.Extra = map[string][]string{}
			}
			u.Extra[k] = v
		}
		answer.user, answer.audiences, answer.note = &u, both, old
	}
	return answer, nil
}

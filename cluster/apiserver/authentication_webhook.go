package apiserver

import (
	"context"
	"errors"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/webhook"
	"kviz/cluster/quota"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

const byTokenWebhook = "token webhook"

// tokenWebhookFile is where the kubeconfig is that
// --authentication-token-webhook-config-file names.
const tokenWebhookFile = "/etc/kubernetes/token-webhook.yaml"

// tokenWebhookTTL is how long its answers are believed
// (--authentication-token-webhook-cache-ttl).
const tokenWebhookTTL = 2 * time.Minute

// tokenCodec writes and reads TokenReviews as upstream's client does
// (tokenReviewInterfaceFromConfig).
var tokenCodec = clientscheme.Codecs.LegacyCodec(authenticationv1.SchemeGroupVersion)

// sharedLookup is how long all tries together may take, whoever waits for them
// (apiserver pkg/authentication/token/cache sharedLookupTimeout).
const sharedLookup = 30 * time.Second

// tokenWebhook asks a server outside whose a token is, with a TokenReview
// (plugin/pkg/authenticator/token/webhook), as with
// --authentication-token-webhook-version=v1. Its answers are remembered, and who
// asks for the same token at the same time waits for the same answer
// (pkg/authentication/token/cache).
type tokenWebhook struct {
	webhook.Reviewer
	said   *utilcache.Expiring
	asking map[string]*tokenLookup
}

// tokenLookup is a question on its way.
type tokenLookup struct {
	over   bool
	ended  sim.Cond
	answer tokenAnswer
	err    error
}

// tokenWebhookConfig reads the file.
func (s *Server) tokenWebhookConfig(file []byte) (config, error) {
	address, err := webhook.ReadKubeconfig(file)
	if err != nil {
		return config{}, err
	}
	return config{lines: []string{"asked: " + address}, use: func(*sim.Task) {
		s.tokenWebhook = &tokenWebhook{
			Reviewer: webhook.Reviewer{Client: s.webhooks, Codec: tokenCodec, Address: address, Timeout: webhook.ReviewTimeout, Pause: webhook.ReviewPause},
			said:     utilcache.NewExpiringWithClock(quota.Clock{Time: s.k.Now}), asking: map[string]*tokenLookup{},
		}
	}}, nil
}

// askTokenWebhook asks the server, unless it has answered lately. That it cannot be
// asked, or says that it has failed, is an error, and not remembered.
func (s *Server) askTokenWebhook(t *sim.Task, token string, audiences []string) (tokenAnswer, error) {
	w := s.tokenWebhook
	key := token + "\x00" + strings.Join(audiences, "\x00")
	if was, ok := w.said.Get(key); ok {
		answer := was.(tokenAnswer)
		old := " (its answer is remembered for " + tokenWebhookTTL.String() + ")"
		if answer.answered = (trace.ID{}); answer.user == nil {
			answer.unknown += old
		} else {
			answer.note = old
		}
		return answer, nil
	}
	if l := w.asking[key]; l != nil {
		for !l.over {
			left := t.Deadline() - t.Elapsed()
			switch {
			case t.Deadline() == 0:
				l.ended.Wait(t)
			case left <= 0:
				return tokenAnswer{}, context.DeadlineExceeded
			default:
				l.ended.WaitTimeout(t, left)
			}
		}
		return l.answer, l.err
	}
	l := &tokenLookup{}
	w.asking[key] = l
	l.answer, l.err = w.lookUp(t, token, audiences)
	l.over = true
	delete(w.asking, key)
	l.ended.Broadcast()
	if l.err == nil {
		w.said.Set(key, l.answer, tokenWebhookTTL)
	}
	return l.answer, l.err
}

// lookUp asks the server (WebhookTokenAuthenticator AuthenticateToken).
func (w *tokenWebhook) lookUp(t *sim.Task, token string, audiences []string) (answer tokenAnswer, err error) {
	r := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: audiences}}
	result, answered, err := w.Ask(t, r, &authenticationv1.TokenReview{}, t.Elapsed()+sharedLookup)
	if answer.answered = answered; err != nil {
		return answer, err
	}
	st := &result.(*authenticationv1.TokenReview).Status
	got := apiAudiences
	if len(st.Audiences) > 0 {
		got = st.Audiences
	}
	answer.audiences = authn.Intersect(audiences, got)
	switch {
	case len(answer.audiences) == 0:
		answer.unknown = "it is for other audiences"
	case !st.Authenticated && st.Error != "":
		return answer, errors.New(st.Error)
	case !st.Authenticated:
		answer.unknown = "does not know it"
	default:
		u := authn.User{Name: st.User.Username, UID: st.User.UID, Groups: st.User.Groups}
		for k, v := range st.User.Extra {
			if u.Extra == nil {
				u.Extra = map[string][]string{}
			}
			u.Extra[k] = v
		}
		answer.user = &u
	}
	return answer, nil
}

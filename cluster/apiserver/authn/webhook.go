package authn

import (
	"context"
	"errors"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// tokenWebhookTTL is how long its answers are believed
// (--authentication-token-webhook-cache-ttl).
const tokenWebhookTTL = 2 * time.Minute

// TokenCodec writes and reads TokenReviews as upstream's client does
// (tokenReviewInterfaceFromConfig).
var TokenCodec = clientscheme.Codecs.LegacyCodec(authenticationv1.SchemeGroupVersion)

// sharedLookup is how long all tries together may take, whoever waits for them
// (apiserver pkg/authentication/token/cache sharedLookupTimeout).
const sharedLookup = 30 * time.Second

// TokenWebhook asks an external server whose token it is, with a TokenReview
// (plugin/pkg/authenticator/token/webhook), as with
// --authentication-token-webhook-version=v1. Its answers are cached, and concurrent
// requests with the same token wait for the same answer
// (pkg/authentication/token/cache).
type TokenWebhook struct {
	backend Backend
	said    *utilcache.Expiring
	asking  map[string]*tokenLookup
}

// Backend is that server. answered is the event of its newest answer, zero if there was
// none.
type Backend interface {
	Ask(t *sim.Task, review, into runtime.Object, until time.Duration) (result runtime.Object, answered trace.ID, err error)
}

// NewTokenWebhook makes the authenticator. The backend has TokenCodec.
func NewTokenWebhook(backend Backend, clock clock.Clock) *TokenWebhook {
	return &TokenWebhook{backend: backend, said: utilcache.NewExpiringWithClock(clock), asking: map[string]*tokenLookup{}}
}

// tokenLookup is a question on its way.
type tokenLookup struct {
	over   bool
	ended  sim.Cond
	answer Answer
	err    error
}

// AuthenticateToken is [TokenAuthenticator]: it asks the server, unless it has answered lately. That it cannot be
// asked, or says that it has failed, is an error, and not remembered.
func (w *TokenWebhook) AuthenticateToken(t *sim.Task, token string, audiences []string) (Answer, error) {
	key := token + "\x00" + strings.Join(audiences, "\x00")
	if was, ok := w.said.Get(key); ok {
		answer := was.(Answer)
		old := " (its answer is remembered for " + tokenWebhookTTL.String() + ")"
		if answer.Answered = (trace.ID{}); answer.User == nil {
			answer.Unknown += old
		} else {
			answer.Note = old
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
				return Answer{}, context.DeadlineExceeded
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
func (w *TokenWebhook) lookUp(t *sim.Task, token string, audiences []string) (answer Answer, err error) {
	r := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: audiences}}
	result, answered, err := w.backend.Ask(t, r, &authenticationv1.TokenReview{}, t.Elapsed()+sharedLookup)
	if answer.Answered = answered; err != nil {
		return answer, err
	}
	st := &result.(*authenticationv1.TokenReview).Status
	got := APIAudiences
	if len(st.Audiences) > 0 {
		got = st.Audiences
	}
	answer.Audiences = Intersect(audiences, got)
	switch {
	case len(answer.Audiences) == 0:
		answer.Unknown = "it is for other audiences"
	case !st.Authenticated && st.Error != "":
		return answer, errors.New(st.Error)
	case !st.Authenticated:
		answer.Unknown = "does not know it"
	default:
		u := User{Name: st.User.Username, UID: st.User.UID, Groups: st.User.Groups}
		for k, v := range st.User.Extra {
			if u.Extra == nil {
				u.Extra = map[string][]string{}
			}
			u.Extra[k] = v
		}
		answer.User = &u
	}
	return answer, nil
}

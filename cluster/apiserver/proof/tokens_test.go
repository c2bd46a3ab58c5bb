package proof

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/authentication"
	kubeauthenticator "k8s.io/kubernetes/pkg/kubeapiserver/authenticator"
	"k8s.io/kubernetes/pkg/registry/authentication/tokenreview"

	"kviz/cluster/apiserver/authn"
)

// The same tokens to kube-apiserver's authenticator that asks a webhook and to kviz': the same requests to it,
// the same users and errors, the same answers remembered.
func TestTokensAtAWebhook(t *testing.T) {
	compareReviews(t, judges{resource: authenticationv1.SchemeGroupVersion.WithResource("tokenreviews"), upstream: upstreamTokens}, tokenReviews())
}

func upstreamTokens(t *testing.T, _ *review, dial dialer) func(string) string {
	auds := authenticator.Audiences{authn.Issuer}
	config := kubeauthenticator.Config{
		APIAudiences: auds, WebhookTokenAuthnConfigFile: kubeconfigFile(t, tokenServer), WebhookTokenAuthnVersion: "v1",
		WebhookTokenAuthnCacheTTL: 2 * time.Minute, WebhookRetryBackoff: backoff(), CustomDial: dial,
	}
	a, _, _, _, err := config.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rest := tokenreview.NewREST(a, auds)
	return func(body string) string {
		var r authenticationv1.TokenReview
		in := &authentication.TokenReview{}
		err := json.Unmarshal([]byte(body), &r)
		if err == nil {
			err = legacyscheme.Scheme.Convert(&r, in, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		out, err := rest.Create(t.Context(), in, nil, nil)
		if err != nil {
			return "error: " + err.Error()
		}
		if err := legacyscheme.Scheme.Convert(out, &r, nil); err != nil {
			t.Fatal(err)
		}
		return statusJSON(t, &r)
	}
}

func tokenReviews() []review {
	const head = `{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1",`
	question := func(token string, audiences ...string) string {
		b, err := json.Marshal(&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: audiences}})
		if err != nil {
			panic(err) // made of strings
		}
		return string(b)
	}
	answer := func(status string) said {
		return said{code: 200, kind: "application/json", body: head + `"status":` + status + `}`}
	}
	const jane = `{"authenticated":true,"user":{"username":"jane","uid":"42","groups":["dev","ops"],"extra":{"example.com/a":["x","y"]}}}`
	var cases []review
	// Every verdict for every audience; then the same question when the answer is as old as it may get, and older.
	ages := func(body string) []inquiry {
		return []inquiry{{body: body}, {pause: time.Minute, body: body}, {pause: time.Minute - time.Microsecond, body: body}, {pause: 2 * time.Microsecond, body: body}, {body: body}}
	}
	for _, status := range []string{
		jane, `{"authenticated":true}`, `{"authenticated":true,"user":{"username":"sam","groups":["system:authenticated"]},"error":"odd"}`,
		`{}`, `{"error":"out of order"}`, `{"user":{"username":"eve"}}`, `{"authenticated":true,"user":{"username":"system:anonymous","groups":["system:unauthenticated"],"extra":{"a":[]}}}`,
	} {
		for _, got := range []string{"", `"` + authn.Issuer + `"`, `"other"`, `"other","` + authn.Issuer + `","other"`, `""`} {
			for _, want := range [][]string{nil, {authn.Issuer}, {"other"}, {"third", "other", authn.Issuer}} {
				s := status
				if got != "" {
					s = strings.TrimSuffix(s, "}") + map[bool]string{true: "", false: ","}[s == "{}"] + `"audiences":[` + got + `]}`
				}
				cases = append(cases, review{name: fmt.Sprintf("%s for %q", s, want), answers: []said{answer(s), answer(jane)}, asks: ages(question("t", want...))})
			}
		}
	}
	failed := failures("TokenReview", answer(jane).body, strings.Replace(answer(jane).body, "/v1", "/v1beta1", 1))
	for i := range failed {
		failed[i].asks = []inquiry{{body: question("t")}, {body: question("t")}}
	}
	cases = append(cases, failed...)
	// What of a token is its own: its words, its audiences.
	for _, token := range []string{"a b", " a", "a ", "a\t", "\ta", " ", "ü", "a\nb", strings.Repeat("x", 20000), "a.b.c"} {
		cases = append(cases, review{name: fmt.Sprintf("the token %.20q", token), answers: []said{answer(jane)}, asks: []inquiry{{body: question(token)}, {body: question(strings.TrimSpace(token) + "x")}, {body: question(token, authn.Issuer)}}})
	}
	cases = append(cases, review{name: "audiences in another order", answers: []said{answer(jane), answer(`{}`)}, asks: []inquiry{
		{body: question("t", "a", authn.Issuer)}, {body: question("t", authn.Issuer, "a")}, {body: question("t", "a", authn.Issuer)}, {body: question("t")},
	}})
	for i, first := range []said{answer(jane), answer(`{}`), answer(`{"error":"out of order"}`), {code: 500}, {cut: true}} {
		first.after = time.Second
		cases = append(cases, review{name: fmt.Sprintf("two at once %d", i), answers: []said{first, answer(jane)}, asks: []inquiry{{body: question("t"), twice: true}, {body: question("t")}}})
	}
	return cases
}

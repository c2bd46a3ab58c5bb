package apiserver

import (
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"kviz/cluster/apiserver/request"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// gate asks the server who it is with all sorts of credentials, and writes down the
// answer and what each authenticator said.
type gate struct {
	w   *world
	t   *sim.Task
	out strings.Builder
}

func (g *gate) ask(what string, req request.Request) {
	req.Verb, req.Object = "create", &authenticationv1.SelfSubjectReview{}
	req.Resource = schema.GroupVersionResource{Group: "authentication.k8s.io", Version: "v1", Resource: "selfsubjectreviews"}
	g.w.sink.events = nil
	r := g.w.s.Handle(g.t, &req)
	fmt.Fprintf(&g.out, "%s: %d\n", what, r.Code)
	for _, e := range g.w.sink.events {
		if st, ok := e.Payload.(*trace.Stage); ok && st.Stage == trace.StageAuthentication {
			fmt.Fprintf(&g.out, "  [%s] %s\n", st.By, st.Note)
			if st.Proof != nil {
				for _, said := range st.Proof.Tried {
					fmt.Fprintf(&g.out, "    %s\n", said)
				}
			}
		}
	}
	if r.Err != nil {
		fmt.Fprintf(&g.out, "  the client hears: %v\n", r.Err)
	}
}

func (g *gate) token(audiences ...string) string {
	made, err := g.w.admin().CreateSub(g.t, client.ServiceAccounts, "default", "default", "token",
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}})
	g.w.must(err)
	return made.(*authenticationv1.TokenRequest).Status.Token
}

func (g *gate) review(what, token string, audiences ...string) {
	obj, err := g.w.admin().Create(g.t, client.Resource{GroupVersionResource: schema.GroupVersionResource{Group: "authentication.k8s.io", Version: "v1", Resource: "tokenreviews"}, Kind: "TokenReview"},
		"", &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: audiences}})
	g.w.must(err)
	if err == nil {
		st := obj.(*authenticationv1.TokenReview).Status
		fmt.Fprintf(&g.out, "TokenReview of %s for %v: authenticated %v, user %q, audiences %v, error %q\n", what, audiences, st.Authenticated, st.User.Username, st.Audiences, st.Error)
	}
}

// certificates are those of a PEM file.
func certificates(t *testing.T, text []byte) []*x509.Certificate {
	t.Helper()
	var certs []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		certs = append(certs, c)
	}
	return certs
}

// TestAuthenticators: who is believed, who is not, and why: testdata/authenticators.txt.
// It holds inventory row 55 (a valid, an expired and a wrong-audience token: 200,
// 401, 401), row 54 (client certificates) and row 59 (authenticators in order).
func TestAuthenticators(t *testing.T) {
	run(t, Config{Tokens: map[string]authn.User{"jane-token": {Name: "jane", Groups: []string{"dev"}}}}, func(w *world, task *sim.Task) {
		defaultAccount(w, task)
		g := &gate{w: w, t: task}
		valid, elsewhere := g.token(), g.token("vault")
		g.ask("no credentials", request.Request{})
		g.ask("a token of the token file", request.Request{Token: "jane-token"})
		g.ask("a service account's token", request.Request{Token: valid})
		g.ask("a service account's token for another audience", request.Request{Token: elsewhere})
		g.ask("a token that somebody has changed", request.Request{Token: valid[:len(valid)-6] + "AAAAAA"})
		g.ask("a token that nobody knows", request.Request{Token: "guess"})
		g.review("the valid one", valid)
		g.review("the valid one", valid, "vault")
		g.review("the one for vault", elsewhere, "vault", "db")
		g.review("the one for vault", elsewhere)
		g.review("one of the token file", "jane-token", "vault")

		cert, key, err := w.s.Authenticators().Authority.Issue("jane", []string{"dev"}, task.Now(), time.Hour)
		w.must(err)
		if block, _ := pem.Decode(key); block == nil || block.Type != "PRIVATE KEY" {
			t.Errorf("the key is %q", key)
		}
		jane := certificates(t, cert)
		g.ask("a client certificate", request.Request{Certificates: jane})
		g.ask("the same certificate beside a token that nobody knows", request.Request{Certificates: jane, Token: "guess"})

		// The seed is no secret, and so neither is the authority's key.
		forger, err := authn.NewAuthority(w.k.Rand("root-ca"), w.k.Epoch())
		w.must(err)
		forged, _, err := forger.Issue("mallory", []string{authn.Masters}, task.Now(), time.Hour)
		w.must(err)
		g.ask("a certificate that somebody has signed with the key from the seed", request.Request{Certificates: certificates(t, forged)})
		_, own, _ := ed25519.GenerateKey(strings.NewReader(strings.Repeat("x", 64)))
		self := &x509.Certificate{SerialNumber: jane[0].SerialNumber, Subject: pkix.Name{CommonName: "mallory", Organization: []string{authn.Masters}}, NotBefore: task.Now(), NotAfter: task.Now().Add(time.Hour)}
		der, err := x509.CreateCertificate(strings.NewReader(""), self, self, own.Public(), own)
		w.must(err)
		selfSigned, err := x509.ParseCertificate(der)
		w.must(err)
		g.ask("a certificate that has signed itself", request.Request{Certificates: []*x509.Certificate{selfSigned}})
		g.ask("a bad certificate beside a good token, which is forgiven", request.Request{Certificates: []*x509.Certificate{selfSigned}, Token: valid})
		g.ask("the authority's own certificate", request.Request{Certificates: []*x509.Certificate{w.s.Authenticators().Authority.Certificate()}})

		_, err = w.admin().Create(task, client.Secrets, "kube-system", &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-abcdef"}, Type: corev1.SecretTypeBootstrapToken,
			StringData: map[string]string{
				"token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true",
				"auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
				"expiration":        task.Now().Add(time.Hour).UTC().Format(time.RFC3339),
			},
		})
		w.must(err)
		task.Sleep(time.Millisecond)
		g.ask("a bootstrap token", request.Request{Token: "abcdef.0123456789abcdef"})
		g.ask("a bootstrap token with another secret", request.Request{Token: "abcdef.0123456789abcdee"})
		g.ask("a bootstrap token without a Secret", request.Request{Token: "abcdeg.0123456789abcdef"})

		task.Sleep(time.Hour + 2*time.Minute)
		g.out.WriteString("--- an hour and two minutes later\n")
		g.ask("the service account's token", request.Request{Token: valid})
		g.ask("the client certificate", request.Request{Certificates: jane})
		g.ask("the bootstrap token", request.Request{Token: "abcdef.0123456789abcdef"})
		g.ask("the token of the token file", request.Request{Token: "jane-token"})
		golden(t, "authenticators", g.out.String())
	})
}

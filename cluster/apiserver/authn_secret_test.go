package apiserver

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// The token of a Secret proves its service account while the Secret has it, and no longer when
// it has another, is marked invalid, or is gone.
func TestTokenOfASecret(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		c := w.admin()
		sa, err := client.Create(task, c, client.ServiceAccounts, "default", &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "robot"}})
		w.must(err)
		token, err := w.s.keys.SignSecret(sa, "token")
		w.must(err)
		again, err := w.s.keys.SignSecret(sa, "token")
		w.must(err)
		if again != token {
			t.Error("the same claims give another token")
		}
		accounts := authn.NewAccountTokens(w.s.keys, &authn.Expiry{}, w.s.caches)
		expect := func(when, want string) {
			t.Helper()
			task.Sleep(50e6)
			answer, err := accounts.AuthenticateToken(task, token, []string{authn.Issuer})
			switch {
			case want == "" && (err != nil || answer.User == nil || answer.User.Name != "system:serviceaccount:default:robot" || answer.User.UID != string(sa.UID)):
				t.Errorf("%s: %+v, %v", when, answer, err)
			case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%s: %v, want %q", when, err, want)
			}
		}
		expect("before there is a Secret", "Token has been invalidated")
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "token"}, Data: map[string][]byte{"token": []byte(token)}}
		s, err = client.Create(task, c, client.Secrets, "default", s)
		w.must(err)
		expect("with the Secret", "")
		s.Labels = map[string]string{"kubernetes.io/legacy-token-invalid-since": "2026-01-01"}
		s, err = client.Update(task, c, client.Secrets, "default", s)
		w.must(err)
		expect("marked invalid", "has been marked invalid")
		s.Labels, s.Data["token"] = nil, []byte("another")
		_, err = client.Update(task, c, client.Secrets, "default", s)
		w.must(err)
		expect("with another token", "Token does not match server's copy")
	})
}

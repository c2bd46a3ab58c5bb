package serve_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// A program outside is who its certificate says; without credentials it can read
// nothing but the version and the health, and an old TLS gets no connection.
func TestCredentialsOverTLS(t *testing.T) {
	e := newEdge(t)
	_ = e.kernel.Do(func() { e.kernel.SetDemand(false); e.kernel.SetSpeed(100) })
	l, err := e.h.Listen(0, filepath.Join(t.TempDir(), "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	admin, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(admin.CAData)
	bare := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}, Timeout: steady.Patience(t)}
	defer bare.CloseIdleConnections()
	for path, want := range map[string]int{
		"/version": 200, "/healthz": 200, "/livez": 200, "/readyz": 200,
		"/": 403, "/api": 403, "/api/v1": 403, "/apis": 403, "/apis/apps/v1": 403, "/openapi/v2": 403, "/openapi/v3": 403, "/metrics": 403, "/.well-known/openid-configuration": 403, "/openid/v1/jwks": 403,
		"/api/v1/namespaces": 403, "/api/v1/namespaces/kube-system/secrets": 403, "/api/v1/nodes?watch=true": 403,
	} {
		resp, err := bare.Get(l.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("GET %s without credentials: %d, want %d\n%.200s", path, resp.StatusCode, want, body)
		}
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, l.URL+path, nil)
		r.Header.Set("Authorization", "Bearer wrong")
		resp, err = bare.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if want == 403 {
			want = 401
		}
		if resp.StatusCode != want {
			t.Errorf("GET %s with a wrong token: %d, want %d", path, resp.StatusCode, want)
		}
	}
	old := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	if c, err := tls.Dial("tcp", strings.TrimPrefix(l.URL, "https://"), old); err == nil {
		c.Close()
		t.Error("TLS 1.1 got a connection")
	}

	var cert, key []byte
	p := e.kernel.NewProcess(trace.Lane{Component: trace.CompClient})
	if err := e.kernel.Call(t.Context(), p, "issue", func(task *sim.Task) {
		cert, key, err = e.server.Authenticators().Authority.Issue("jane", []string{"dev"}, task.Now(), 24*time.Hour)
	}); err != nil {
		t.Fatal(err)
	}
	jane := &rest.Config{Host: l.URL, TLSClientConfig: rest.TLSClientConfig{CAData: admin.CAData, CertData: cert, KeyData: key}}
	c := kubernetes.NewForConfigOrDie(jane)
	who, err := c.AuthenticationV1().SelfSubjectReviews().Create(context.Background(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := json.Marshal([]any{who.Status.UserInfo.Username, who.Status.UserInfo.Groups}); string(got) != `["jane",["dev","system:authenticated"]]` {
		t.Errorf("with jane's certificate: %s", got)
	}
	if _, err := c.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}); err == nil || !strings.Contains(err.Error(), `User "jane" cannot list resource "pods"`) {
		t.Errorf("jane lists pods: %v", err)
	}
	if _, err := c.Discovery().ServerResourcesForGroupVersion("v1"); err != nil {
		t.Errorf("jane's discovery: %v", err)
	}
	both := rest.CopyConfig(jane) // kubectl --kubeconfig kviz's --client-certificate jane's
	both.BearerToken = admin.BearerToken
	who, err = kubernetes.NewForConfigOrDie(both).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || who.Status.UserInfo.Username != "jane" {
		t.Errorf("a certificate beside the kubeconfig's token: %v, %v", who, err)
	}
	if err := e.kernel.Call(t.Context(), p, "a day later", func(task *sim.Task) {
		e.kernel.SkipTo(task.Elapsed() + 25*time.Hour)
		task.Sleep(25 * time.Hour)
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}); err == nil || !strings.Contains(err.Error(), "Unauthorized") {
		t.Errorf("jane's certificate has expired, and she got %v", err)
	}
}

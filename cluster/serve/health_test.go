package serve_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"kviz/cluster/apiserver"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/serve"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// cutOff is an API server whose store does not answer.
type cutOff struct{ *apiserver.Server }

func (cutOff) ProbeStore(*sim.Task) error { return errors.New("context deadline exceeded") }

// A server that cannot read from the store says so, whoever asks how it is.
func TestHealthAsksTheStore(t *testing.T) {
	e := newEdge(t)
	ask := func(h *serve.Handler, path string) (int, string) {
		t.Helper()
		ctx := serve.WithCaller(t.Context(), serve.Caller{User: authn.Admin(), Client: "test", Process: e.kernel.NewProcess(trace.Lane{Component: trace.CompClient})})
		r, err := http.NewRequestWithContext(ctx, "GET", "http://kviz"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := h.Transport().RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	if code, text := ask(e.h, "/readyz?verbose"); code != 200 || !strings.Contains(text, "[+]etcd ok\n[+]etcd-readiness ok\n") {
		t.Errorf("a healthy server: %d %s", code, text)
	}
	sick := e.h.Another("", func() serve.API { return cutOff{e.server} })
	defer sick.Close()
	for path, want := range map[string]string{
		"/readyz":                "[-]etcd failed: reason withheld\n[-]etcd-readiness failed: reason withheld\n",
		"/livez":                 "[-]etcd failed: reason withheld\n",
		"/healthz":               "[-]etcd failed: reason withheld\n",
		"/readyz/etcd-readiness": "[-]etcd-readiness failed: reason withheld\n",
	} {
		if code, text := ask(sick, path); code != 500 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	if code, text := ask(sick, "/livez/ping"); code != 200 {
		t.Errorf("/livez/ping: %d %s", code, text)
	}
}

// What a real server would hand on to a kubelet's own server is refused in words, as a
// Status.
func TestProxyToANodeIsRefusedInWords(t *testing.T) {
	e := newEdge(t)
	for _, path := range []string{"/api/v1/nodes/node-1/proxy/healthz", "/api/v1/nodes/node-1/proxy/"} {
		resp := e.do(t, "GET", path, "")
		b, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusNotImplemented || !strings.Contains(string(b), `"kind":"Status"`) || !strings.Contains(string(b), "simulated") {
			t.Errorf("%s: %d %s", path, resp.StatusCode, b)
		}
	}
}

// Of an answer that is no object with metadata there is no table; who can do with
// the answer itself gets that.
func TestReviewsHaveNoTables(t *testing.T) {
	e := newEdge(t)
	const table = "application/json;as=Table;v=v1;g=meta.k8s.io"
	for accept, want := range map[string]int{table: http.StatusNotAcceptable, table + ",application/json": http.StatusCreated} {
		resp := e.do(t, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
			`{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}`, "Accept", accept)
		b, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != want || strings.Contains(string(b), `"kind":"Table"`) {
			t.Errorf("%s: %d %s", accept, resp.StatusCode, b)
		}
	}
}

// TLS 1.2 is enough, as it is for kube-apiserver; less is not.
func TestVersionsOfTLS(t *testing.T) {
	e := newEdge(t)
	l, err := e.h.Listen(0, filepath.Join(t.TempDir(), "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cfg.CAData)
	for version, works := range map[uint16]bool{tls.VersionTLS13: true, tls.VersionTLS12: true, tls.VersionTLS11: false} {
		d := tls.Dialer{Config: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS10, MaxVersion: version}}
		conn, err := d.DialContext(context.Background(), "tcp", strings.TrimPrefix(l.URL, "https://"))
		if (err == nil) != works {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
		if err == nil {
			conn.Close()
		}
	}
}

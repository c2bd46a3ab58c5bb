package serve_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"kviz/cluster/serve"
	"kviz/raftstore/steady"
)

// A page in a browser whose own name leads to 127.0.0.1 reaches this server by that name, and is
// refused whatever it asks for, over both versions of HTTP and with the administrator's token too.
// All names of the certificate, and those that the user adds, are answered.
func TestTheHostHeaderIsChecked(t *testing.T) {
	e := newEdge(t)
	_ = e.kernel.Do(func() { e.kernel.SetDemand(false); e.kernel.SetSpeed(100) })
	l, err := e.h.Listen(0, filepath.Join(t.TempDir(), "kubeconfig"), "kviz.example", "10.1.2.3", "fd00::1")
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
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(l.URL, "https://"))
	for _, two := range []bool{false, true} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: two}
		if !two {
			transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
		}
		c := &http.Client{Transport: transport, Timeout: steady.Patience(t)}
		defer c.CloseIdleConnections()
		ask := func(host, path string) (int, string) {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = host
			r.Header.Set("Authorization", "Bearer "+admin.BearerToken)
			resp, err := c.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			var said metav1.Status
			_ = json.NewDecoder(resp.Body).Decode(&said) // what is no Status says nothing
			return resp.StatusCode, said.Message
		}
		for _, host := range []string{
			"127.0.0.1", "127.0.0.1:" + port, "127.0.0.1:8443", "localhost", "LocalHost:" + port, "localhost.", "kubernetes.default.svc",
			"kviz.example:" + port, "10.1.2.3", "[fd00::1]:" + port, "[fd00:0::1]",
		} {
			if code, said := ask(host, "/api/v1/namespaces"); code != http.StatusOK {
				t.Errorf("HTTP/2 %v, Host %s: %d %s", two, host, code, said)
			}
		}
		for _, host := range []string{
			"rebound.example", "rebound.example:" + port, "127.0.0.1.rebound.example", "localhost.rebound.example:" + port, "xlocalhost", "127.0.0.2",
			"[::1]:" + port, "kubernetes.default.svc.cluster.local",
		} {
			for _, path := range []string{"/version", "/healthz", "/api", "/api/v1/namespaces", "/openapi/v3", "/metrics", "/nothing"} {
				code, said := ask(host, path)
				if code != http.StatusMisdirectedRequest || !strings.Contains(said, "--tls-san") {
					t.Errorf("HTTP/2 %v, Host %s: %s gives %d %q", two, host, path, code, said)
				}
			}
		}
	}
	// The certificate is for the same names.
	for _, name := range []string{"kviz.example", "10.1.2.3", "fd00::1", "127.0.0.1", "localhost"} {
		conn, err := tls.Dial("tcp", "127.0.0.1:"+port, &tls.Config{RootCAs: roots, ServerName: name})
		if err != nil {
			t.Errorf("the certificate is not for %s: %v", name, err)
			continue
		}
		conn.Close()
	}
	for _, name := range []string{"", "a b", "https://x", "x:1", "*"} {
		if serve.CheckName(name) == nil {
			t.Errorf("%q is taken for a name", name)
		}
	}
}

package serve_test

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kviz/cluster/serve"
	"kviz/cluster/sim"
)

// A program outside that asks before the API server is ready for the first time is told
// to come again, as by a kube-apiserver that starts; one that was ready and is down
// ends the connection.
func TestRequestsBeforeTheServerIsReady(t *testing.T) {
	k := sim.New(sim.Config{Seed: 1})
	began := false
	h := serve.New(serve.Config{Kernel: k, API: func() serve.API { return nil }, Starting: func() bool { return !began }})
	ended := make(chan error, 1)
	go func() { ended <- k.Run(t.Context()) }()
	l, err := h.Listen(0, filepath.Join(t.TempDir(), "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.Close()
		l.Close()
		k.Stop()
		<-ended
	})
	cfg, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/v1/namespaces/default/pods", "/apis", "/openid/v1/jwks", "/apis/apps/v1/deployments"} {
		resp, err := c.Get(l.URL + path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" || !strings.Contains(string(b), "please try again") {
			t.Errorf("%s: %d, Retry-After %q, %s", path, resp.StatusCode, resp.Header.Get("Retry-After"), b)
		}
	}
	resp, err := c.Get(l.URL + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusInternalServerError {
		t.Errorf("/readyz: %d", resp.StatusCode)
	}
	k.Do(func() { began = true })
	if resp, err := c.Get(l.URL + "/api/v1/namespaces/default/pods"); err == nil {
		t.Errorf("a server that is down answers %d", resp.StatusCode)
	}
}

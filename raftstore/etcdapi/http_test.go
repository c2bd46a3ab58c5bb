package etcdapi_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"kviz/raftstore"
	"kviz/raftstore/etcdapi"
	"kviz/raftstore/steady"
)

// get asks over plain HTTP.
func (b *bench) get(path string) (*http.Response, string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.ctx, http.MethodGet, "http://"+b.server.Addr+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.ask(req)
}

func (b *bench) post(path, body string) (*http.Response, string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.ctx, http.MethodPost, "http://"+b.server.Addr+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	return b.ask(req)
}

func (b *bench) ask(req *http.Request) (*http.Response, string) {
	b.t.Helper()
	return ask(b.t, &http.Client{Transport: &http.Transport{DialContext: b.net.dialTCP}}, req)
}

func ask(t *testing.T, hc *http.Client, req *http.Request) (*http.Response, string) {
	t.Helper()
	defer hc.CloseIdleConnections()
	resp, err := hc.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func TestPlainHTTPOnTheSamePort(t *testing.T) { steady.Bubble(t, testPlainHTTPOnTheSamePort) }

func testPlainHTTPOnTheSamePort(t *testing.T) {
	b := newBench(t, replicated(t))
	b.put("a", "1")
	for path, want := range map[string]string{
		"/health":                   `{"health":"true","reason":""}`,
		"/health?serializable=true": `{"health":"true","reason":""}`,
		"/livez":                    "ok\n",
		"/livez?verbose":            "[+]serializable_read ok\nok\n",
		"/readyz":                   "ok\n",
		"/readyz/linearizable_read": "ok\n",
		"/readyz?verbose&exclude=serializable_read&exclude=linearizable_read": "[+]data_corruption ok\n[+]non_learner ok\nok\n",
		"/version": `{"etcdserver":"3.7.3","etcdcluster":"3.7.0","storage":"3.7.0"}`,
	} {
		if resp, body := b.get(path); resp.StatusCode != http.StatusOK || body != want {
			t.Errorf("%s: %d %q, want %q", path, resp.StatusCode, body, want)
		}
	}
	resp, body := b.get("/metrics")
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	for _, line := range []string{
		"etcd_server_has_leader 1", `etcd_server_version{server_version="3.7.3"} 1`, "etcd_mvcc_put_total 1",
		"etcd_debugging_mvcc_current_revision 2", "etcd_server_quota_backend_bytes 2.147483648e+09",
		"# TYPE etcd_disk_wal_fsync_duration_seconds histogram",
		`grpc_server_handled_total{grpc_code="OK",grpc_method="Put",grpc_service="etcdserverpb.KV",grpc_type="unary"} 1`,
	} {
		if !strings.Contains(body, "\n"+line+"\n") {
			t.Errorf("no line %q in /metrics", line)
		}
	}
	// protojson puts blanks where it likes.
	if _, body := b.post("/v3/kv/range", `{"key":"YQ=="}`); !strings.Contains(strings.ReplaceAll(body, " ", ""), `"key":"YQ==","create_revision":"2","mod_revision":"2","version":"1","value":"MQ=="`) {
		t.Errorf("JSON: %s", body)
	}
}

func TestTLS(t *testing.T) {
	steady.RealTime(t, "its port is the machine's")
	dir := filepath.Join(t.TempDir(), "pki")
	certs, err := etcdapi.MakeTLS(dir)
	if err != nil {
		t.Fatal(err)
	}
	store := raftstore.OpenBare()
	server, err := etcdapi.Serve(store, etcdapi.Config{TLS: certs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(server.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	cfg, err := certs.Client()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), steady.Patience(t))
	defer cancel()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Addresses()[0].URL}, TLS: cfg, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Put(ctx, "a", "1"); err != nil {
		t.Fatal(err)
	}
	health, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+server.Addr+"/health", nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, body := ask(t, &http.Client{Transport: &http.Transport{TLSClientConfig: cfg}}, health); body != `{"health":"true","reason":""}` || resp.TLS.Version != tls.VersionTLS13 {
		t.Errorf("health: %s over %x", body, resp.TLS.Version)
	}
	// Nobody without a certificate, with a foreign one, in the clear, or with an old TLS.
	other, err := etcdapi.MakeTLS(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := other.Client()
	if err != nil {
		t.Fatal(err)
	}
	foreign.RootCAs = cfg.RootCAs
	old := cfg.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	for what, bad := range map[string]*tls.Config{"no certificate": {RootCAs: cfg.RootCAs}, "a foreign certificate": foreign, "TLS 1.1": old, "no TLS": nil} {
		hc := &http.Client{Transport: &http.Transport{TLSClientConfig: bad}}
		scheme := "https://"
		if bad == nil {
			scheme = "http://"
		}
		if resp, err := hc.Get(scheme + server.Addr + "/health"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				t.Errorf("%s was let in", what)
			}
		}
		hc.CloseIdleConnections()
	}
	// The files stay, and only their owner reads them.
	again, err := etcdapi.MakeTLS(dir)
	if err != nil || again.Cert != certs.Cert {
		t.Fatal(err)
	}
	if later, err := again.Client(); err != nil || string(later.Certificates[0].Certificate[0]) != string(cfg.Certificates[0].Certificate[0]) {
		t.Errorf("the certificates were made anew: %v", err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 6 {
		t.Fatalf("%v %v", files, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", f.Name(), info.Mode(), err)
		}
	}
	if err := os.WriteFile(certs.CA, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := etcdapi.MakeTLS(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a damaged certificate: %v", err)
	}
}

// A certificate's common name is a user, as soon as users count.
func TestACertificateCanNameAUser(t *testing.T) { steady.Bubble(t, testCertificateOfAUser) }

func testCertificateOfAUser(t *testing.T) {
	certs, err := etcdapi.MakeTLS(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := serve(t, raftstore.OpenBareWith(raftstore.Config{BcryptCost: 4}), etcdapi.Config{TLS: certs})
	connect := func(cert, key string) *clientv3.Client {
		cfg, err := certs.Client()
		if err != nil {
			t.Fatal(err)
		}
		if cert != "" {
			pair, err := tls.LoadX509KeyPair(cert, key)
			if err != nil {
				t.Fatal(err)
			}
			cfg.Certificates = []tls.Certificate{pair}
		}
		return b.client(func(c *clientv3.Config) { c.Endpoints, c.TLS = []string{b.server.Addresses()[0].URL}, cfg })
	}
	ctx := b.ctx
	nobody := connect("", "")
	root := connect(issue(t, certs, "root"))
	for _, fn := range []func() error{
		func() error { _, err := nobody.UserAdd(ctx, "root", "r"); return err },
		func() error { _, err := nobody.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := nobody.AuthEnable(ctx); return err },
		func() error { _, err := root.Put(ctx, "a", "1"); return err },
	} {
		if err := fn(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := nobody.Get(ctx, "a"); !errors.Is(err, rpctypes.ErrUserEmpty) {
		t.Errorf("nobody: %v", err)
	}
	if _, err := connect(issue(t, certs, "mallory")).Get(ctx, "a"); !errors.Is(err, rpctypes.ErrPermissionDenied) {
		t.Errorf("a user that there is not: %v", err)
	}
	if _, _, err := certs.Issue("../x"); err == nil {
		t.Error("a user's name left the folder")
	}
}

func issue(t *testing.T, certs *etcdapi.TLS, user string) (cert, key string) {
	t.Helper()
	cert, key, err := certs.Issue(user)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// Without TLS a page in a browser whose own name leads to 127.0.0.1 is refused, in etcd's words.
func TestTheHostHeaderIsChecked(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		b := newBench(t, replicated(t))
		for host, want := range map[string]int{
			"": http.StatusOK, "127.0.0.1": http.StatusOK, "127.0.0.1:1": http.StatusOK, "localhost:2379": http.StatusOK,
			"rebound.example": http.StatusMisdirectedRequest, "rebound.example:2379": http.StatusMisdirectedRequest,
			"127.0.0.1.rebound.example": http.StatusMisdirectedRequest,
		} {
			for _, path := range []string{"/version", "/health", "/metrics", "/v3/kv/range"} {
				method, body := http.MethodGet, ""
				if strings.HasPrefix(path, "/v3") {
					method, body = http.MethodPost, `{"key":"Zm9v"}`
				}
				req, err := http.NewRequestWithContext(b.ctx, method, "http://"+b.server.Addr+path, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				req.Host = host
				resp, said := b.ask(req)
				if resp.StatusCode != want || want != http.StatusOK && !strings.Contains(said, "etcd received your request, but the Host header was unrecognized") {
					t.Errorf("Host %q: %s gives %d %.80q, want %d", host, path, resp.StatusCode, said, want)
				}
			}
		}
	})
}

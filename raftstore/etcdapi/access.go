package etcdapi

import (
	"fmt"
	"net/http"
	"strings"

	wsproxy "github.com/tmc/grpc-websocket-proxy/wsproxy"
	"go.etcd.io/etcd/pkg/v3/httputil"
)

// access is what every request over plain HTTP passes first: paths of old, by which name
// it calls the server, who else's pages may ask (everybody's), and certificates, which the gateway does
// not take for a user.
//
// Mirrors etcd server/embed/serve.go accessController with its default settings.
func (f *frontend) access(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rest, old := strings.CutPrefix(r.URL.Path, "/v3beta/"); old {
			r.URL.Path = "/v3/" + rest
		}
		if host := httputil.GetHostname(r); r.TLS == nil && f.server.cfg.Listen == nil && !loopback[host] {
			http.Error(w, unrecognized(host), http.StatusMisdirectedRequest)
			return
		}
		if r.TLS != nil && strings.HasPrefix(r.URL.Path, "/v3/") && namedByCertificate(r) && f.users().IsAuthEnabled() {
			http.Error(w, "CommonName of client sending a request against gateway will be ignored and not used as expected", http.StatusBadRequest)
			return
		}
		h := w.Header()
		h.Add("Access-Control-Allow-Methods", "POST, GET, OPTIONS, PUT, DELETE")
		h.Add("Access-Control-Allow-Origin", "*")
		h.Add("Access-Control-Allow-Headers", "accept, content-type, authorization")
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusOK)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// loopback is etcd's --host-whitelist as kviz sets it where it serves every program of this
// machine: a page in a browser whose own name leads to 127.0.0.1 comes under that name.
var loopback = map[string]bool{"127.0.0.1": true, "localhost": true}

// unrecognized is etcd's refusal (errCVE20185702), with the ways out that there are here.
func unrecognized(host string) string {
	return fmt.Sprintf(`
etcd received your request, but the Host header was unrecognized.

To fix this, choose one of the following options:
- Enable TLS, then any HTTPS request will be allowed.
- Ask 127.0.0.1 or localhost instead of %q.

This requirement has been added to help prevent "DNS Rebinding" attacks (CVE-2018-5702).
`, host)
}

func namedByCertificate(r *http.Request) bool {
	for _, chain := range r.TLS.VerifiedChains {
		if len(chain) > 0 && chain[0].Subject.CommonName != "" {
			return true
		}
	}
	return false
}

// webSockets lets the gateway's streams go both ways: over a WebSocket each
// message is one request or one answer as JSON. A browser can watch, and keep a
// lease alive, with it.
//
// Mirrors etcd server/embed/serve.go createMux.
func webSockets(gateway http.Handler) http.Handler {
	return wsproxy.WebsocketProxy(gateway,
		wsproxy.WithRequestMutator(func(_, outgoing *http.Request) *http.Request {
			outgoing.Method = http.MethodPost
			return outgoing
		}),
		wsproxy.WithMaxRespBodyBufferSize(maxResponseBytes),
		wsproxy.WithLogger(noLog{}),
	)
}

// noLog keeps the proxy from writing to a terminal that is somebody else's.
type noLog struct{}

func (noLog) Warnln(...any)  {}
func (noLog) Debugln(...any) {}

package serve

import (
	"net/http"

	"kviz/cluster/apiserver/request"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/streaming/pkg/httpstream"
)

// serveProxy sends a request on to a program in a pod, and its answer back: redirections
// and links lead through the proxy again (apimachinery pkg/util/proxy).
func (h *Handler) serveProxy(w http.ResponseWriter, r *http.Request, caller Caller, of uint64, to *request.Proxy) {
	if httpstream.IsUpgradeRequest(r) {
		writeStatus(w, r, statusOf(apierrors.NewBadRequest("simulated containers answer HTTP requests alone: a connection to one cannot be upgraded to "+r.Header.Get(httpstream.HeaderUpgrade))))
		return
	}
	back := trip(func(r *http.Request) (*http.Response, error) { return h.fetch(r.Context(), caller, of, r, to.Send) })
	proxy.NewUpgradeAwareHandler(to.Location, back, true, false, failures{}).ServeHTTP(w, r)
}

// trip is a http.RoundTripper.
type trip func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (t trip) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// failures tells why there is no answer.
type failures struct{}

// Error implements proxy.ErrorResponder.
func (failures) Error(w http.ResponseWriter, r *http.Request, err error) {
	writeStatus(w, r, statusOf(err))
}

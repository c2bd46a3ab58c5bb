package serve

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"kviz/cluster/apiserver/handlers"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/sim"
)

// This file has the requests that lead through the API server to a pod: its log,
// commands in it, its ports.

// connects reports whether a request leads to a pod, or to what is behind a Service.
func connects(k *registry.Kind, req *request.Request) bool {
	return handlers.Connects(k, req.Subresource)
}

// parseConnection reads the options out of the query (rest.go ConnectResource, and
// get.go getRequestOptions for the log).
func parseConnection(r *http.Request, k *registry.Kind, req *request.Request) *metav1.Status {
	var err error
	q := r.URL.Query()
	switch options := handlers.ConnectOptions(k, req.Subresource).(type) {
	case nil:
		req.Log = &core.PodLogOptions{}
		if err = legacyscheme.ParameterCodec.DecodeParameters(q, corev1.SchemeGroupVersion, req.Log); req.Log.Stream == nil {
			all := core.LogStreamAll
			req.Log.Stream = &all
		}
	default:
		if isDryRun(q) {
			return statusOf(apierrors.NewBadRequest("dryRun is not supported"))
		}
		if path, ok := pathBehind(r); ok && req.Subresource == "proxy" {
			q.Set("path", path)
		}
		err = decodeOptions(q, options)
		req.Connect = options
	}
	if err != nil {
		return statusOf(apierrors.NewBadRequest(err.Error()))
	}
	return nil
}

func isDryRun(q url.Values) bool { return len(q["dryRun"]) != 0 }

// pathBehind is what of a request's path is for what is behind the proxy (get.go
// getRequestOptions).
func pathBehind(r *http.Request) (string, bool) {
	info, err := infoFactory.NewRequestInfo(r)
	if err != nil || len(info.Parts) < 3 {
		return "", false
	}
	path := strings.Join(info.Parts[3:], "/")
	if strings.HasSuffix(r.URL.Path, "/") && path != "" {
		path += "/"
	}
	return path, true
}

// decodeOptions reads options of v1 by way of the internal ones, as the registries do.
func decodeOptions(q url.Values, into runtime.Object) error {
	gvks, _, err := legacyscheme.Scheme.ObjectKinds(into)
	if err != nil {
		return err
	}
	inside, err := legacyscheme.Scheme.New(core.SchemeGroupVersion.WithKind(gvks[0].Kind))
	if err != nil {
		return err
	}
	if err := legacyscheme.ParameterCodec.DecodeParameters(q, corev1.SchemeGroupVersion, inside); err != nil {
		return err
	}
	return legacyscheme.Scheme.Convert(inside, into, nil)
}

// serveConnection answers them.
func (h *Handler) serveConnection(w http.ResponseWriter, r *http.Request, req *request.Request) {
	h.handle(w, r, req, func(a answer) {
		caller, resp := h.caller(r, &request.Request{}), a.resp
		for _, text := range resp.Warnings {
			warn(w, text)
		}
		switch {
		case resp.Err != nil:
			writeStatus(w, r, resp.Status())
		case resp.Log != nil:
			h.writeLog(w, r, caller, resp.Log)
		case resp.Proxy != nil:
			h.serveProxy(w, r, caller, a.number, resp.Proxy)
		case resp.Session != nil && sessionOf(r) != nil:
			h.runHere(w, r, caller, a.number, resp.Session, sessionOf(r))
		case !httpstream.IsUpgradeRequest(r) && !wsstream.IsWebSocketRequest(r):
			writeStatus(w, r, statusOf(apierrors.NewBadRequest("Upgrade request required")))
		case resp.Ports != nil:
			h.servePorts(w, r, caller, a.number, resp.Ports)
		case wsstream.IsWebSocketRequest(r):
			h.overWebSocket(w, r, caller, a.number, resp.Session)
		default:
			h.overSPDY(w, r, caller, a.number, resp.Session)
		}
	})
}

// writeLog sends a log until it ends or the client leaves.
func (h *Handler) writeLog(w http.ResponseWriter, r *http.Request, caller Caller, log request.LogStream) {
	k := h.cfg.Kernel
	defer k.Post(log.Close)
	if caller.Most > 0 {
		var end *sim.Timer // kernel's goroutine
		k.Post(func() { k.Unseen(func() { end = k.After(caller.Most, log.Close) }) })
		defer k.Post(func() { end.Cancel() })
	}
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusOK)
	to := h.patiently(w)
	defer to.end()
	for more := true; more; {
		var b []byte
		if b, more = h.nextOf(r.Context(), caller, log); len(b) == 0 {
			continue
		}
		if _, err := to.Write(b); err != nil {
			return
		}
		to.Flush()
		to.end()
	}
}

// nextOf is Next of a log, waited for. Who reads changes nothing.
func (h *Handler) nextOf(ctx context.Context, caller Caller, log request.LogStream) ([]byte, bool) {
	type part struct {
		b    []byte
		more bool
	}
	given := make(chan part, 1) // a client that goes does not end the task
	err := h.cfg.Kernel.Attend(ctx, caller.Process, "log", func(t *sim.Task) {
		b, more := log.Next(t)
		given <- part{b, more}
	})
	if err != nil {
		return nil, false
	}
	select {
	case p := <-given:
		return p.b, p.more
	default: // the task was killed, with its process
		return nil, false
	}
}

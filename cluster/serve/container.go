package serve

import (
	"context"
	"net/http"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	remotecommandconsts "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"kviz/cluster/apiserver"
	"kviz/cluster/apiserver/handlers"
	"kviz/cluster/sim"
)

// This file has the requests that lead through the API server to a container: its log,
// and commands in it.

func onPod(req *apiserver.Request) bool {
	return req.Resource.Group == "" && req.Resource.Resource == "pods"
}

// connects reports whether a request leads to a container.
func connects(req *apiserver.Request) bool {
	return onPod(req) && handlers.ConnectVerbs(req.Subresource) != nil
}

// parseConnection reads the options out of the query (rest.go ConnectResource, and
// get.go getRequestOptions for the log).
func parseConnection(r *http.Request, req *apiserver.Request) *metav1.Status {
	var err error
	q := r.URL.Query()
	if req.Subresource == "log" {
		req.Log = &core.PodLogOptions{}
		if err = legacyscheme.ParameterCodec.DecodeParameters(q, corev1.SchemeGroupVersion, req.Log); req.Log.Stream == nil {
			all := core.LogStreamAll
			req.Log.Stream = &all
		}
	} else {
		req.Exec = &corev1.PodExecOptions{}
		err = execOptions(q, req.Exec)
	}
	if err != nil {
		return statusOf(apierrors.NewBadRequest(err.Error()))
	}
	return nil
}

func execOptions(q url.Values, into *corev1.PodExecOptions) error {
	var o core.PodExecOptions
	if err := legacyscheme.ParameterCodec.DecodeParameters(q, corev1.SchemeGroupVersion, &o); err != nil {
		return err
	}
	*into = corev1.PodExecOptions{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, TTY: o.TTY, Container: o.Container, Command: o.Command}
	return nil
}

// serveContainer answers them.
func (h *Handler) serveContainer(w http.ResponseWriter, r *http.Request, req *apiserver.Request) {
	h.handle(w, r, req, func(resp *apiserver.Response, _ *stream, _ time.Time) {
		caller := h.caller(r, &apiserver.Request{})
		switch {
		case resp.Err != nil:
			writeStatus(w, r, resp.Status())
		case resp.Log != nil:
			h.writeLog(w, r, caller, resp.Log)
		case sessionOf(r) != nil:
			h.runHere(w, r, caller, resp.Session, sessionOf(r))
		case !wsstream.IsWebSocketRequestWithStreamCloseProtocol(r):
			writeStatus(w, r, statusOf(apierrors.NewBadRequest("Upgrade request required: a command in a container is run over WebSocket, with the protocol "+remotecommandconsts.StreamProtocolV5Name+" (SPDY is not spoken here)")))
		default:
			h.serveSession(w, r, caller, resp.Session)
		}
	})
}

// writeLog sends a log until it ends or the client leaves.
func (h *Handler) writeLog(w http.ResponseWriter, r *http.Request, caller Caller, log apiserver.LogStream) {
	k := h.cfg.Kernel
	defer k.Post(log.Close)
	if caller.Most > 0 {
		var end *sim.Timer // kernel's goroutine
		k.Post(func() { end = k.After(caller.Most, log.Close) })
		defer k.Post(func() { end.Cancel() })
	}
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusOK)
	flusher, _ := w.(http.Flusher)
	for more := true; more; {
		var b []byte
		if b, more = h.nextOf(r.Context(), caller, log); len(b) == 0 {
			continue
		}
		if _, err := w.Write(b); err != nil {
			return
		}
		if flusher != nil {
			flusher.Flush()
		}
	}
}

// nextOf is Next of a log, waited for.
func (h *Handler) nextOf(ctx context.Context, caller Caller, log apiserver.LogStream) ([]byte, bool) {
	type part struct {
		b    []byte
		more bool
	}
	given := make(chan part, 1) // a client that goes does not end the task
	err := h.cfg.Kernel.Call(ctx, caller.Process, "log", func(t *sim.Task) {
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

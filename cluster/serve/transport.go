package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
)

// Transport is the way in from inside the process: an http.RoundTripper that
// runs the handler without a socket. Who sends a request is said by the
// request's context ([WithCaller]).
func (h *Handler) Transport() http.RoundTripper { return localTransport{h} }

type localTransport struct{ h *Handler }

// RoundTrip runs the handler in a goroutine of its own, which ends when the
// answer has been written or its body closed.
func (t localTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	pr, pw := io.Pipe()
	w := &localWriter{header: http.Header{}, body: pw, started: make(chan struct{})}
	inner := r.Clone(ctx)
	inner.RequestURI = r.URL.RequestURI()
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	t.h.cfg.Kernel.Beside("request "+r.Method+" "+r.URL.Path, func() {
		defer cancel()
		defer func() {
			if v := recover(); v != nil && v != http.ErrAbortHandler {
				panic(v)
			}
		}()
		defer w.finish()
		t.h.ServeHTTP(w, inner)
	})
	select {
	case <-w.started:
	case <-r.Context().Done():
		cancel()
		pr.CloseWithError(r.Context().Err())
		return nil, r.Context().Err()
	}
	if w.err != nil {
		cancel()
		if err := r.Context().Err(); err != nil {
			return nil, err // the handler ended because its client went
		}
		return nil, w.err
	}
	return &http.Response{
		Status: http.StatusText(w.code), StatusCode: w.code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: &localBody{pr, cancel}, ContentLength: -1, Request: r,
	}, nil
}

// localWriter is the ResponseWriter of a request without a socket.
type localWriter struct {
	header  http.Header
	body    *io.PipeWriter
	once    sync.Once
	started chan struct{}
	code    int         // set before started is closed
	sent    http.Header // likewise
	err     error       // likewise: there is no answer
}

func (w *localWriter) Header() http.Header { return w.header }

func (w *localWriter) WriteHeader(code int) {
	w.once.Do(func() {
		w.code, w.sent = code, w.header.Clone()
		close(w.started)
	})
}

func (w *localWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// Flush does nothing: a pipe holds nothing back.
func (w *localWriter) Flush() { w.WriteHeader(http.StatusOK) }

// fail ends the request without an answer.
func (w *localWriter) fail(err error) {
	w.once.Do(func() {
		w.err = err
		close(w.started)
	})
}

var errGone = errors.New("the request ended without an answer")

func (w *localWriter) finish() {
	w.fail(errGone)
	_ = w.body.Close()
}

// localBody ends the handler when the client closes the body.
type localBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (b *localBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}

package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"kviz/cluster/sim"
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
	pipe := newLocalPipe(sim.TurnOf(ctx) != nil)
	w := &localWriter{header: http.Header{}, body: pipe, started: make(chan struct{})}
	inner := r.Clone(ctx)
	inner.RequestURI = r.URL.RequestURI()
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	ended := make(chan struct{})
	t.h.cfg.Kernel.Beside("request "+r.Method+" "+r.URL.Path, func() {
		defer close(ended)
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
		pipe.leave()
		if sim.TurnOf(ctx) != nil {
			<-ended // what is left of the request is done in its sender's turn
		}
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
		Header: w.sent, Body: &localBody{pipe, cancel}, ContentLength: -1, Request: r,
	}, nil
}

// localWriter is the ResponseWriter of a request without a socket.
type localWriter struct {
	header  http.Header
	body    *localPipe
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
	w.body.end()
}

// localBody ends the handler when the client closes the body.
type localBody struct {
	*localPipe
	cancel context.CancelFunc
}

func (b *localBody) Close() error {
	b.cancel()
	b.leave()
	return nil
}

// localPipe carries an answer, and holds nothing of it. A writer in step goes on only when its reader has
// come back for more, and so has done with what was written: who sends a request in its turn computes on
// one side of it at a time.
type localPipe struct {
	inStep bool

	mu    sync.Mutex
	moved sync.Cond
	b     []byte // what is written
	reads bool   // somebody waits for more
	over  bool   // no more is written
	gone  bool   // no more is read
}

func newLocalPipe(inStep bool) *localPipe {
	p := &localPipe{inStep: inStep}
	p.moved.L = &p.mu
	return p
}

// Write is [io.Writer].
func (p *localPipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.b = b
	p.moved.Broadcast()
	for !p.gone && (len(p.b) > 0 || p.inStep && !p.reads) {
		p.moved.Wait()
	}
	left := len(p.b)
	p.b = nil
	if p.gone {
		return len(b) - left, io.ErrClosedPipe
	}
	return len(b), nil
}

// Read is [io.Reader].
func (p *localPipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads = true
	defer func() { p.reads = false }()
	p.moved.Broadcast()
	for !p.gone && !p.over && len(p.b) == 0 {
		p.moved.Wait()
	}
	switch {
	case p.gone:
		return 0, io.ErrClosedPipe
	case len(p.b) == 0:
		return 0, io.EOF
	}
	n := copy(b, p.b)
	p.b = p.b[n:]
	p.moved.Broadcast()
	return n, nil
}

// end says that no more is written, leave that no more is read.
func (p *localPipe) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.moved.Broadcast()
}

func (p *localPipe) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
	p.moved.Broadcast()
}

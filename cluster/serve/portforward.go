package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"kviz/cluster/apiserver/request"
	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simplified,
	What: "kubectl port-forward, pods/proxy and services/proxy carry HTTP requests and responses (over TLS with a self-signed certificate, where the program speaks HTTPS); simulated containers speak no other protocol, and upgrades are refused",
	Seen: "the error of the connection",
})

// servePorts forwards connections to the ports of a pod: SPDY, in a WebSocket where the
// client began with one (pkg/registry/core/pod/rest PortForwardREST, and the kubelet's server behind it).
func (h *Handler) servePorts(w http.ResponseWriter, r *http.Request, caller Caller, of uint64, ports *request.Ports) {
	ctx, gone := context.WithCancel(r.Context())
	defer gone()
	to := forwarder{h: h, ctx: ctx, caller: caller, of: of, ports: ports}
	serve := func(w http.ResponseWriter, r *http.Request) {
		portforward.ServePortForward(w, r, to, ports.Pod, ports.UID, nil, idleSession, streamsTime, portforward.SupportedProtocols)
	}
	if !wsstream.IsWebSocketRequestWithTunnelingProtocol(r) {
		serve(ending{w, ctx}, r)
		return
	}
	proxy.NewTunnelingHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serve(&switching{ResponseWriter: w}, r)
	})).ServeHTTP(ending{w, ctx}, r)
}

// switching writes the answer 101 to the connection itself, where the tunnel looks for it: it
// expects a proxy, which copies what a kubelet answers.
type switching struct {
	http.ResponseWriter
	conn net.Conn
	rw   *bufio.ReadWriter
	err  error
}

// WriteHeader implements [http.ResponseWriter].
func (s *switching) WriteHeader(code int) {
	if code != http.StatusSwitchingProtocols {
		s.ResponseWriter.WriteHeader(code)
		return
	}
	if s.conn, _, s.err = takeOver(s.ResponseWriter); s.err == nil { // the tunnel has no buffer
		s.rw = bufio.NewReadWriter(bufio.NewReader(s.conn), bufio.NewWriter(s.conn))
		s.err = (&http.Response{StatusCode: code, ProtoMajor: 1, ProtoMinor: 1, Header: s.Header()}).Write(s.conn)
	}
}

// Hijack implements [http.Hijacker].
func (s *switching) Hijack() (net.Conn, *bufio.ReadWriter, error) { return s.conn, s.rw, s.err }

func takeOver(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error) {
	taker, ok := w.(http.Hijacker)
	if !ok {
		return nil, nil, errors.New("the connection cannot be taken over")
	}
	return taker.Hijack()
}

// ending ends a connection that was taken over when the server ends.
type ending struct {
	http.ResponseWriter
	ctx context.Context
}

// Hijack implements [http.Hijacker].
func (e ending) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := takeOver(e.ResponseWriter)
	if err == nil {
		context.AfterFunc(e.ctx, func() { conn.Close() })
	}
	return conn, rw, err
}

// forwarder serves one connection after another of a forwarded port.
type forwarder struct {
	h      *Handler
	ctx    context.Context
	caller Caller
	of     uint64 // the request
	ports  *request.Ports
}

// PortForward is portforward.PortForwarder. It is called by a goroutine of the library's.
func (f forwarder) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) (err error) {
	if broken := f.h.cfg.Kernel.HandleCrash("a forwarded port", func() { err = f.forward(int(port), stream) }); broken != nil {
		return broken
	}
	return err
}

func (f forwarder) forward(port int, stream io.ReadWriter) error {
	var to remote.Connection
	var failed error
	var number uint64
	if err := f.h.cfg.Kernel.Call(f.ctx, f.caller.Process, "port-forward", func(t *sim.Task) {
		t.SetCauses(f.caller.Causes...)
		to, failed = f.ports.Dial(t, port)
	}, func() {
		in := f.h.sentBy(f.caller)
		in.Of, in.Port = f.of, port
		number = f.h.enter(inputDial, in)
	}); err != nil {
		return err
	}
	switch {
	case failed != nil:
		return failed
	case to == nil:
		return errSessionEnded
	}
	if to.TLS() {
		var err error
		if stream, err = secure(stream); err != nil {
			return err
		}
	}
	in := bufio.NewReader(stream)
	for {
		if _, err := in.Peek(1); err != nil {
			return nil // the client has closed the connection, or speaks no TLS where the server does
		}
		r, err := http.ReadRequest(in)
		if err != nil {
			return fmt.Errorf("simulated containers understand HTTP alone: %w", err)
		}
		answer, err := f.h.fetch(f.ctx, f.caller, number, r, to.Serve)
		if err != nil {
			return nil // the server has closed it
		}
		if err := answer.Write(stream); err != nil || answer.Close || r.Close {
			return err
		}
	}
}

// fetch has a task send a request to a program in a container, and gives its answer. of is
// what led there: the request for its proxy, or the forwarded port.
func (h *Handler) fetch(ctx context.Context, caller Caller, of uint64, r *http.Request, send func(*sim.Task, *remote.Request) (remote.Answer, error)) (*http.Response, error) {
	body, status := readBody(r)
	if status != nil {
		return nil, errors.New(status.Message)
	}
	type result struct {
		remote.Answer
		err error
	}
	given := make(chan result, 1)
	req := &remote.Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Header: r.Header, Body: body}
	if err := h.cfg.Kernel.Call(ctx, caller.Process, r.Method+" "+r.URL.Path, func(t *sim.Task) {
		t.SetCauses(caller.Causes...)
		a, err := send(t, req)
		given <- result{a, err}
	}, func() {
		in := h.sentBy(caller)
		in.Of = of
		in.Request, _ = json.Marshal(req) // plain data
		h.enter(inputFetch, in)
	}); err != nil {
		return nil, err
	}
	select {
	case got := <-given:
		if got.err != nil {
			return nil, got.err
		}
		return response(r, got.Answer), nil
	default:
		return nil, errSessionEnded
	}
}

// response is an answer as it goes over the wire.
func response(r *http.Request, a remote.Answer) *http.Response {
	header := a.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{
		Status: strings.TrimSpace(fmt.Sprintf("%d %s", a.Code, http.StatusText(a.Code))), StatusCode: a.Code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header,
		Body: io.NopCloser(bytes.NewReader(a.Body)), ContentLength: int64(len(a.Body)), Request: r,
	}
}

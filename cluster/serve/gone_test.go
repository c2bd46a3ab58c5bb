package serve_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"kviz/assets"
	"kviz/cluster/apiserver"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/serve"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// late is an API server that answers once the client has gone.
type late struct {
	*apiserver.Server
	gone func()
}

func (l late) Handle(t *sim.Task, req *request.Request) *request.Response {
	l.gone()
	return l.Server.Handle(t, req)
}

// A client may go while its request is on its way. The request is carried out all the
// same, and a watch that it opens ends: nobody is there to take its events.
func TestNobodyIsLeftToWatch(t *testing.T) {
	e := newEdge(t)
	ctx, cancel := context.WithTimeout(t.Context(), steady.Patience(t))
	defer cancel()
	client, leave := context.WithCancel(ctx)
	left := make(chan struct{})
	server := late{e.server, func() {
		leave()
		<-left
	}}
	h := serve.New(serve.Config{Kernel: e.kernel, API: func() serve.API { return server }, Documents: assets.Documents()})
	t.Cleanup(h.Close)
	caller := serve.Caller{User: authn.Admin(), Client: "test", Process: e.kernel.NewProcess(trace.Lane{Component: trace.CompClient})}
	go func() {
		defer close(left)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/default/configmaps?watch=true", nil).WithContext(serve.WithCaller(client, caller)))
	}()
	<-left
	changed, stop := e.stream.Notify()
	defer stop()
	for {
		var opened, closed bool
		events, _, _ := e.stream.Read(0, 1<<20)
		for _, ev := range events {
			if w, ok := ev.Payload.(*trace.Watch); ok && w.Client == "test" {
				opened, closed = opened || ev.Kind == trace.WatchOpened, closed || ev.Kind == trace.WatchClosed
			}
		}
		if closed {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("the client's watch was opened: %v; and it is open still", opened)
		}
	}
}

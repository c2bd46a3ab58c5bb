package serve_test

import (
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	"kviz/cluster/apiserver"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/serve"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// mined is a server that panics at requests for a name.
type mined struct{ *apiserver.Server }

func (m mined) Handle(t *sim.Task, req *request.Request) *request.Response {
	if req.Name == "bad" {
		made := map[string]map[string]int{}
		made[req.Name]["a"] = 1
	}
	return m.Server.Handle(t, req)
}

// noDocuments panics when it is read.
type noDocuments struct{}

func (noDocuments) Open(string) (fs.File, error) { panic("no documents") }

// A request at which kviz panics, in its task or on the goroutine that answers, gets 500 in upstream's words; it
// is in the trace, and the next requests are answered.
func TestAPanicIsOfOneRequest(t *testing.T) {
	e := newEdge(t)
	server := mined{e.server}
	e.h.Close()
	e.h = serve.New(serve.Config{Kernel: e.kernel, API: func() serve.API { return server }, Documents: noDocuments{}, Untaken: time.Hour})
	for _, path := range []string{"/api/v1/namespaces/default/configmaps/bad", "/openapi/v2"} {
		resp := e.do(t, http.MethodGet, path, "")
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusInternalServerError || string(body) != "This request caused apiserver to panic. Look in the logs for details.\n" {
			t.Errorf("%s: %d %q %v", path, resp.StatusCode, body, err)
		}
		resp = e.do(t, http.MethodGet, "/api/v1/namespaces/default", "")
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("after %s: %d %v", path, resp.StatusCode, err)
		}
	}
	if err := e.kernel.Do(func() {}); err != nil {
		t.Fatal(err)
	}
	events, _, _ := e.stream.Read(0, 1<<20)
	var told []string
	for _, ev := range events {
		if p, ok := ev.Payload.(*trace.Panicked); ok {
			told = append(told, string(ev.Kind)+" "+p.Doing+": "+p.Panic)
		}
	}
	all := strings.Join(told, "\n")
	for _, want := range []string{"process.panic get configmaps: panic: assignment to entry in nil map (serve_test.mined.Handle)", "edge.panic request GET /openapi/v2: panic: no documents ("} {
		if !strings.Contains(all, want) {
			t.Errorf("told\n%s\nwithout %q", all, want)
		}
	}
}

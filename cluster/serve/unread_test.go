package serve_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"kviz/assets"
	"kviz/cluster/serve"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// deaf are connections that send a request and read nothing of its answer.
type deaf struct {
	t     *testing.T
	l     *serve.Listener
	token string
	conns []net.Conn
}

func (e *edge) deafTo(t *testing.T, h *serve.Handler) *deaf {
	t.Helper()
	l, err := h.Listen(0, filepath.Join(t.TempDir(), "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	cfg, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return &deaf{t: t, l: l, token: cfg.BearerToken}
}

func (d *deaf) ask(path, headers string) {
	d.t.Helper()
	raw, err := net.Dial("tcp", strings.TrimPrefix(d.l.URL, "https://"))
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { raw.Close() })
	if err := raw.(*net.TCPConn).SetReadBuffer(16 << 10); err != nil {
		d.t.Fatal(err)
	}
	conn := tls.Client(raw, &tls.Config{InsecureSkipVerify: true})
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n%s\r\n", path, d.token, headers); err != nil {
		d.t.Fatal(err)
	}
	d.conns = append(d.conns, raw)
}

const configMaps = "/api/v1/namespaces/default/configmaps"

func (e *edge) write(t *testing.T, method, path, name string, size int) {
	t.Helper()
	resp := e.do(t, method, configMaps+path, fmt.Sprintf(`{"metadata":{"name":%q},"data":{"text":%q}}`, name, strings.Repeat("x", size)))
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode >= 300 {
		t.Fatal(resp.Status, string(b), err)
	}
}

// Of lists that nobody reads no more is in memory than may be, however many there are; the
// others wait their turn. What a client leaves unread is given back when it goes, and when it
// takes nothing for too long.
func TestListsThatNobodyReads(t *testing.T) {
	for _, leaves := range []bool{true, false} {
		t.Run(fmt.Sprint("leaves ", leaves), func(t *testing.T) {
			e := newEdge(t)
			untaken := time.Duration(0)
			if !leaves {
				untaken = time.Second
			}
			h := serve.New(serve.Config{Kernel: e.kernel, API: func() serve.API { return e.server }, Documents: assets.Documents(), Untaken: untaken})
			t.Cleanup(h.Close)
			for i := range 3 {
				e.write(t, http.MethodPost, "", fmt.Sprint("c", i), 900_000)
			}
			d := e.deafTo(t, h)
			for range 8 {
				d.ask(configMaps, "Accept: application/yaml\r\n") // which is not made piece by piece
			}
			most := 0
			look := func() int {
				answers, _ := h.Unread()
				most = max(most, answers)
				return answers
			}
			steady.Until(t, "answers that wait", func() bool { return look() > 0 })
			if leaves {
				for _, c := range d.conns {
					c.Close()
				}
			}
			steady.Until(t, "that nothing waits any more", func() bool { return look() == 0 })
			if most > serve.MostUnread {
				t.Errorf("%d bytes waited", most)
			}
		})
	}
}

// An event is encoded once for however many watches that take nothing, large as it may be,
// and what waits for them is given back when they go.
func TestWatchesThatNobodyReads(t *testing.T) {
	e := newEdge(t)
	_ = e.kernel.Do(func() { e.kernel.SetDemand(false); e.kernel.SetSpeed(1000) })
	d := e.deafTo(t, e.h)
	const watches, writes = 12, 20
	for range watches {
		d.ask(configMaps+"?watch=true&timeoutSeconds=1000000", "")
	}
	steady.Until(t, "the watches", func() bool {
		n := 0
		events, _, _ := e.stream.Read(0, int(e.stream.Len()))
		for _, event := range events {
			if w, ok := event.Payload.(*trace.Watch); ok && event.Kind == trace.WatchOpened && w.Resource == "configmaps" {
				n++
			}
		}
		return n >= watches
	})
	e.write(t, http.MethodPost, "", "a", 900_000)
	for i := range writes - 1 {
		e.write(t, http.MethodPut, "/a", "a", 900_001+i)
	}
	steady.Until(t, "events that wait", func() bool { _, events := e.h.Unread(); return events > watches*1_000_000 })
	if n := e.h.Encoded(); n > writes {
		t.Errorf("%d events were encoded %d times", writes, n)
	}
	for _, c := range d.conns {
		c.Close()
	}
	steady.Until(t, "that nothing waits any more", func() bool { _, events := e.h.Unread(); return events == 0 })
}

package page_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"kviz/raftstore/steady"
	"kviz/tui/class/page"
)

// listens serves a page at this machine, until the test ends.
func listens(t *testing.T, p *page.Page) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Serve(l); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// events are what a page hears.
type events struct {
	t    *testing.T
	body io.ReadCloser
	in   *bufio.Scanner
}

func hears(t *testing.T, addr, query string) *events {
	t.Helper()
	r, err := http.Get("http://" + addr + "/events?" + query)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Body.Close() })
	if r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("changes: %d %v", r.StatusCode, r.Header)
	}
	e := &events{t, r.Body, bufio.NewScanner(r.Body)}
	e.in.Buffer(nil, 1<<20)
	return e
}

// next is the next event: its id, and the parts that have changed. kind is "" for a change.
func (e *events) next() (id, kind string, parts map[string]string) {
	e.t.Helper()
	for e.in.Scan() {
		line := e.in.Text()
		if text, is := strings.CutPrefix(line, "id: "); is {
			id = text
		}
		if text, is := strings.CutPrefix(line, "event: "); is {
			kind = text
		}
		if text, is := strings.CutPrefix(line, "data: "); is {
			if err := json.Unmarshal([]byte(text), &parts); err != nil {
				e.t.Fatal(err)
			}
		}
		if line == "" && parts != nil {
			return id, kind, parts
		}
	}
	e.t.Fatalf("no more is heard: %v", e.in.Err())
	return "", "", nil
}

// TestChanges: a page hears of the next scene, and of nothing that it shows already.
func TestChanges(t *testing.T) {
	p, s, _ := opens(t, "see", "")
	addr := listens(t, p)
	e := hears(t, addr, "size=80")
	first, _, parts := e.next()
	if !strings.Contains(parts["picture"], "<svg") || !strings.Contains(parts["caption"], "Each member keeps") {
		t.Fatalf("a page that shows nothing hears %v", parts)
	}
	again := *taught(t)["see"].scene // a new scene in which nothing has changed
	s.goes(moment{scene: &again, room: s.now.room, as: s.now.as})
	s.goes(taught(t)["change"])
	id, _, parts := e.next()
	if id == first || parts["picture"] != "" || !strings.Contains(parts["caption"], "on disk") || parts["below"] != "" {
		t.Errorf("of the next scene it hears %v", parts)
	}
	rows := 0
	for name := range parts {
		if strings.HasPrefix(name, "y") {
			rows++
		}
	}
	if rows == 0 || rows == 20 {
		t.Errorf("of the picture it hears %d rows of 20", rows)
	}
	late := hears(t, addr, "size=80&has="+id) // it was cut off, and shows what is shown
	s.goes(taught(t)["open"])
	if _, _, parts := late.next(); parts["picture"] != "" || !strings.Contains(parts["below"], "What becomes of the entry?") {
		t.Errorf("one that shows the scene before hears %v", parts)
	}
	lost := hears(t, addr, "size=80&has="+first)
	if _, _, parts := lost.next(); parts["picture"] == "" {
		t.Errorf("one that shows an older scene hears %v", parts)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	for _, one := range []*events{late, lost} {
		if _, kind, _ := one.next(); kind != "over" {
			t.Errorf("at the end of the class it hears %q", kind)
		}
	}
	if n := p.Looking(); n != 0 {
		t.Errorf("%d look on after the end", n)
	}
}

// TestEachSceneIsDrawnOnce for all who look on.
func TestEachSceneIsDrawnOnce(t *testing.T) {
	p, s, _ := opens(t, "shown", "")
	before := whole(t, p, "/")
	for range 10 {
		if whole(t, p, "/") != before {
			t.Fatal("the same scene is drawn once more: it has another number")
		}
	}
	s.goes(taught(t)["point"])
	if whole(t, p, "/") == before {
		t.Error("the next scene is not seen")
	}
}

// TestTooMany: those for whom there is no room hear so, and can load the page again.
func TestTooMany(t *testing.T) {
	p, _, _ := opens(t, "see", "", page.Limits{Viewers: 2})
	addr := listens(t, p)
	one := hears(t, addr, "")
	one.next()
	hears(t, addr, "").next()
	r, err := http.Get("http://" + addr + "/events")
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
		t.Errorf("the third hears %d %v", r.StatusCode, r.Header)
	}
	if r, err = http.Get("http://" + addr + "/"); err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("the third loads the page: %v, %v", r, err)
	}
	r.Body.Close()
	one.body.Close()
	steady.Until(t, "one has left", func() bool { return p.Looking() == 1 })
	hears(t, addr, "").next()
}

// TestWhoDoesNotRead is dropped, and nobody waits for them.
func TestWhoDoesNotRead(t *testing.T) {
	p, s, _ := opens(t, "see", "", page.Limits{Stalled: 50 * time.Millisecond})
	addr := listens(t, p)
	stuck, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close()
	if err := stuck.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(stuck, "GET /events?size=120 HTTP/1.1\r\nHost: localhost\r\n\r\n")
	steady.Until(t, "it listens", func() bool { return p.Looking() == 1 })
	e := hears(t, addr, "size=60")
	e.next()
	turn := 0
	steady.Until(t, "it is dropped", func() bool {
		turn++
		s.goes(taught(t)[[]string{"see", "open", "shown", "point"}[turn%4]])
		e.next()
		return p.Looking() == 1
	})
}

// TestSlowRequests: a request that does not come to its end, and one whose head has none, cost a moment.
func TestSlowRequests(t *testing.T) {
	p, _, _ := opens(t, "see", "", page.Limits{Header: 50 * time.Millisecond})
	addr := listens(t, p)
	for _, c := range []struct{ what, sends, want string }{
		{"half a head", "GET / HTTP/1.1\r\nHost: local", ""},
		{"half a body", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\ncode=", "400 Bad Request"},
		{"a head without end", "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 64<<10), "431 Request Header Fields Too Large"},
		{"no HTTP", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "400 Bad Request"},
		{"two lengths", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\ncode=", "400 Bad Request"},
		{"no name", "GET / HTTP/1.1\r\n\r\n", "400 Bad Request: missing required Host header"},
		{"another name", "GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", "421 Misdirected Request"},
		{"a name that begins alike", "GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\nConnection: close\r\n\r\n", "421 Misdirected Request"},
		{"this machine", "GET / HTTP/1.1\r\nHost: [::1]:8080\r\nConnection: close\r\n\r\n", "200 OK"},
	} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, c.sends) // it may be refused before its end
		said, _ := io.ReadAll(conn)          // it may be reset, for it was not read to its end
		conn.Close()
		if status, _, _ := strings.Cut(string(said), "\r\n"); strings.TrimPrefix(status, "HTTP/1.1 ") != c.want {
			t.Errorf("%s: %q, want %q", c.what, status, c.want)
		}
	}
}

// TestAFlood of connections from one address costs its own oldest ones; those who listen stay.
func TestAFlood(t *testing.T) {
	p, s, _ := opens(t, "see", "")
	addr := listens(t, p)
	e := hears(t, addr, "")
	e.next()
	var all []net.Conn
	for range 150 {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		all = append(all, conn)
	}
	if n, err := all[0].Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("the oldest of 150 reads %d bytes: %v", n, err)
	}
	s.goes(taught(t)["open"])
	if _, _, parts := e.next(); parts["below"] == "" {
		t.Errorf("one who listened before hears %v", parts)
	}
}

// TestTheEnd leaves nothing that runs, also where browsers are connected, one of which does not read.
func TestTheEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	p, _, _ := opens(t, "see", "")
	addr := listens(t, p)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get("http://" + addr + "/events")
	if err != nil {
		t.Fatal(err)
	}
	stuck, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close()
	fmt.Fprintf(stuck, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
	steady.Until(t, "both listen", func() bool { return p.Looking() == 2 })
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	r.Body.Close()
	if n := p.Looking(); n != 0 {
		t.Errorf("%d look on after the end", n)
	}
	if _, err := net.Dial("tcp", addr); err == nil {
		t.Error("it still listens")
	}
	steady.Until(t, "all that ran has ended", func() bool { return runtime.NumGoroutine() <= before })
}

// TestWithoutACode a page is for this machine alone.
func TestWithoutACode(t *testing.T) {
	p, _, _ := opens(t, "see", "")
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Serve(l); err == nil || !strings.Contains(err.Error(), "needs a code") {
		t.Errorf("it is served to everybody: %v", err)
	}
}

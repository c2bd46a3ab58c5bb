package etcdapi_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"kviz/raftstore"
	"kviz/raftstore/steady"
)

// A browser watches and keeps a lease alive over WebSockets, as with etcd; what
// is open then does not keep the server from closing.
func TestTheGatewayStreamsOverWebSockets(t *testing.T) {
	steady.Bubble(t, testTheGatewayStreamsOverWebSockets)
}

func testTheGatewayStreamsOverWebSockets(t *testing.T) {
	b := newBench(t, raftstore.OpenBare())
	open := func(path string) *websocket.Conn {
		t.Helper()
		dialer := &websocket.Dialer{NetDialContext: b.net.dialTCP}
		conn, _, err := dialer.DialContext(b.ctx, "ws://"+b.server.Addr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	ids := regexp.MustCompile(`"(cluster|member)_id":\s*"\d+",?\s*`)
	ask := func(conn *websocket.Conn, text, want string) {
		t.Helper()
		if text != "" {
			if err := conn.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if err := conn.SetReadDeadline(time.Now().Add(steady.Patience(t))); err != nil {
			t.Fatal(err)
		}
		_, got, err := conn.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		if told := strings.ReplaceAll(ids.ReplaceAllString(string(got), ""), " ", ""); told != want {
			t.Errorf("%s: %s, want %s", text, told, want)
		}
	}
	w := open("/v3/watch")
	ask(w, `{"create_request":{"key":"YQ=="}}`, `{"result":{"header":{"revision":"1"},"created":true}}`)
	b.put("a", "1")
	ask(w, "", `{"result":{"header":{"revision":"2"},"events":[{"kv":{"key":"YQ==","create_revision":"2","mod_revision":"2","version":"1","value":"MQ=="}}]}}`)
	ask(w, `{"cancel_request":{"watch_id":"0"}}`, `{"result":{"header":{"revision":"2"},"canceled":true}}`)
	k := open("/v3/lease/keepalive")
	ask(k, `{"ID":"5"}`, `{"result":{"header":{"revision":"2"},"ID":"5"}}`)
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.server.Close(); err != nil {
		t.Fatal(err)
	}
	for { // it may say first why it ends
		if _, _, err := w.ReadMessage(); err != nil {
			break
		}
	}
}

// Pages of other origins may ask, as with etcd; paths of old are understood.
func TestOtherOriginsAndOldPaths(t *testing.T) { steady.Bubble(t, testOtherOriginsAndOldPaths) }

func testOtherOriginsAndOldPaths(t *testing.T) {
	b := newBench(t, raftstore.OpenBare())
	req, err := http.NewRequestWithContext(b.ctx, http.MethodOptions, "http://"+b.server.Addr+"/v3/kv/range", nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, _ := b.ask(req); resp.StatusCode != http.StatusOK || resp.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%s %v", resp.Status, resp.Header)
	}
	if post, _ := b.post("/v3beta/kv/put", `{"key":"YQ==","value":"MQ=="}`); post.StatusCode != http.StatusOK || b.store.(interface{ Revision() int64 }).Revision() != 2 {
		t.Errorf("a put by the old path: %s", post.Status)
	}
}

// A watcher that a compaction canceled keeps its ID, and the stream its silence
// about progress, until the client cancels it too: so does etcd, and its client
// always does.
func TestWhatACompactionCanceledIsCanceledByTheClient(t *testing.T) { on(t, testCanceledTwice) }

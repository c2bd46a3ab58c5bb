package etcdapi_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"kviz/raftstore"
)

// A browser watches and keeps a lease alive over WebSockets, as with etcd; what
// is open then does not keep the server from closing.
func TestTheGatewayStreamsOverWebSockets(t *testing.T) {
	b := newBench(t, raftstore.OpenBare())
	open := func(path string) *websocket.Conn {
		t.Helper()
		conn, _, err := websocket.DefaultDialer.DialContext(b.ctx, "ws://"+b.server.Addr+path, nil)
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
		if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
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
func TestOtherOriginsAndOldPaths(t *testing.T) {
	b := newBench(t, raftstore.OpenBare())
	req, err := http.NewRequestWithContext(b.ctx, http.MethodOptions, "http://"+b.server.Addr+"/v3/kv/range", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%s %v", resp.Status, resp.Header)
	}
	post, err := http.Post("http://"+b.server.Addr+"/v3beta/kv/put", "application/json", strings.NewReader(`{"key":"YQ==","value":"MQ=="}`))
	if err != nil {
		t.Fatal(err)
	}
	post.Body.Close()
	if post.StatusCode != http.StatusOK || b.store.(interface{ Revision() int64 }).Revision() != 2 {
		t.Errorf("a put by the old path: %s", post.Status)
	}
}

// A watcher that a compaction canceled keeps its ID, and the stream its silence
// about progress, until the client cancels it too: so does etcd, and its client
// always does.
func TestWhatACompactionCanceledIsCanceledByTheClient(t *testing.T) { on(t, testCanceledTwice) }

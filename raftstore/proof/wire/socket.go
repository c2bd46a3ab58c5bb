package wire

import (
	"net/http"
	"time"

	"github.com/gorilla/websocket"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// socket is a WebSocket to the JSON gateway.
type socket struct {
	s    *side
	path string
	conn *websocket.Conn
}

func (s *side) socket(path string, header http.Header) *socket {
	conn, resp, err := websocket.DefaultDialer.DialContext(s.ctx, "ws://"+s.endpoints[s.at]+path, header)
	if err != nil {
		s.say("socket "+path, s.local(err.Error()))
		return &socket{s: s, path: path}
	}
	s.sayf("socket "+path, "%s, protocol %q", resp.Status, conn.Subprotocol())
	return &socket{s, path, conn}
}

// ask sends a message, unless it is empty, and reads n.
func (w *socket) ask(text string, n int) {
	if w.conn == nil {
		return
	}
	call := "socket " + w.path + " " + text
	if text != "" {
		if err := w.conn.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
			w.s.say(call, err.Error())
			return
		}
	}
	for range n {
		err := w.conn.SetReadDeadline(time.Now().Add(w.s.patience))
		var got []byte
		if err == nil {
			_, got, err = w.conn.ReadMessage()
		}
		if err != nil {
			w.s.say(call, w.s.local(err.Error()))
			return
		}
		w.s.say(call, w.s.local(compact(string(got))))
	}
}

func (w *socket) close() {
	if w.conn != nil {
		_ = w.conn.Close() // the other side notices
	}
}

// sockets is the gateway's streams over WebSockets.
func sockets(s *side) {
	w := s.socket("/v3/watch", nil)
	defer w.close()
	w.ask(`{"create_request":{"key":"YQ==","prev_kv":true}}`, 1)
	w.ask(`{"create_request":{"key":"YQ==","watch_id":"7"}}`, 1)
	w.ask(`{"cancel_request":{"watch_id":"7"}}`, 1)
	ask(s, s.kv().Put, put("a", "1"))
	w.ask("", 1)
	w.ask(`{"progress_request":{}}`, 1)
	w.ask("{\"create_request\":\n{\"key\":\"Yg==\"}}", 1)
	ask(s, s.kv().Put, put("b", "1"))
	w.ask("", 1)
	ask(s, s.lease().LeaseGrant, &pb.LeaseGrantRequest{ID: 9, TTL: 600})
	k := s.socket("/v3/lease/keepalive", nil)
	defer k.close()
	k.ask(`{"ID":"9"}`, 1)
	k.ask(`{"ID":"9"}`, 1)
	k.ask(`{"ID":"10"}`, 1)
	k.ask(`not JSON`, 1)
	n := s.socket("/v3/nothing", nil)
	defer n.close()
	n.ask("", 1)
	named := s.socket("/v3/watch", http.Header{"Sec-Websocket-Protocol": {"Bearer, nobody.1"}})
	defer named.close()
	named.ask(`{"create_request":{"key":"YQ==","start_revision":"2"}}`, 2)
	s.socket("/health", nil).close()
}

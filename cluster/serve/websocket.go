package serve

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"kviz/cluster/apiserver/request"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	remotecommandconsts "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// How long a connection may say nothing, and how long the last word may take to be
// written (apiserver pkg/util/proxy/websocket.go).
const (
	idleSession  = 4 * time.Hour
	lastWordTime = 10 * time.Second
)

// overWebSocket speaks v5.channel.k8s.io, as kubectl does (apiserver
// pkg/util/proxy/websocket.go webSocketServerStreams), and v4, as browsers and clients in
// other languages do, in which an input has no end (cri-streaming pkg/streaming/remotecommand/websocket.go).
func (h *Handler) overWebSocket(w http.ResponseWriter, r *http.Request, caller Caller, of uint64, s *request.Session) {
	channels := make([]wsstream.ChannelType, 5)
	asked := func(channel int, on bool, kind wsstream.ChannelType) {
		if channels[channel] = wsstream.IgnoreChannel; on {
			channels[channel] = kind
		}
	}
	asked(remotecommandconsts.StreamStdIn, s.Stdin, wsstream.ReadChannel)
	asked(remotecommandconsts.StreamStdOut, s.Stdout, wsstream.WriteChannel)
	asked(remotecommandconsts.StreamStdErr, s.Stderr, wsstream.WriteChannel)
	asked(remotecommandconsts.StreamErr, true, wsstream.WriteChannel)
	asked(remotecommandconsts.StreamResize, true, wsstream.ReadChannel)
	conn := wsstream.NewConn(map[string]wsstream.ChannelProtocolConfig{
		remotecommandconsts.StreamProtocolV5Name:        {Binary: true, Channels: channels},
		remotecommandconsts.StreamProtocolV4Name:        {Binary: true, Channels: channels},
		"v4." + wsstream.Base64ChannelWebSocketProtocol: {Channels: channels},
	})
	conn.SetIdleTimeout(idleSession)
	_, streams, err := conn.Open(w, r)
	if err != nil {
		return // it has answered
	}
	defer conn.Close()
	var with Streams
	if s.Stdin {
		with.In = streams[remotecommandconsts.StreamStdIn]
	}
	first := streams[remotecommandconsts.StreamErr]
	if s.Stderr {
		with.Err = streams[remotecommandconsts.StreamStdErr]
		first = streams[remotecommandconsts.StreamStdErr]
	}
	if s.Stdout {
		with.Out = streams[remotecommandconsts.StreamStdOut]
		first = streams[remotecommandconsts.StreamStdOut]
	}
	ctx, gone := context.WithCancel(r.Context()) // which knows nothing of a connection that was taken over
	defer gone()
	sizes := streams[remotecommandconsts.StreamResize]
	h.beside("terminal sizes", func() {
		_, _ = io.Copy(io.Discard, sizes) // to the end of the connection
		gone()
	}, gone)
	if _, err := first.Write([]byte{}); err != nil { // the client waits for something, and so knows that it is connected
		return
	}
	st := h.run(ctx, caller, of, s, with, func() { conn.SetWriteDeadline(0) })
	conn.SetWriteDeadline(lastWordTime)
	writeLast(streams[remotecommandconsts.StreamErr], st)
}

// writeLast tells how a session ended.
func writeLast(w io.Writer, st *metav1.Status) {
	if b, err := json.Marshal(st); err == nil {
		_, _ = w.Write(b)
	}
}

package serve

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"time"

	"kviz/cluster/apiserver/request"

	corev1 "k8s.io/api/core/v1"
	remotecommandconsts "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// streamsTime is how long a client has to open the streams that it requested
// (remotecommand.DefaultStreamCreationTimeout).
const streamsTime = 30 * time.Second

// overSPDY speaks SPDY/3.1 with v4.channel.k8s.io, as clients did before there were
// WebSockets (cri-streaming pkg/streaming/remotecommand/httpstream.go).
func (h *Handler) overSPDY(w http.ResponseWriter, r *http.Request, caller Caller, of uint64, s *request.Session) {
	if _, err := httpstream.Handshake(r, w, []string{remotecommandconsts.StreamProtocolV4Name}); err != nil {
		return // it has answered
	}
	opened := make(chan httpstream.Stream, 5)
	taken := &takenOver{ResponseWriter: w}
	conn := spdy.NewResponseUpgrader().UpgradeResponse(taken, r, func(stream httpstream.Stream, _ <-chan struct{}) error {
		select {
		case opened <- stream:
		default: // there are five
		}
		return nil
	})
	if conn == nil {
		return // it has answered
	}
	defer conn.Close()
	conn.SetIdleTimeout(idleSession)
	ctx, gone := context.WithCancel(r.Context())
	defer gone()
	h.beside("end of a connection", func() {
		select {
		case <-conn.CloseChan():
			gone()
		case <-ctx.Done():
		}
	}, gone)
	with, last, ok := h.streamsOf(ctx, s, opened)
	if !ok {
		return
	}
	writeLast(last, h.run(ctx, caller, of, s, with, taken.cut))
}

// takenOver remembers the connection that an upgrade takes over.
type takenOver struct {
	http.ResponseWriter
	conn net.Conn
}

// Hijack implements [http.Hijacker].
func (t *takenOver) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffer, err := http.NewResponseController(t.ResponseWriter).Hijack()
	t.conn = conn
	return conn, buffer, err
}

// cut has what is being written fail.
func (t *takenOver) cut() { _ = t.conn.SetWriteDeadline(time.Now()) }

// streamsOf waits for the streams that were asked for, and the one in which the end is told.
func (h *Handler) streamsOf(ctx context.Context, s *request.Session, opened <-chan httpstream.Stream) (with Streams, last io.Writer, ok bool) {
	left := 1
	for _, on := range []bool{s.Stdin, s.Stdout, s.Stderr, s.TTY} {
		if on {
			left++
		}
	}
	for late := time.After(streamsTime); left > 0; left-- {
		select {
		case stream := <-opened:
			switch stream.Headers().Get(corev1.StreamType) {
			case corev1.StreamTypeError:
				last = stream
			case corev1.StreamTypeStdin:
				with.In = stream
			case corev1.StreamTypeStdout:
				with.Out = stream
			case corev1.StreamTypeStderr:
				with.Err = stream
			case corev1.StreamTypeResize:
				h.beside("terminal sizes", func() { _, _ = io.Copy(io.Discard, stream) }, func() {})
			}
		case <-late:
			return with, nil, false
		case <-ctx.Done():
			return with, nil, false
		}
	}
	return with, last, last != nil
}

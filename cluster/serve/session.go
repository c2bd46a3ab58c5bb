package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	remotecommandconsts "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"kviz/cluster/apiserver"
	"kviz/cluster/sim"
)

// Streams are the standard streams of a command in a container; nil for those that
// nobody has asked for.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

type streamsKey struct{}

// WithStreams returns a context whose request to exec needs no upgrade of its
// connection: what the command reads and writes goes by these, and the answer is the
// Status that a WebSocket has in its error channel.
func WithStreams(ctx context.Context, s Streams) context.Context {
	return context.WithValue(ctx, streamsKey{}, &s)
}

func sessionOf(r *http.Request) *Streams {
	s, _ := r.Context().Value(streamsKey{}).(*Streams)
	return s
}

// runHere runs a session inside this process.
func (h *Handler) runHere(w http.ResponseWriter, r *http.Request, caller Caller, s *apiserver.Session, with *Streams) {
	st := h.run(r.Context(), caller, s, s.Options.Command, *with)
	st.Kind, st.APIVersion = "Status", "v1"
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(st)
}

// How long a connection may say nothing, and how long the last word may take to be
// written (apiserver pkg/util/proxy/websocket.go).
const (
	idleSession  = 4 * time.Hour
	lastWordTime = 10 * time.Second
)

// serveSession speaks v5.channel.k8s.io, as kubectl does
// (apiserver pkg/util/proxy/websocket.go webSocketServerStreams).
func (h *Handler) serveSession(w http.ResponseWriter, r *http.Request, caller Caller, s *apiserver.Session) {
	channels := make([]wsstream.ChannelType, 5)
	o := s.Options
	asked := func(channel int, on bool, kind wsstream.ChannelType) {
		if channels[channel] = wsstream.IgnoreChannel; on {
			channels[channel] = kind
		}
	}
	asked(remotecommandconsts.StreamStdIn, o.Stdin, wsstream.ReadChannel)
	asked(remotecommandconsts.StreamStdOut, o.Stdout, wsstream.WriteChannel)
	asked(remotecommandconsts.StreamStdErr, o.Stderr, wsstream.WriteChannel)
	asked(remotecommandconsts.StreamErr, true, wsstream.WriteChannel)
	asked(remotecommandconsts.StreamResize, true, wsstream.ReadChannel)
	conn := wsstream.NewConn(map[string]wsstream.ChannelProtocolConfig{
		remotecommandconsts.StreamProtocolV5Name: {Binary: true, Channels: channels},
	})
	conn.SetIdleTimeout(idleSession)
	_, streams, err := conn.Open(w, r)
	if err != nil {
		return // it has answered
	}
	defer conn.Close()
	var with Streams
	if o.Stdin {
		with.In = streams[remotecommandconsts.StreamStdIn]
	}
	first := streams[remotecommandconsts.StreamErr]
	if o.Stderr {
		with.Err = streams[remotecommandconsts.StreamStdErr]
		first = streams[remotecommandconsts.StreamStdErr]
	}
	if o.Stdout {
		with.Out = streams[remotecommandconsts.StreamStdOut]
		first = streams[remotecommandconsts.StreamStdOut]
	}
	ctx, gone := context.WithCancel(r.Context()) // which knows nothing of a connection that was taken over
	defer gone()
	sizes := streams[remotecommandconsts.StreamResize]
	h.cfg.Kernel.Beside("terminal sizes", func() {
		_, _ = io.Copy(io.Discard, sizes) // to the end of the connection
		gone()
	})
	if _, err := first.Write([]byte{}); err != nil { // the client waits for something, and so knows that it is connected
		return
	}
	var st *metav1.Status
	if o.TTY && o.Stdin && isShell(o.Command) {
		st = h.runTerminal(ctx, caller, s, with)
	} else {
		st = h.run(ctx, caller, s, o.Command, with)
	}
	b, err := json.Marshal(st)
	if err != nil {
		return
	}
	conn.SetWriteDeadline(lastWordTime)
	_, _ = streams[remotecommandconsts.StreamErr].Write(b)
}

// run runs a command and gives how it ended, in the words of the kubelet's server
// (cri-streaming pkg/streaming/remotecommand/exec.go ServeExec).
func (h *Handler) run(ctx context.Context, caller Caller, s *apiserver.Session, argv []string, with Streams) *metav1.Status {
	in := &stdin{kernel: h.cfg.Kernel, from: with.In}
	res, err := h.execute(ctx, caller, s, argv, in.rest)
	if err == nil {
		err = in.err
	}
	if err != nil {
		return statusOf(apierrors.NewInternalError(err))
	}
	if with.Out != nil {
		_, _ = io.WriteString(with.Out, res.Stdout)
	}
	if with.Err != nil {
		_, _ = io.WriteString(with.Err, res.Stderr)
	}
	return ended(res.Code)
}

func ended(code int) *metav1.Status {
	if code == 0 {
		return &metav1.Status{Status: metav1.StatusSuccess}
	}
	return &metav1.Status{
		Status: metav1.StatusFailure, Reason: remotecommandconsts.NonZeroExitCodeReason,
		Message: fmt.Sprintf("command terminated with non-zero exit code: command terminated with exit code %d", code),
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: remotecommandconsts.ExitCodeCauseType, Message: strconv.Itoa(code)}}},
	}
}

var errSessionEnded = errors.New("the connection to the container ended")

// execute has a task run a command of a session.
func (h *Handler) execute(ctx context.Context, caller Caller, s *apiserver.Session, argv []string, stdin func(*sim.Task) string) (apiserver.ExecResult, error) {
	type result struct {
		apiserver.ExecResult
		err error
	}
	given := make(chan result, 1) // a client that goes does not end the task
	if err := h.cfg.Kernel.Call(ctx, caller.Process, "exec", func(t *sim.Task) {
		t.SetCauses(caller.Causes...)
		res, err := s.Run(t, argv, stdin)
		given <- result{res, err}
	}); err != nil {
		return apiserver.ExecResult{}, err
	}
	select {
	case r := <-given:
		return r.ExecResult, r.err
	default:
		return apiserver.ExecResult{}, errSessionEnded
	}
}

// isShell reports whether a command is a shell that reads its commands from its input.
func isShell(argv []string) bool {
	if len(argv) == 0 || !slices.Contains([]string{"sh", "bash", "ash"}, path.Base(argv[0])) {
		return false
	}
	return !slices.Contains(argv[1:], "-c")
}

// stdin is the standard input of one command. It is read when the command does: others
// end while their input is open.
type stdin struct {
	kernel *sim.Kernel
	from   io.Reader // nil for none
	err    error
}

// longestInput is how much a command can read; what it writes stays in memory.
const longestInput = 16 << 20

// rest reads to the end, beside the kernel. It runs in the command's task.
func (in *stdin) rest(t *sim.Task) string {
	if in.from == nil {
		return ""
	}
	var text []byte
	var done sim.Cond
	over := false
	in.kernel.Beside("standard input", func() {
		b, err := io.ReadAll(io.LimitReader(in.from, longestInput+1))
		if err == nil && len(b) > longestInput {
			err = fmt.Errorf("kviz gives a command no more than %d MiB to read", longestInput>>20)
		}
		in.kernel.Post(func() {
			text, in.err, over = b, err, true
			done.Signal()
		})
	})
	for !over {
		done.Wait(t)
	}
	if in.err != nil {
		return ""
	}
	return string(text)
}

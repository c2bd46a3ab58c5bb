package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	remotecommandconsts "k8s.io/apimachinery/pkg/util/remotecommand"

	"kviz/cluster/apiserver/request"
	"kviz/cluster/sim"
	"kviz/cluster/stdio"
)

// A session is exec or attach: a connection to the streams of a process in a container,
// whatever it is spoken over (websocket.go, spdy.go), or of a caller inside this process.

// Streams are the standard streams of a command in a container; nil for those that
// were not requested.
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
func (h *Handler) runHere(w http.ResponseWriter, r *http.Request, caller Caller, of uint64, s *request.Session, with *Streams) {
	st := h.run(r.Context(), caller, of, s, *with, nil)
	st.Kind, st.APIVersion = "Status", "v1"
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(st)
}

// run runs a session and gives how it ended, in the words of the kubelet's server
// (cri-streaming pkg/streaming/remotecommand/exec.go ServeExec). cut breaks the connection.
func (h *Handler) run(ctx context.Context, caller Caller, of uint64, s *request.Session, with Streams, cut func()) *metav1.Status {
	k := h.cfg.Kernel
	back := h.newOutbox(cut)
	one := &session{h: h, reads: with.In != nil}
	if back.broken = func() {}; cut != nil { // the console's pipelines end by themselves
		back.broken = sync.OnceFunc(func() { k.Post(one.close) })
	}
	streams := &stdio.Streams{Out: back.to(with.Out), Err: back.to(with.Err), TTY: s.TTY}
	switch {
	case with.In == nil:
	case s.TTY: // a key may be the one that ends the command
		streams.In = stdio.NewInput(nil)
		h.beside("keys of a terminal", func() { one.keys(with.In) }, one.leave)
	default: // others end while their input is open
		streams.In = stdio.NewInput(func() {
			h.beside("standard input", func() { one.readAll(with.In) }, one.leave)
		})
	}
	flushed := make(chan struct{})
	h.beside("output of a container", func() {
		defer close(flushed)
		back.write()
	}, one.leave)
	one.streams = streams
	inTurn := sim.TurnOf(ctx) != nil
	if !inTurn {
		defer context.AfterFunc(ctx, one.leave)()
	}
	code, err := h.execute(ctx, caller, of, s, one)
	if inTurn && err != nil {
		one.leave() // in the sender's turn
	}
	back.close()
	<-flushed
	if err == nil {
		err = streams.In.Err()
	}
	if err != nil {
		return statusOf(apierrors.NewInternalError(err))
	}
	return ended(code)
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

// execute has a task run the session, which the request of a number has opened.
func (h *Handler) execute(ctx context.Context, caller Caller, of uint64, s *request.Session, one *session) (int, error) {
	type result struct {
		code int
		err  error
	}
	given := make(chan result, 1) // a client that goes does not end the task
	if err := h.cfg.Kernel.Call(ctx, caller.Process, "session", func(t *sim.Task) {
		t.SetCauses(caller.Causes...)
		code, err := s.Run(t, one.streams)
		given <- result{code, err}
	}, func() {
		in := h.sentBy(caller)
		in.Of, in.Reads = of, one.reads
		one.number = h.enter(inputSession, in)
	}); err != nil {
		return 0, err
	}
	select {
	case r := <-given:
		return r.code, r.err
	default:
		return 0, errSessionEnded
	}
}

// longestInput is how much a command can read, and how much of its output may wait for
// the client: both stay in memory. Once too much waits for all clients together it is
// longestOfMany.
const (
	longestInput  = 16 << 20
	longestOfMany = 256 << 10
)

// session is a process in a container and who is connected with it.
type session struct {
	h       *Handler
	streams *stdio.Streams
	reads   bool   // it has an input
	number  uint64 // among what entered; kernel's goroutine
}

// The kernel's goroutine: what comes to a session enters the run.
func (s *session) feed(b []byte) {
	s.h.enter(inputFeed, input{Server: s.h.cfg.Name, Of: s.number, Text: b})
	s.streams.In.Feed(b)
}

func (s *session) end(err error) {
	in := input{Server: s.h.cfg.Name, Of: s.number}
	if err != nil {
		in.Path = err.Error()
	}
	s.h.enter(inputEnd, in)
	s.streams.In.End(err)
}

func (s *session) close() {
	if !s.streams.Closed() {
		s.h.enter(inputLeft, input{Server: s.h.cfg.Name, Of: s.number})
		s.streams.Close()
	}
}

// leave is close for other goroutines than the kernel's.
func (s *session) leave() { s.h.cfg.Kernel.Post(s.close) }

// beside runs a part of one connection in a goroutine of its own. A panic in it ends the connection.
func (h *Handler) beside(what string, fn, end func()) {
	k := h.cfg.Kernel
	k.Beside(what, func() {
		if broken := k.HandleCrash(what, fn); broken != nil {
			end()
		}
	})
}

// readAll reads an input to its end.
func (s *session) readAll(from io.Reader) {
	b, err := io.ReadAll(io.LimitReader(from, longestInput+1))
	if err == nil && len(b) > longestInput {
		err = fmt.Errorf("kviz gives a command no more than %d MiB to read", longestInput>>20)
	}
	s.h.cfg.Kernel.Post(func() {
		s.feed(b)
		s.end(err)
	})
}

// keys reads an input as it comes. The end of a terminal is no error.
func (s *session) keys(from io.Reader) {
	k := s.h.cfg.Kernel
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			b := append([]byte(nil), buf[:n]...)
			k.Post(func() { s.feed(b) })
		}
		if err != nil {
			k.Post(func() { s.end(nil) })
			return
		}
	}
}

// outbox is what tasks have written and a connection has not taken yet.
type outbox struct {
	unread *unread
	time   time.Duration // that the connection has to take a part
	cut    func()        // breaks it; nil: it has all the time
	broken func()        // what it did not take means that nobody is there

	mu     sync.Mutex
	news   *sync.Cond
	parts  []written
	size   int // that waits, what is being written among it
	closed bool
}

type written struct {
	to io.Writer
	b  []byte
}

func (h *Handler) newOutbox(cut func()) *outbox {
	o := &outbox{unread: h.unread, time: h.patience(), cut: cut}
	o.news = sync.NewCond(&o.mu)
	return o
}

// to is a writer that does not block; nil for nobody.
func (o *outbox) to(w io.Writer) io.Writer {
	if w == nil {
		return nil
	}
	return into{o, w}
}

type into struct {
	o *outbox
	w io.Writer
}

var errTooSlow = errors.New("what the container wrote was not read")

// Write implements [io.Writer].
func (i into) Write(b []byte) (int, error) {
	o := i.o
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.size+len(b) > longestInput || o.size+len(b) > longestOfMany && o.unread.waiting() > mostUnread {
		return 0, errTooSlow // it is lost, as to a terminal that is not there any more
	}
	o.size += len(b)
	o.unread.count(len(b))
	o.parts = append(o.parts, written{i.w, append([]byte(nil), b...)})
	o.news.Signal()
	return len(b), nil
}

func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.news.Signal()
}

// pass writes one part.
func (o *outbox) pass(p written) {
	if o.cut != nil {
		defer time.AfterFunc(o.time, o.cut).Stop()
	}
	if _, err := p.to.Write(p.b); err != nil {
		o.broken()
	}
}

// write writes to the connection until there is nothing more. What it does not take is
// lost.
func (o *outbox) write() {
	for {
		o.mu.Lock()
		for len(o.parts) == 0 && !o.closed {
			o.news.Wait()
		}
		if len(o.parts) == 0 {
			o.mu.Unlock()
			return
		}
		p := o.parts[0]
		o.parts[0] = written{}
		o.parts = o.parts[1:]
		o.mu.Unlock()
		o.pass(p)
		o.mu.Lock()
		o.size -= len(p.b)
		o.unread.count(-len(p.b))
		o.mu.Unlock()
	}
}

package serve

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// What is written to a client stays in memory until the client reads it. Upstream encodes
// lists piece by piece, ends watchers whose buffers are full, and has limits of requests in
// flight; this process has the cluster in its memory as well. So what waits for clients
// has a bound, for each connection and for all together, and a client that takes nothing of an
// answer loses its connection.

const (
	// mostUnread is how many bytes may wait for all clients together, answers and their making, and
	// mostUnreadEach for one connection. A larger answer is made when no other is.
	mostUnread     = 64 << 20
	mostUnreadEach = 16 << 20
	// little is what may wait in any case: the machine's own buffers take it.
	little = 64 << 10
	// untaken is how long a client may take nothing while there is something to write. It is as long
	// as a request may take; upstream cuts those off then.
	untaken = time.Minute
	// piece is how much is written before the client's time begins again.
	piece = 64 << 10
)

// unread is what waits for clients. It may be used from any goroutine.
type unread struct {
	mu     sync.Mutex
	sum    int
	events int // of watches, beside sum
	each   map[string]int
	room   chan struct{} // closed when there is more
}

var errManyUnread = errors.New("too many answers wait for clients that do not read")

// take waits until so many bytes more may wait for a connection. give is to be called once
// they do not.
func (u *unread) take(ctx context.Context, peer string, n int, patience time.Duration) (give func(), err error) {
	if n <= little || peer == "" { // the console's: a pipe, which holds nothing
		return func() {}, nil
	}
	n = min(n, mostUnread)
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		room, ok := u.add(peer, n, true)
		if ok {
			return sync.OnceFunc(func() { u.add(peer, -n, false) }), nil
		}
		select {
		case <-room:
		case <-late.C:
			return nil, errManyUnread
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// add counts bytes, where there is room or nobody asks whether there is. room is closed when there
// may be more.
func (u *unread) add(peer string, n int, ask bool) (room <-chan struct{}, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.room == nil {
		u.room, u.each = make(chan struct{}), map[string]int{}
	}
	if ask && (u.sum > 0 && u.sum+n > mostUnread || u.each[peer] > 0 && u.each[peer]+n > mostUnreadEach) {
		return u.room, false
	}
	u.sum += n
	if u.each[peer] += n; u.each[peer] == 0 {
		delete(u.each, peer)
	}
	if n < 0 {
		close(u.room)
		u.room = make(chan struct{})
	}
	return u.room, true
}

// count counts bytes that wait in any case, of watches.
func (u *unread) count(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.events += n
}

// waiting is how many bytes of watches wait.
func (u *unread) waiting() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.events
}

// turns bound how many goroutines encode at the same time: one processor is left to the
// kernel, which otherwise had to share them with hundreds of watches.
type turns chan struct{}

func newTurns() turns { return make(turns, max(1, runtime.GOMAXPROCS(0)-1)) }

func (s turns) take() { s <- struct{}{} }
func (s turns) give() { <-s }

// patient writes to a client in pieces, each of which the client has a time to take.
type patient struct {
	http.ResponseWriter
	of    *http.ResponseController
	time  time.Duration
	began time.Time // when the client's time began; zero: it has no end
	never bool      // the connection is one without
	turns turns     // not nil: its user has a turn, which is given up while something is written
}

func (h *Handler) patiently(w http.ResponseWriter) *patient {
	return &patient{ResponseWriter: w, of: http.NewResponseController(w), time: h.patience()}
}

// patience is for how long a client may take nothing.
func (h *Handler) patience() time.Duration {
	if h.cfg.Untaken > 0 {
		return h.cfg.Untaken
	}
	return untaken
}

// Write is [http.ResponseWriter]'s.
func (p *patient) Write(b []byte) (done int, err error) {
	for {
		p.begin()
		n, err := p.write(b[done:min(len(b), done+piece)])
		if done += n; err != nil || done == len(b) {
			return done, err
		}
	}
}

func (p *patient) write(b []byte) (int, error) {
	if p.turns != nil {
		p.turns.give()
		defer p.turns.take()
	}
	return p.ResponseWriter.Write(b)
}

// begin begins the client's time again; what it has is a hundredth less at the worst.
func (p *patient) begin() {
	if now := time.Now(); !p.never && now.Sub(p.began) > p.time/100 {
		p.began = now
		p.never = p.of.SetWriteDeadline(now.Add(p.time)) != nil
	}
}

// Flush implements [http.Flusher].
func (p *patient) Flush() {
	p.begin()
	_ = p.of.Flush()
}

// end ends it: nothing is to be written for now.
func (p *patient) end() {
	if !p.began.IsZero() && !p.never {
		p.began = time.Time{}
		_ = p.of.SetWriteDeadline(time.Time{})
	}
}

// Unwrap is for http.ResponseController.
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// sizeOf is about how many bytes an object comes to.
func sizeOf(obj apiruntime.Object) int {
	switch o := obj.(type) {
	case nil:
		return 0
	case interface{ Size() int }: // in protobuf
		return o.Size()
	case *unstructured.Unstructured:
		return sizeOfValue(o.Object)
	}
	return 0
}

func sizeOfValue(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			n += 8 + len(key) + sizeOfValue(value)
		}
		return n
	case []any:
		for _, value := range v {
			n += 2 + sizeOfValue(value)
		}
		return n
	case string:
		return len(v)
	}
	return 8
}

package kubectl

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"kviz/cluster/console/command"
	"kviz/cluster/serve"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// following is kubectl get --watch. Its watch is one at the API server like any
// other, of which the console reads the events. What kubectl makes of them is found
// out by running it again: it gets the answers of the first time, and as the watch
// all events up to now, of which each run prints more than the one before. So no
// kubectl waits by the machine's clock or for the machine's signals.
type following struct {
	most    time.Duration // how long the watch lasts, virtual; 0: as long as the API server lets it
	answers map[string]answer
	watch   *http.Response
	stop    context.CancelFunc // of the watch
	feed    *serve.Feed        // what has come of it by virtual time, where its command takes turns with others

	mu    sync.Mutex
	came  []byte // of the watch's body
	ended bool
	wake  chan struct{}
	known int // events that were waited for
}

// answer is what a request was answered with.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

func (a answer) response(r *http.Request) *http.Response {
	return &http.Response{
		StatusCode: a.code, Status: fmt.Sprintf("%d %s", a.code, http.StatusText(a.code)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Request: r, Header: a.header.Clone(), Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)),
	}
}

// answer sends what kubectl asks for the first time, and gives it again later.
func (f *following) answer(t *transport, r *http.Request) (*http.Response, error) {
	if watch := r.URL.Query().Get("watch"); watch != "" && watch != "0" && watch != "false" {
		return f.open(t, r)
	}
	key := r.Method + " " + r.URL.String() + " " + r.Header.Get("Accept")
	if a, ok := f.answers[key]; ok {
		return a.response(r), nil
	}
	resp, err := t.send(r)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(resp.Body) // in memory already
	if err != nil {
		return nil, err
	}
	f.answers[key] = answer{resp.StatusCode, resp.Header, b}
	return f.answers[key].response(r), nil
}

// open begins the watch, and answers it with the events up to now.
func (f *following) open(t *transport, r *http.Request) (*http.Response, error) {
	if f.watch == nil {
		caller := t.caller(r)
		caller.Waits, caller.Most = f.most > 0, f.most // who watches until he stops it makes no time pass
		all := t.ctx
		if f.feed != nil {
			caller.Feed, all = f.feed, context.WithoutCancel(all) // it ends in the command's turn
		}
		ctx, stop := context.WithCancel(all)
		resp, err := t.base.RoundTrip(r.Clone(serve.WithCaller(ctx, caller)))
		if err != nil || resp.StatusCode != http.StatusOK {
			defer stop()
			if err == nil {
				var b []byte
				b, err = io.ReadAll(resp.Body)
				resp.Body = io.NopCloser(bytes.NewReader(b))
			}
			return resp, err
		}
		f.watch, f.stop = resp, stop
		t.kernel.Beside("kubectl get --watch", f.read)
	}
	b, _ := f.events()
	return answer{http.StatusOK, f.watch.Header, b}.response(r), nil
}

// read takes in what the API server tells, until it has told everything.
func (f *following) read() {
	buf := make([]byte, 32<<10)
	for {
		n, err := f.watch.Body.Read(buf)
		f.mu.Lock()
		f.came = append(f.came, buf[:n]...)
		f.ended = err != nil
		f.mu.Unlock()
		select {
		case f.wake <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// events are those that have come whole, one a line; ended is true when no more will.
func (f *following) events() (b []byte, ended bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.came[: bytes.LastIndexByte(f.came, '\n')+1 : len(f.came)], f.ended
}

// follow is get --watch: the list, then each event.
func (k *run) follow(ctx context.Context, args []string, flags *parsed) int {
	limit := flags.timeout("request-timeout")
	if k.endless(ctx, limit) {
		return 1
	}
	if until, ok := command.Deadline(ctx); ok {
		if left := max(until-k.inv.Kernel.Time(), 1); limit <= 0 || left < limit {
			limit = left
		}
	}
	args = without(args, map[string]bool{"--request-timeout": true})
	f := &following{most: limit, answers: map[string]answer{}, wake: make(chan struct{}, 1)}
	if sim.TurnOf(ctx) != nil {
		f.feed = &serve.Feed{}
	}
	k.transport.following = f
	r := k.once(args)
	if exit := k.print(r); exit != 0 || f.watch == nil {
		return exit
	}
	gone := k.tell(ctx, f, args, r)
	f.stop()
	f.drain()
	if !gone && ctx.Err() != nil {
		return 130
	}
	return 0
}

// tell prints what comes, as kubectl prints it; true says that nobody reads it.
func (k *run) tell(ctx context.Context, f *following, args []string, said result) (gone bool) {
	for told, last := 0, false; !last; {
		var events []byte
		if f.feed != nil {
			events, last = f.await(ctx, k.inv.Kernel, k.inv.Cause)
		} else {
			select {
			case <-f.wake:
			case <-ctx.Done():
				return false
			}
			events, last = f.events()
		}
		if len(events) == told || k.inv.Script && !k.inv.AtOnce && !last { // a script is not read before the command's end
			continue
		}
		told = len(events)
		r := k.once(args)
		if !bytes.HasPrefix(r.out, said.out) {
			continue
		}
		more := result{out: r.out[len(said.out):]}
		if bytes.HasPrefix(r.errOut, said.errOut) {
			more.errOut = r.errOut[len(said.errOut):]
		}
		said = r
		if _, err := k.inv.Out.Write(more.out); err != nil {
			return true
		}
		_, _ = k.inv.Err.Write(more.errOut)
	}
	return false
}

// await waits, in virtual time, until more has come than is known; ended is true when no more will, or when
// the command is ended.
func (f *following) await(ctx context.Context, kernel *command.Kernel, cause trace.ID) (b []byte, ended bool) {
	came := 0
	err := kernel.Wait(ctx, cause, "watch", func(t *sim.Task) {
		for f.feed.Came == f.known && !f.feed.Over {
			f.feed.Changed.Wait(t)
		}
	})
	if kernel.Do(func() { came, ended = f.feed.Came, f.feed.Over }) != nil {
		return nil, true
	}
	f.known = came
	for { // until it has come here too, which does not take virtual time
		b, last := f.events()
		if last || bytes.Count(b, []byte{'\n'}) >= came {
			return b, ended || last || err != nil
		}
		<-f.wake
	}
}

// drain waits until nothing of the watch is left.
func (f *following) drain() {
	for {
		if _, ended := f.events(); ended {
			return
		}
		<-f.wake
	}
}

// endless says that a script's watch would never end, if that is so.
func (k *run) endless(ctx context.Context, limit time.Duration) bool {
	if !k.inv.Script || limit > 0 || command.Ends(ctx) || k.inv.Behind {
		return false
	}
	fmt.Fprintln(k.inv.Err, "error: kubectl get --watch never ends by itself, and this is a script: put timeout 30s before it or & behind it, or use kubectl wait or kviz wait")
	return true
}

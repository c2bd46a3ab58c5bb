package serve

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"
)

// What a command writes to a client that reads nothing has a bound, less where too much waits
// for all clients; the client loses its connection, and then nothing waits any more.
func TestOutputThatNobodyReads(t *testing.T) {
	h := &Handler{cfg: Config{Untaken: time.Millisecond}, unread: &unread{}}
	r, w := io.Pipe() // which holds nothing
	gone := make(chan struct{})
	o := h.newOutbox(func() { r.CloseWithError(errors.New("cut")) })
	o.broken = sync.OnceFunc(func() { close(gone) })
	to := o.to(w)
	wrote := 0
	for {
		n, err := to.Write(make([]byte, 100<<10))
		if wrote += n; err != nil {
			break
		}
	}
	if wrote > longestInput || wrote < longestInput-100<<10 || h.unread.waiting() != wrote {
		t.Errorf("%d bytes wait, %d are counted, want %d at most", wrote, h.unread.waiting(), longestInput)
	}
	h.unread.count(mostUnread) // of others
	other := h.newOutbox(nil)
	for wrote = 0; ; {
		n, err := other.to(w).Write(make([]byte, 100<<10))
		if wrote += n; err != nil {
			break
		}
	}
	if wrote > longestOfMany {
		t.Errorf("%d bytes wait beside those of many others", wrote)
	}
	h.unread.count(-mostUnread - wrote)

	written := make(chan struct{})
	go func() {
		defer close(written)
		o.write()
	}()
	<-gone
	o.close()
	<-written
	if n := h.unread.waiting(); n != 0 {
		t.Errorf("%d bytes wait after the end", n)
	}
}

// An answer waits while too much waits for its connection, or for all, and not for ever.
func TestAnswersWaitForTheirTurn(t *testing.T) {
	u := &unread{}
	take := func(peer string, n int) func() {
		t.Helper()
		give, err := u.take(t.Context(), peer, n, time.Millisecond)
		if err != nil {
			return nil
		}
		return give
	}
	one := take("a", mostUnreadEach)
	if one == nil || take("a", 2*little) != nil {
		t.Error("more waits for a connection than may")
	}
	if take("a", little) == nil {
		t.Error("what is little has to wait")
	}
	var all []func()
	for _, peer := range []string{"b", "c", "d"} {
		all = append(all, take(peer, mostUnreadEach))
	}
	if take("e", 2*little) != nil {
		t.Error("more waits for all than may")
	}
	later := make(chan error, 1)
	go func() {
		give, err := u.take(t.Context(), "e", 10*mostUnread, time.Hour) // more than ever: it goes alone
		if err == nil {
			give()
		}
		later <- err
	}()
	one()
	one() // twice is once
	for _, give := range all {
		give()
	}
	if err := <-later; err != nil || u.sum != 0 || len(u.each) != 0 {
		t.Errorf("%v; %d bytes wait at the end, for %v", err, u.sum, u.each)
	}
}

// While something is written to a client that takes nothing, others encode.
func TestAClientThatTakesNothingKeepsNobodyFromEncoding(t *testing.T) {
	h := &Handler{cfg: Config{Untaken: time.Hour}, unread: &unread{}, turns: make(turns, 1)}
	w := newLocalPipe(false)
	written := make(chan struct{})
	go func() {
		defer close(written)
		h.turns.take()
		defer h.turns.give()
		to := h.patiently(&localWriter{header: http.Header{}, body: w, started: make(chan struct{})})
		to.turns = h.turns
		_, _ = to.Write([]byte("text"))
	}()
	one := make([]byte, 1)
	if _, err := io.ReadFull(w, one); err != nil { // the rest waits
		t.Fatal(err)
	}
	h.turns.take()
	h.turns.give()
	w.leave()
	<-written
	if len(h.turns) != 0 {
		t.Error("a turn was not given up")
	}
}

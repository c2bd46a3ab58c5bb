package door

import (
	"errors"
	"io"
	"runtime"
	"sync"
	"time"
)

// errGone is why a visit ended whose client is not there any more.
var errGone = errors.New("the client has gone")

// outlet is what is drawn on its way to a client, in a bounded queue. A Write waits for room, so a program on a slow
// line draws fewer frames; a client that takes nothing for a while is given up.
type outlet struct {
	to      io.Writer
	patient time.Duration // for one piece to be taken
	stalled func()

	turn sync.Mutex // of one Write at a time

	mu      sync.Mutex
	changed *sync.Cond
	queue   []byte
	last    byte   // that was queued
	modes   modes  // of the terminal, by what was sent
	gone    bool   // nothing more can be sent
	ending  bool   // nothing more will be written
	over    bool   // what is written is dropped
	words   string // the last

	done chan struct{} // closed when run has ended
}

func newOutlet(to io.Writer, patient time.Duration, stalled func()) *outlet {
	o := &outlet{to: to, patient: patient, stalled: stalled, done: make(chan struct{})}
	o.changed = sync.NewCond(&o.mu)
	return o
}

// Write queues what is drawn. A line feed goes to the first column, as a terminal's driver makes it of one.
func (o *outlet) Write(p []byte) (int, error) {
	o.turn.Lock()
	defer o.turn.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.changed.Broadcast()
	for i, b := range p {
		for len(o.queue) >= maxOutput && !o.gone && !o.ending && !o.over {
			o.changed.Broadcast()
			o.changed.Wait()
		}
		switch {
		case o.gone || o.ending:
			return i, errGone
		case o.over:
			return len(p), nil
		}
		if b == '\n' && o.last != '\r' && driverless {
			o.queue = append(o.queue, '\r')
		}
		o.queue = append(o.queue, b)
		o.last = b
	}
	return len(p), nil
}

// driverless is whether Bubble Tea counts on the terminal's driver to make a line feed a new line; on Windows it does not.
const driverless = runtime.GOOS != "windows"

// run sends what is queued, until the outlet is finished or its client gone.
func (o *outlet) run() {
	defer close(o.done)
	for {
		p := o.next()
		if len(p) == 0 {
			return
		}
		timer := time.AfterFunc(o.patient, o.stalled)
		_, err := o.to.Write(p)
		timer.Stop()
		o.sent(p, err)
	}
}

// next waits for something to send; at the end that is what brings the terminal back, with the last words.
func (o *outlet) next() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) == 0 && !o.ending && !o.gone {
		o.changed.Wait()
	}
	if len(o.queue) == 0 && !o.gone {
		o.queue = []byte(o.modes.back() + o.words)
		o.words = ""
	}
	return o.queue[:min(len(o.queue), piece)]
}

func (o *outlet) sent(p []byte, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, b := range p {
		o.modes.see(b)
	}
	o.gone = o.gone || err != nil
	switch {
	case o.gone, len(o.queue) <= len(p): // less if it was dropped meanwhile
		o.queue = nil
	default:
		o.queue = o.queue[len(p):]
	}
	o.changed.Broadcast()
}

// drop drops what is queued, but for the piece that is being sent, and what is written from now on: the visit was ended, and a
// program that is waiting for room must hear of it.
func (o *outlet) drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.ending {
		o.over = true
		o.queue = nil
		o.changed.Broadcast()
	}
}

// finish sends what is still queued, brings the terminal back to what it was, says the last words, and waits until they
// are sent or cannot be.
func (o *outlet) finish(words string) {
	o.mu.Lock()
	o.ending, o.words = true, words
	o.changed.Broadcast()
	o.mu.Unlock()
	<-o.done
}

// giveUp drops what is queued.
func (o *outlet) giveUp() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gone = true
	o.queue = nil
	o.changed.Broadcast()
}

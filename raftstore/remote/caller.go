package remote

import (
	"context"
	"errors"
	"sync"
	"time"
)

// caller is the driver's side of a roleDrive connection.
type caller struct {
	l     *line
	sends sync.Mutex

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan *reply
	err     error // why the connection is of no use any more
	gone    chan struct{}
}

func newCaller(l *line) *caller {
	return &caller{l: l, waiting: map[uint64]chan *reply{}, gone: make(chan struct{})}
}

// listen takes replies until the connection breaks.
func (c *caller) listen() {
	for {
		r := &reply{}
		if err := c.l.receive(r, maxFrame); err != nil {
			c.fail(err)
			return
		}
		c.mu.Lock()
		ch := c.waiting[r.ID]
		delete(c.waiting, r.ID)
		c.mu.Unlock()
		if ch != nil {
			ch <- r
		}
	}
}

// ping says every second that the driver is there.
func (c *caller) ping() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := c.send(&order{Verb: verbPing}); err != nil {
				c.fail(err)
				return
			}
		case <-c.gone:
			return
		}
	}
}

func (c *caller) send(o *order) error {
	c.sends.Lock()
	defer c.sends.Unlock()
	return c.l.send(o)
}

func (c *caller) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	close(c.gone)
	c.l.Close()
}

var errNoConnection = errors.New("there is no connection")

// call gives an order and waits for its end.
func call[A, R any](ctx context.Context, c *caller, verb string, args A) (result R, err error) {
	if c == nil {
		return result, errNoConnection
	}
	ch := make(chan *reply, 1)
	c.mu.Lock()
	if c.err != nil {
		err = c.err
		c.mu.Unlock()
		return result, err
	}
	c.last++
	id := c.last
	c.waiting[id] = ch
	c.mu.Unlock()
	if err := c.send(&order{ID: id, Verb: verb, Args: appendValue(nil, &args)}); err != nil {
		c.fail(err)
		return result, err
	}
	select {
	case r := <-ch:
		if r.Failure != nil {
			return result, r.Failure.err()
		}
		return result, readValue(r.Result, &result)
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
		_ = c.send(&order{ID: id, Verb: verbCancel}) // a broken connection shows elsewhere
		return result, ctx.Err()
	case <-c.gone:
		c.mu.Lock()
		defer c.mu.Unlock()
		return result, c.err
	}
}

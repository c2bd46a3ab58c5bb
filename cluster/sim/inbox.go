package sim

import (
	"sync"
	"sync/atomic"
	"time"
)

// inbox is where other goroutines leave work for the kernel.
type inbox struct {
	mu      sync.Mutex
	control []func()
	work    []func()
	wake    chan struct{}
	isStop  atomic.Bool
	isEnd   bool
	end     chan struct{}
	pending atomic.Int64
	busy    busy
}

func (b *inbox) put(fn func(), control bool) bool {
	if control {
		return b.putBoth(nil, fn)
	}
	return b.putBoth(fn, nil)
}

// putBoth leaves outside work and a control function at one moment; either may be nil.
func (b *inbox) putBoth(work, control func()) bool {
	b.mu.Lock()
	if b.isEnd || b.isStop.Load() {
		b.mu.Unlock()
		return false
	}
	if control != nil {
		b.control = append(b.control, control)
		b.pending.Add(1)
	}
	if work != nil {
		b.work = append(b.work, work)
		b.pending.Add(1)
	}
	b.mu.Unlock()
	b.ring()
	return true
}

func (b *inbox) ring() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *inbox) empty() bool { return b.pending.Load() == 0 }

// take returns the next function, or nil.
func (b *inbox) take(controlOnly bool) func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	var fn func()
	switch {
	case len(b.control) > 0:
		fn, b.control = b.control[0], b.control[1:]
	case !controlOnly && len(b.work) > 0:
		fn, b.work = b.work[0], b.work[1:]
	default:
		return nil
	}
	b.pending.Add(-1)
	return fn
}

// waiting is how many pieces of outside work wait.
func (b *inbox) waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.work)
}

// wait blocks until something is posted, or d has passed in real time (0: without
// limit), and returns how long that took.
func (b *inbox) wait(d time.Duration) time.Duration {
	begun := time.Now()
	b.busy.rest(begun)
	if d <= 0 {
		<-b.wake
	} else {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-b.wake:
		case <-timer.C:
		}
	}
	now := time.Now()
	b.busy.begin(now)
	return now.Sub(begun)
}

func (b *inbox) stop() {
	b.isStop.Store(true)
	b.ring()
}

func (b *inbox) stopped() bool { return b.isStop.Load() }

func (b *inbox) closed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.end == nil {
		b.end = make(chan struct{})
		if b.isEnd {
			close(b.end)
		}
	}
	return b.end
}

func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isEnd {
		return
	}
	b.isEnd = true
	if b.end != nil {
		close(b.end)
	}
}

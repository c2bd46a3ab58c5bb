package raftstore

import "sync"

// listeners are called when something about who is up or who leads changed.
type listeners struct {
	mu   sync.Mutex
	next int
	fns  map[int]func()
}

func (l *listeners) tell() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, fn := range l.fns {
		fn()
	}
}

// OnChange adds a function to call, on any goroutine, after a member went
// up or down or changed its role. It must not block and must not call the
// store. It is not called any more after stop.
func (s *Replicated) OnChange(fn func()) (stop func()) {
	l := &s.listeners
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fns == nil {
		l.fns = map[int]func(){}
	}
	id := l.next
	l.next++
	l.fns[id] = fn
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.fns, id)
	}
}

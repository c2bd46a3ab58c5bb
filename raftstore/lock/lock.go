// Package lock has a lock that may be held for long: while a member starts from a slow
// disk, or a change of the group waits for a quorum.
//
// In a bubble of testing/synctest time passes only while every goroutine waits for it. One
// that waits for a [sync.Mutex] does not count as waiting, so that a timer of the mutex's
// holder would never run out. Waiting for a [Lock] counts. What is held for moments
// only stays a sync.Mutex.
package lock

import "sync"

// Lock is a [sync.RWMutex] whose waiters wait on a [sync.Cond]. The zero value is free.
type Lock struct {
	mu      sync.Mutex
	turned  *sync.Cond // something of what follows changed
	held    bool
	readers int
	waiting int // for Lock: no reader begins before them
}

// Lock waits until nobody has the lock, and takes it.
func (l *Lock) Lock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting++
	for l.held || l.readers > 0 {
		l.wait()
	}
	l.waiting--
	l.held = true
}

// Unlock gives back what Lock took.
func (l *Lock) Unlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.held {
		panic("lock: Unlock of a lock that is free")
	}
	l.held = false
	l.turn()
}

// RLock waits until nobody has the lock but readers, and becomes one of them.
func (l *Lock) RLock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.held || l.waiting > 0 {
		l.wait()
	}
	l.readers++
}

// TryRLock is RLock where that need not wait, and reports whether it was so.
func (l *Lock) TryRLock() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held || l.waiting > 0 {
		return false
	}
	l.readers++
	return true
}

// RUnlock gives back what RLock took.
func (l *Lock) RUnlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.readers == 0 {
		panic("lock: RUnlock of a lock without readers")
	}
	if l.readers--; l.readers == 0 {
		l.turn()
	}
}

// wait waits for a change. Call with mu held.
func (l *Lock) wait() {
	if l.turned == nil {
		l.turned = sync.NewCond(&l.mu)
	}
	l.turned.Wait()
}

// turn wakes who waits for a change. Call with mu held.
func (l *Lock) turn() {
	if l.turned != nil {
		l.turned.Broadcast()
	}
}

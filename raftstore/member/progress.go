package member

import "sync"

// progress is an index that only grows and can be waited for.
type progress struct {
	mu      sync.Mutex
	index   uint64
	grown   chan struct{} // closed when the index grows; replaced by the next waiter
	waiting bool
}

func (p *progress) init() { p.grown = make(chan struct{}) }

func (p *progress) get() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.index
}

func (p *progress) set(index uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if index <= p.index {
		return
	}
	p.index = index
	if p.waiting {
		close(p.grown)
		p.grown, p.waiting = make(chan struct{}), false
	}
}

// reached is nil when the index is there already, else a channel that is
// closed when the index has grown: then ask again.
func (p *progress) reached(index uint64) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.index >= index {
		return nil
	}
	p.waiting = true
	return p.grown
}

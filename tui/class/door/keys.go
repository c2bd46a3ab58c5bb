package door

import (
	"context"
	"io"
	"sync"
)

// keys is what a client types. One goroutine puts it in; it is read by one reader after another.
type keys struct {
	mu      sync.Mutex
	typed   []byte
	ended   bool          // nothing more will come
	reader  *reader       // the newest; only it gets anything
	changed chan struct{} // closed at the next change
}

func newKeys() *keys { return &keys{changed: make(chan struct{})} }

// put adds what was typed, and reports whether there was room for it.
func (k *keys) put(p []byte) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.typed)+len(p) > maxInput {
		return false
	}
	k.typed = append(k.typed, p...)
	k.wake()
	return true
}

func (k *keys) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.ended {
		k.ended = true
		k.wake()
	}
}

func (k *keys) wake() {
	close(k.changed)
	k.changed = make(chan struct{})
}

// read gives a reader that ends with ctx, or when another one is made.
func (k *keys) read(ctx context.Context) *reader {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reader = &reader{ctx: ctx, of: k}
	k.wake()
	return k.reader
}

// reader is one program's part of what is typed. A Read that waits when the reader ends takes nothing: the next key is
// the next reader's.
type reader struct {
	ctx context.Context
	of  *keys
}

func (r *reader) Read(p []byte) (int, error) {
	for k := r.of; ; {
		k.mu.Lock()
		if r.ctx.Err() != nil || k.reader != r {
			k.mu.Unlock()
			return 0, io.EOF
		}
		if n := copy(p, k.typed); n > 0 || len(p) == 0 {
			k.typed = k.typed[n:]
			if len(k.typed) == 0 {
				k.typed = nil // a large paste is not kept
			}
			k.mu.Unlock()
			return n, nil
		}
		if k.ended {
			k.mu.Unlock()
			return 0, io.EOF
		}
		changed := k.changed
		k.mu.Unlock()
		select {
		case <-changed:
		case <-r.ctx.Done():
		}
	}
}

// Close ends the reader.
func (r *reader) Close() error {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if r.of.reader == r {
		r.of.reader = nil
		r.of.wake()
	}
	return nil
}

package serve

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// encodings are the last watch events as they went out: an event is encoded once for
// all its watchers that get it in the same form, as upstream's dispatcher has it
// (apiserver pkg/storage/cacher/caching_object.go). Objects in watch events are shared
// and never changed, so the same pointer is the same object.
type encodings struct {
	mu   sync.Mutex
	made map[form]*encoding
	ring [keptEncodings]form
	next int
}

const (
	// keptEncodings is how many events are remembered: those that are on their way to
	// many connections at the same time.
	keptEncodings = 64
	// largestKept bounds what they hold.
	largestKept = 64 << 10
)

// form is an event in a media type.
type form struct {
	object    runtime.Object
	kind      watch.EventType
	mediaType string
	pretty    bool
}

// encoding is made by the first that needs it, while the others wait.
type encoding struct {
	once  sync.Once
	bytes []byte
	err   error
}

// of gives the encoding of a form, made by fn if nobody has yet. What it gives must
// not be changed.
func (e *encodings) of(f form, fn func() ([]byte, error)) ([]byte, error) {
	e.mu.Lock()
	x := e.made[f]
	if x == nil {
		if e.made == nil {
			e.made = map[form]*encoding{}
		}
		x = &encoding{}
		delete(e.made, e.ring[e.next])
		e.made[f], e.ring[e.next] = x, f
		e.next = (e.next + 1) % keptEncodings
	}
	e.mu.Unlock()
	x.once.Do(func() {
		if x.bytes, x.err = fn(); len(x.bytes) > largestKept {
			e.forget(f, x)
		}
	})
	return x.bytes, x.err
}

// forget drops an encoding. Its place in the ring is free when its turn comes.
func (e *encodings) forget(f form, x *encoding) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.made[f] == x {
		delete(e.made, f)
	}
}

package serve

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// encodings are the last watch events as they went out: an event is encoded once for
// all its watchers that get it in the same form, as upstream's dispatcher has it
// (apiserver pkg/storage/cacher/caching_object.go). Objects in watch events are shared
// and never changed, so the same pointer is the same object. What a connection has not
// taken yet is remembered in any case, so that it is not in memory once for each.
type encodings struct {
	mu    sync.Mutex
	made  map[form]*encoding
	order []*encoding // those that nobody uses may go, the oldest first
	bytes int         // of all
	times int         // how often an event was encoded
}

// Of the encodings that nobody uses so many are remembered, and so many bytes of all: they may
// be on their way to other connections.
const (
	keptEncodings = 64
	keptBytes     = 8 << 20
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
	form  form
	users int
	once  sync.Once
	bytes []byte
	err   error
}

// of gives the encoding of a form, made by fn if nobody has yet. What it gives must
// not be changed; done is to be called when it was written.
func (e *encodings) of(f form, fn func() ([]byte, error)) (b []byte, done func(), err error) {
	e.mu.Lock()
	x := e.made[f]
	if x == nil {
		if e.made == nil {
			e.made = map[form]*encoding{}
		}
		x = &encoding{form: f}
		e.made[f], e.order = x, append(e.order, x)
	}
	x.users++
	e.mu.Unlock()
	x.once.Do(func() {
		x.bytes, x.err = fn()
		e.mu.Lock()
		e.bytes += len(x.bytes)
		e.times++
		e.mu.Unlock()
	})
	return x.bytes, func() { e.done(x) }, x.err
}

// done ends a use, and forgets what is too much.
func (e *encodings) done(x *encoding) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x.users--
	left := len(e.order)
	if left <= keptEncodings && e.bytes <= keptBytes {
		return
	}
	e.order = slices.DeleteFunc(e.order, func(old *encoding) bool {
		if old.users > 0 || left <= keptEncodings && e.bytes <= keptBytes {
			return false
		}
		left--
		e.bytes -= len(old.bytes)
		delete(e.made, old.form)
		return true
	})
}

package request

import "time"

// One kernel runs the whole cluster, and what one request makes it compute everybody
// waits for. Upstream's libraries have parts that take the square of an object's size:
// the set of a manager's fields, lists that are merged by key, patterns, rules. There
// that is one goroutine's trouble. Here such parts of a big request are computed beside
// the kernel (sim.Task.Offload), with what they give taken up in its turn; small ones
// are done before anybody could notice.

const (
	// bulky is from how many bytes on a request is big.
	bulky = 64 << 10
	// perByte is the modelled time of one part of it.
	perByte = 10 * time.Nanosecond
	// offloadWait is for how long the others wait in real time for a part of a request from
	// outside that takes longer than was modelled. A command of the console is waited for,
	// so that a script gives the same trace every time.
	offloadWait = 100 * time.Millisecond
)

// Bulk is how many bytes a request makes the server compute with.
type Bulk struct {
	Sent       int // its body
	Stored     int // the object that it is about
	Definition int // of its kind

	// Inline says that no part is offloaded, however big: a component sent the
	// request, or a webhook that converts objects is asked in between.
	Inline bool
	// Console says that a command of the console waits for the answer.
	Console bool
	Path    string
}

func (b *Bulk) total() int { return b.Sent + b.Stored + b.Definition }

// Offload computes a part of the request, which is as big as the request. What fn takes and
// returns must be the request's own, or never change.
func Offload[In, Out any](s *Scope, part string, fn func(In) Out, in In) Out {
	return OffloadOf(s, s.Bulk.total(), part, fn, in)
}

// OffloadOf is [Offload] of a part that is as big as so many bytes.
func OffloadOf[In, Out any](s *Scope, bulk int, part string, fn func(In) Out, in In) Out {
	if bulk < bulky || s.Bulk.Inline {
		return fn(in)
	}
	return offload(s, bulk, part, fn, in)
}

// OffloadFor is [OffloadOf] of what later requests use too, and so is made whoever sends this
// one: a policy's expressions, say. fn asks nobody in between.
func OffloadFor[In, Out any](s *Scope, bulk int, part string, fn func(In) Out, in In) Out {
	if bulk < bulky {
		return fn(in)
	}
	return offload(s, bulk, part, fn, in)
}

func offload[In, Out any](s *Scope, bulk int, part string, fn func(In) Out, in In) (out Out) {
	limit := offloadWait
	if s.Bulk.Console {
		limit = 0
	}
	if until := s.Task.Deadline(); until > 0 && s.TimedOut != nil {
		timer := s.Task.Kernel().After(max(0, until-s.Task.Elapsed()), s.TimedOut)
		defer timer.Cancel()
	}
	s.Task.Offload(part+" of "+s.Bulk.Path, time.Duration(bulk)*perByte, limit, func() { out = fn(in) })
	return out
}

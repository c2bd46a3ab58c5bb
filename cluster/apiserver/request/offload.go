package request

import (
	"context"
	"time"

	"kviz/cluster/bound"
	"kviz/cluster/sim"
)

// One kernel runs the whole cluster, and what one request makes it compute everybody
// waits for. Upstream's libraries have parts that take the square of an object's size:
// the set of a manager's fields, lists that are merged by key, patterns, rules. There
// that is one goroutine's trouble. Here such parts of a big request are computed beside
// the kernel (sim.Task.Offload), with what they give taken up in its turn; small ones
// are done before anybody could notice. A few parts can take long whatever the size of the
// request is, by what others have stored: rules, patterns, policies. They are computed
// beside the kernel where their cost says so, and end when the request's time is over, or its
// client gone.

const (
	// bulky is from how many bytes on a request is big.
	bulky = 32 << 10
	// perByte is the modelled time of one part of it.
	perByte = 10 * time.Nanosecond
	// offloadWait is for how long the others wait in real time for a part of a request from
	// outside that takes longer than was modelled. A command of the console is waited for,
	// so that a script gives the same trace every time.
	offloadWait = 20 * time.Millisecond
	// atOnce is how many parts of one user's requests are computed at the same time. Those of
	// clients that have left go on where nothing can interrupt them; more of them wait here.
	atOnce = 4
)

// Parts are those that are being computed beside the kernel, by user. The zero value has none.
type Parts struct {
	busy  map[string]int
	free  sim.Cond
	begun int // ever
}

// Begun is how many parts have ever been computed beside the kernel.
func (p *Parts) Begun() int { return p.begun }

// begin waits until a user may have one more, and returns what ends it.
func (p *Parts) begin(t *sim.Task, user string) (end func()) {
	for p.busy[user] >= atOnce {
		p.free.Wait(t)
	}
	if p.busy == nil {
		p.busy = map[string]int{}
	}
	p.busy[user]++
	p.begun++
	return func() {
		if p.busy[user]--; p.busy[user] == 0 {
			delete(p.busy, user)
		}
		p.free.Broadcast()
	}
}

// Bulk is how many bytes a request makes the server compute with.
type Bulk struct {
	Sent       int // its body
	Stored     int // the object that it is about
	Definition int // of its kind
	Depth      int // of the deeper of body and object, where that is known

	// Inline says that no part is offloaded, however big: a component sent the
	// request, or a webhook that converts objects is asked in between.
	Inline bool
	// Console says that a command of the console waits for the answer.
	Console bool
	Path    string
}

func (b *Bulk) total() int { return b.Sent + b.Stored + b.Definition }

const (
	// perField is how much longer it takes to find out whose a field is than to decode it.
	perField = 4
	// flat is how deep an object is whose depth does not count. The name of a field is its whole
	// path, so those of a deeper object are longer.
	flat = 32
)

// OfFields reports whether the fields of the request's objects are too many, or too long, for the
// kernel: server-side apply and managed fields go over all of them.
func (b *Bulk) OfFields() bool {
	return !b.Inline && b.total()*perField*max(1, b.Depth/flat) >= bulky
}

// OfPairs reports whether body and object are too large together for the kernel to compare all
// that is in one with all that is in the other: a strategic merge patch looks for each element of a
// list in the whole list.
func (b *Bulk) OfPairs() bool { return !b.Inline && int64(b.Sent)*int64(b.Stored) >= bulky*bulky/16 }

// Hold notes the object that the request is about, as it is stored.
func (b *Bulk) Hold(value []byte) {
	b.Stored = len(value)
	if len(value) > 0 && value[0] == '{' { // of a custom kind; the types of others are not deep
		b.Look(value)
	}
}

// Look notes the depth of a body in JSON or YAML.
func (b *Bulk) Look(doc []byte) {
	if len(doc) == 0 || b.Inline {
		return
	}
	if doc[0] != '{' && doc[0] != '[' && !bound.Level(doc) { // YAML, whose depth is not known
		b.Depth = bound.MaxDepth
	}
	b.Depth = max(b.Depth, bound.Depth(doc))
}

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
	return offload(s, bulk, part, forgetting(fn), in)
}

// forgetting is a part that nothing can interrupt.
func forgetting[In, Out any](fn func(In) Out) func(context.Context, In) Out {
	return func(_ context.Context, in In) Out { return fn(in) }
}

// OffloadDear is [Offload] of a part whose cost is not in proportion to its size. dear says that
// it may take long: then it is offloaded for components too, so it asks nobody in between.
// It ends early when its context does.
func OffloadDear[In, Out any](s *Scope, dear bool, part string, fn func(context.Context, In) Out, in In) Out {
	if !dear && (s.Bulk.total() < bulky || s.Bulk.Inline) {
		return fn(context.Background(), in)
	}
	return offload(s, s.Bulk.total(), part, fn, in)
}

// OffloadFor is [OffloadOf] of what later requests use too, and so is offloaded for components
// as well: a policy's expressions, say. fn asks nobody in between.
func OffloadFor[In, Out any](s *Scope, bulk int, part string, fn func(In) Out, in In) Out {
	if bulk < bulky {
		return fn(in)
	}
	return offload(s, bulk, part, forgetting(fn), in)
}

func offload[In, Out any](s *Scope, bulk int, part string, fn func(context.Context, In) Out, in In) (out Out) {
	limit := offloadWait
	if s.Bulk.Console {
		limit = 0
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel() // also when the server is killed meanwhile
	if s.Client != nil {
		defer context.AfterFunc(s.Client, cancel)()
	}
	if until := s.Task.Deadline(); until > 0 && s.TimedOut != nil {
		timer := s.Task.Kernel().After(max(0, until-s.Task.Elapsed()), func() {
			s.TimedOut()
			cancel()
		})
		defer timer.Cancel()
	}
	if s.Parts != nil {
		defer s.Parts.begin(s.Task, s.Sender)()
	}
	s.Task.Offload(part+" of "+s.Bulk.Path, time.Duration(bulk)*perByte, limit, func() { out = fn(ctx, in) })
	return out
}

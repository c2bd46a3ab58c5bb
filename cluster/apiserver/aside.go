package apiserver

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/trace"
)

// One kernel runs the whole cluster, and what one request makes it compute everybody
// waits for. Upstream's libraries have parts that take the square of an object's size:
// the set of a manager's fields, lists that are merged by key, patterns, rules. There
// that is one goroutine's trouble. Here such parts of a big request are computed beside
// the kernel (sim.Task.Aside), with what they give taken up in its turn; small ones
// are done before anybody could notice.

const (
	// bulky is from how many bytes on a request is big.
	bulky = 64 << 10
	// perByte is the modelled time of one part of it.
	perByte = 10 * time.Nanosecond
	// patience is for how long the others wait in real time for a part of a request from
	// outside that takes longer than was modelled. A command of the console is waited for,
	// so that a script gives the same trace every time.
	patience = 100 * time.Millisecond
)

// bulk is how many bytes a request is about: its body, the object as it is stored, and
// the definition of its kind.
func (c *call) bulk() int {
	n := len(c.req.Body) + len(c.req.Patch) + c.weight
	if c.kind.Custom != nil {
		n += crd.Of(c.kind).Size()
	}
	return n
}

// aside computes a part of the request. What fn reads and writes must be the request's
// own, or never change. A definition with a webhook that converts asks it in between, so
// its objects are not for this.
func (c *call) aside(part string, fn func()) { c.asideOf(c.bulk(), part, fn) }

// asideOf is aside of a part that is as big as so many bytes.
func (c *call) asideOf(bulk int, part string, fn func()) {
	if bulk < bulky || c.req.System || c.kind.MayConvert() {
		fn()
		return
	}
	limit := patience
	if c.req.Peer == "" {
		limit = 0
	}
	c.Task.Aside(part+" of "+c.req.path(), time.Duration(bulk)*perByte, limit, fn)
}

// difference is [object.Diff] of what may be big; nil for a component's request, which
// nobody reads so closely.
func (c *call) difference(a, b runtime.Object) (diff []trace.FieldDiff) {
	if !c.req.System {
		c.aside("the changes", func() { diff = object.Diff(a, b) })
	}
	return diff
}

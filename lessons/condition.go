package lessons

import (
	"strings"
	"sync"

	"kviz/cluster/expr"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// condition is an expression of a lesson. Compiling those of all lessons takes longer
// than the explorer may take to its first frame, so [Read] leaves each as it is written
// until it is asked for the first time; [Load] compiles every one.
type condition struct {
	compiled func() (*expr.Program, error)
	parts    func() []*aspect // what it joins with &&
	not      bool             // it holds where the expression does not
}

func newCondition(src string, names *expr.Scope) *condition {
	return &condition{
		compiled: sync.OnceValues(func() (*expr.Program, error) { return names.Compile(src) }),
		parts:    sync.OnceValue(func() []*aspect { return aspects(src, names) }),
	}
}

func (c *condition) holds(s *view.State, e *trace.Event, names expr.Values) (bool, error) {
	p, err := c.compiled()
	if err != nil {
		return false, err
	}
	ok, err := p.EvalIn(s, e, names)
	return ok != c.not && err == nil, err
}

// reader reads lessons.
type reader struct {
	prove bool     // each is compiled at once, so that a mistake is reported with its place
	panes []string // those that a lesson may show, when it is proven

	names *expr.Scope      // what the lesson has given a name so far
	said  map[string]*Text // the beat's texts that have values in them
}

// saying reads a text that may have values in it, for [Session.fill].
func (r reader) saying(src string) error {
	if r.said == nil || !opening.MatchString(src) {
		return nil
	}
	t, err := r.text(src, r.names)
	r.said[src] = t
	return err
}

// condition reads an expression; it is nil where none is written.
func (r reader) condition(src string) (*condition, error) { return r.in(r.names, src) }

// in is condition with the names of a scope.
func (r reader) in(names *expr.Scope, src string) (*condition, error) {
	if src = strings.TrimSpace(src); src == "" {
		return nil, nil
	}
	c := newCondition(src, names)
	if !r.prove {
		return c, nil
	}
	_, err := c.compiled()
	return c, err
}

// naming are the names of the lesson so far and one more, which stands for a text.
func (r reader) naming(name string) (*expr.Scope, error) {
	names := r.names.Clone()
	text, err := expr.CompileAny(`""`)
	if err != nil {
		return nil, err
	}
	return names, names.Bind(name, text)
}

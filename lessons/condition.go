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
}

func newCondition(src string) *condition {
	return &condition{compiled: sync.OnceValues(func() (*expr.Program, error) { return expr.Compile(src) })}
}

func (c *condition) holds(s *view.State, e *trace.Event) (bool, error) {
	p, err := c.compiled()
	if err != nil {
		return false, err
	}
	return p.Eval(s, e)
}

// reader reads lessons.
type reader struct {
	prove bool     // each is compiled at once, so that a mistake is reported with its place
	panes []string // those that a lesson may show, when it is proven
}

// condition reads an expression; it is nil where none is written.
func (r reader) condition(src string) (*condition, error) {
	if src = strings.TrimSpace(src); src == "" {
		return nil, nil
	}
	c := newCondition(src)
	if !r.prove {
		return c, nil
	}
	_, err := c.compiled()
	return c, err
}

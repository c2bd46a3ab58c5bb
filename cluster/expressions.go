package cluster

import (
	"errors"
	"strings"

	"kviz/cluster/console/verbs"
	"kviz/cluster/expr"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// expressions are asked about a fold of the trace that is the kernel's own, beside the
// viewers' histories. It costs something, so it is made only from the moment an expression
// first asks; all on the kernel's goroutine.
type expressions struct {
	stream  *trace.Stream
	members bool          // the store has some
	fold    *view.Builder // nil before the first asks
	at      uint64
}

var errNoExpression = errors.New("an expression is wanted, such as store.leader == \"a\"")

func compile(src string) (*expr.Program, error) {
	if strings.TrimSpace(src) == "" {
		return nil, errNoExpression
	}
	return expr.Compile(src)
}

// holds reports whether an expression holds of an event, which may be nil, and the state
// after the newest; one that cannot be evaluated does not.
func (x *expressions) holds(p *expr.Program, e *trace.Event) bool {
	yes, err := p.Eval(x.folded(), e)
	return err == nil && yes
}

// condition is an expression for the console, which asks about the newest event.
func (x *expressions) condition(src string) (verbs.Condition, error) {
	p, err := compile(src)
	if err != nil {
		return verbs.Condition{}, err
	}
	return verbs.Condition{
		Holds:   func() (bool, error) { return p.Eval(x.folded(), x.stream.Last()) },
		Members: x.members && p.Mentions("store"),
	}, nil
}

// text is an expression's value as text, for the console.
func (x *expressions) text(src string) (string, error) {
	p, err := expr.CompileAny(src)
	if err != nil {
		return "", err
	}
	return p.Text(x.folded(), x.stream.Last())
}

// foldBatch is how many events are folded at a time.
const foldBatch = 4096

// folded is the state after the newest event.
func (x *expressions) folded() *view.State {
	if x.fold == nil {
		x.fold = view.NewBuilder()
		x.at = x.stream.First()
	}
	for {
		events, next, _ := x.stream.Read(x.at, foldBatch)
		x.at = next
		for _, e := range events {
			x.fold.Apply(e)
		}
		if len(events) == 0 {
			return x.fold.Live()
		}
	}
}

package admission

import (
	"context"
	"strings"
	"time"

	"k8s.io/apiserver/pkg/admission/plugin/cel"

	"kviz/cluster/apiserver/request"
)

// Expressions is what a configuration's expressions need, by their text.
type Expressions struct {
	Loop bool // they may take long: they go over what they are given, or look for patterns
	Ask  bool // they ask the authorizer, which belongs to the kernel
}

// loops are the functions whose cost is more than that of what they are given.
var loops = []string{"all(", "exists", "map(", "filter(", "transform", "sort", "matches(", "find", "split(", "join(", "replace(", "format(", "quantity("}

// ExpressionsIn looks at their text.
func ExpressionsIn(text string) (e Expressions) {
	for _, loop := range loops {
		e.Loop = e.Loop || strings.Contains(text, loop)
	}
	e.Ask = strings.Contains(text, "authorizer")
	return e
}

// Evaluate evaluates them for the request of a context: beside the kernel if they may take long,
// until its client goes or its time is over. Those that ask the authorizer are evaluated where that
// is; upstream's limits hold for them too.
func Evaluate[Out any](ctx context.Context, e Expressions, what string, fn func(context.Context) Out) Out {
	if e.Ask || !e.Loop {
		return fn(ctx)
	}
	return request.OffloadDear(request.From(ctx), true, what, func(ends context.Context, _ struct{}) Out {
		if variables, ok := ctx.(cel.CompositionContext); ok {
			return fn(endingVariables{variables, ends})
		}
		return fn(ending{ends, ctx})
	}, struct{}{})
}

// ending is a context that ends when another does.
type ending struct {
	context.Context
	values context.Context
}

// Value is context.Context.
func (e ending) Value(key any) any { return e.values.Value(key) }

// endingVariables is such a context that has the variables of a policy, which upstream knows by
// its type.
type endingVariables struct {
	cel.CompositionContext
	ends context.Context
}

// Done is context.Context.
func (e endingVariables) Done() <-chan struct{} { return e.ends.Done() }

// Err is context.Context.
func (e endingVariables) Err() error { return e.ends.Err() }

// Deadline is context.Context.
func (e endingVariables) Deadline() (time.Time, bool) { return e.ends.Deadline() }

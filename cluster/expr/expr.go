// Package expr is the one expression language of kviz: CEL, as in Kubernetes'
// own admission policies, over the folded state and, where there is one, an
// event. Breakpoints, kviz until, kviz wait, trace filters and lesson goals
// are all written in it:
//
//	store.leader == "a" && store.quorum.ok
//	objects("pods", "demo").all(p, p.status.phase == "Running")
//	event.kind == "sched.decision" && event.payload.node == "node-2"
//
// The state's own names are checked when an expression is compiled, so that a typo is
// refused with a suggestion instead of never being true. Where something optional (a
// field of an object, a key of a map) is missing, the expression is false; has()
// tests for it.
//
// Start reading at [Compile]; the names are in names.go.
package expr

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// Program is a compiled expression. It may be evaluated by many goroutines.
type Program struct {
	src      string
	p        cel.Program
	typ      *cel.Type
	goType   reflect.Type    // behind its value; nil where that is not known
	jsonType reflect.Type    // whose JSON its value is; nil where that is not known
	names    map[string]bool // the state's names in it
}

// Error says where and why an expression was refused.
type Error struct {
	Line, Column int // from 1
	Message      string
	Source       string
}

// Error is one sentence, then the expression with a mark at the place.
func (e *Error) Error() string {
	lines := strings.Split(e.Source, "\n")
	s := fmt.Sprintf("expression, column %d: %s", e.Column, e.Message)
	if len(lines) > 1 {
		s = fmt.Sprintf("expression, line %d, column %d: %s", e.Line, e.Column, e.Message)
	}
	if e.Line >= 1 && e.Line <= len(lines) {
		s += "\n  " + lines[e.Line-1] + "\n  " + strings.Repeat(" ", max(e.Column-1, 0)) + "^"
	}
	return s
}

// hidden is the variable by which functions reach the state.
const hidden = "__state"

var environment = sync.OnceValues(func() (*cel.Env, error) {
	opts := []cel.EnvOption{
		cel.CustomTypeAdapter(adapter{}),
		cel.Variable(hidden, cel.DynType),
		cel.HomogeneousAggregateLiterals(),
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
	}
	for _, r := range roots {
		opts = append(opts, cel.Variable(r.name, cel.DynType))
	}
	for _, f := range functions {
		opts = append(opts, withState(f.name))
	}
	opts = append(opts,
		reads("objects", 1, func(s *view.State, a []string) any { return s.Objects(a[0], "") }),
		reads("objects", 2, func(s *view.State, a []string) any { return s.Objects(a[0], a[1]) }),
		reads("object", 2, func(s *view.State, a []string) any { return value(s.Object(a[0], "", a[1])) }),
		reads("object", 3, func(s *view.State, a []string) any { return value(s.Object(a[0], a[1], a[2])) }),
		reads("pod", 1, func(s *view.State, a []string) any {
			if p := s.NodePod(a[0]); p != nil {
				return p
			}
			return nil
		}),
		reads("key", 1, func(s *view.State, a []string) any {
			if k := s.Store.Key(a[0]); k != nil {
				return k
			}
			return nil
		}),
		reads("kubeEvents", 3, func(s *view.State, a []string) any {
			return s.KubeEventsAbout(trace.Ref{Kind: a[0], Namespace: a[1], Name: a[2]})
		}),
		reads("owned", 2, func(s *view.State, a []string) any { return owned(s, s.Object(a[0], "", a[1])) }),
		reads("owned", 3, func(s *view.State, a []string) any { return owned(s, s.Object(a[0], a[1], a[2])) }),
		reads("rollout", 3, func(s *view.State, a []string) any {
			if r := s.Rollout(s.Object(a[0], a[1], a[2])); r != nil {
				return r
			}
			return nil
		}),
		reads("job", 2, func(s *view.State, a []string) any {
			if r := s.JobRun(s.Object("jobs", a[0], a[1])); r != nil {
				return r
			}
			return nil
		}),
		reads("hpa", 2, func(s *view.State, a []string) any {
			if x := s.AutoscalerNamed(a[0] + "/" + a[1]); x != nil && x.Last() != nil {
				return x.Last()
			}
			return nil
		}),
		reads("budget", 2, func(s *view.State, a []string) any {
			if o := s.Object("poddisruptionbudgets", a[0], a[1]); o != nil {
				if b := s.Budget(o); b != nil {
					return b
				}
			}
			return nil
		}),
		reads("claim", 2, func(s *view.State, a []string) any {
			if v := s.ClaimStanding(s.Object("persistentvolumeclaims", a[0], a[1])); v != nil {
				return v
			}
			return nil
		}),
		reads("volume", 1, func(s *view.State, a []string) any {
			if v := s.VolumeStanding(s.Object("persistentvolumes", "", a[0])); v != nil {
				return v
			}
			return nil
		}),
		cel.Function("_gap", cel.Overload("_gap_1", []*cel.Type{cel.DynType, cel.DynType}, cel.DynType, cel.BinaryBinding(gap))),
		cel.Function("ms", cel.Overload("ms_duration", []*cel.Type{cel.DynType}, cel.StringType, cel.UnaryBinding(ms))),
	)
	return cel.NewEnv(opts...)
})

func value(o *view.Object) any {
	if o == nil || o.Value == nil {
		return nil
	}
	return o.Value
}

func owned(s *view.State, o *view.Object) any {
	if o == nil {
		return []*view.Family{}
	}
	return s.Families(o.UID)
}

// withState makes name(args) call the function that has the state as its
// first argument.
func withState(name string) cel.EnvOption {
	return cel.Macros(cel.GlobalVarArgMacro(name, func(eh cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
		return eh.NewCall("_"+name, append([]ast.Expr{eh.NewIdent(hidden)}, args...)...), nil
	}))
}

// reads declares a function of n strings that reads the state.
func reads(name string, n int, f func(*view.State, []string) any) cel.EnvOption {
	args := []*cel.Type{cel.DynType}
	for range n {
		args = append(args, cel.StringType)
	}
	return cel.Function("_"+name, cel.Overload(fmt.Sprintf("_%s_%d", name, n), args, cel.DynType,
		cel.FunctionBinding(func(vals ...ref.Val) ref.Val {
			s, ok := vals[0].Value().(*view.State)
			if !ok {
				return types.NewErr("%s has no state to look at", name)
			}
			strs := make([]string, n)
			for i := range n {
				strs[i], _ = vals[i+1].Value().(string)
			}
			out := f(s, strs)
			if list, ok := out.([]*view.Object); ok {
				out = values(list)
			}
			return adapter{}.NativeToValue(out)
		})))
}

func values(list []*view.Object) []any {
	out := make([]any, 0, len(list))
	for _, o := range list {
		if o.Value != nil {
			out = append(out, o.Value)
		}
	}
	return out
}

// Compile reads an expression that is true or false. A refused one gives an
// *[Error].
func Compile(src string) (*Program, error) { return (*Scope)(nil).Compile(src) }

// Compile is [Compile] for an expression that may use the scope's names.
func (sc *Scope) Compile(src string) (*Program, error) {
	p, err := sc.CompileAny(src)
	if err != nil {
		return nil, err
	}
	if t := p.typ; t.Kind() != types.BoolKind && t.Kind() != types.DynKind {
		return nil, &Error{1, 1, fmt.Sprintf("it is a %s, but must be true or false; compare it with something", t), src}
	}
	return p, nil
}

// CompileAny reads an expression of whatever value, for [Program.Text].
func CompileAny(src string) (*Program, error) { return (*Scope)(nil).CompileAny(src) }

// CompileAny is [CompileAny] for an expression that may use the scope's names.
func (sc *Scope) CompileAny(src string) (*Program, error) {
	if strings.TrimSpace(src) == "" {
		return nil, &Error{1, 1, "it is empty; try store.leader != \"\" or object(\"deployments\", \"demo\", \"web\").status.readyReplicas == 3", src}
	}
	env, err := sc.environment()
	if err != nil {
		return nil, fmt.Errorf("expression language: %w", err)
	}
	checked, issues := env.Compile(src)
	if err := issues.Err(); err != nil {
		return nil, refuse(src, issues, sc.names())
	}
	c := newChecker(src, checked.NativeRep(), sc)
	goType := c.typeOf(c.tree.Expr())
	if c.err != nil {
		return nil, c.err
	}
	p, err := env.Program(checked, cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", src, err)
	}
	names := map[string]bool{}
	for _, id := range ast.MatchDescendants(ast.NavigateAST(checked.NativeRep()), ast.KindMatcher(ast.IdentKind)) {
		names[id.AsIdent()] = true
	}
	return &Program{src, p, checked.OutputType(), goType, c.json(c.tree.Expr()), names}, nil
}

// Mentions reports whether the expression asks about one of the state's own
// names, such as event.
func (p *Program) Mentions(name string) bool { return p.names[name] }

// MustCompile is Compile for expressions that are part of the program.
func MustCompile(src string) *Program {
	p, err := Compile(src)
	if err != nil {
		panic(err)
	}
	return p
}

// Source is the expression as it was written.
func (p *Program) Source() string { return p.src }

// Eval says whether the expression holds. event may be nil. What is missing
// makes it false; an error means that it cannot be answered: a number is
// compared with a text, the result is neither true nor false.
func (p *Program) Eval(s *view.State, event *trace.Event) (bool, error) {
	return p.EvalIn(s, event, nil)
}

// EvalIn is [Program.Eval] with the values of a scope's names.
func (p *Program) EvalIn(s *view.State, event *trace.Event, names Values) (bool, error) {
	out, _, err := p.p.Eval(&activation{s, event, names})
	if err != nil {
		if missing(err) {
			return false, nil
		}
		return false, fmt.Errorf("expression %q: %w", p.src, err)
	}
	switch b := out.(type) {
	case types.Bool:
		return bool(b), nil
	case types.Null:
		return false, nil
	}
	return false, fmt.Errorf("expression %q is a %s, not true or false", p.src, out.Type().TypeName())
}

// missing reports errors that say that something is not there.
func missing(err error) bool {
	s := err.Error()
	return strings.Contains(s, "no such key") || strings.Contains(s, "index out of bounds") ||
		strings.Contains(s, "null_type") || strings.Contains(s, "no such attribute") // a name that has no value yet
}

// activation gives the names their values, when they are asked for.
type activation struct {
	s     *view.State
	event *trace.Event
	bound Values
}

// ResolveName is the value of a root name, or of one that a scope binds.
func (a *activation) ResolveName(name string) (any, bool) {
	if name == hidden {
		return stateVal{a.s}, true
	}
	if r, ok := rootByName[name]; ok {
		return adapter{}.NativeToValue(r.get(a.s, a.event)), true
	}
	if v, ok := a.bound[name]; ok {
		return adapter{}.NativeToValue(v.v), true
	}
	return nil, false
}

// Parent is nothing: there are no outer names.
func (a *activation) Parent() cel.Activation { return nil }

var rootByName = func() map[string]root {
	m := map[string]root{}
	for _, r := range roots {
		m[r.name] = r
	}
	return m
}()

// stateVal carries the state to the functions; expressions cannot look into
// it.
type stateVal struct{ s *view.State }

func (v stateVal) Value() any                                { return v.s }
func (v stateVal) Type() ref.Type                            { return types.NewObjectType("kviz.State") }
func (v stateVal) ConvertToNative(reflect.Type) (any, error) { return v.s, nil }
func (v stateVal) ConvertToType(ref.Type) ref.Val            { return v }
func (v stateVal) Equal(o ref.Val) ref.Val {
	return types.Bool(o.Value() == any(v.s))
}

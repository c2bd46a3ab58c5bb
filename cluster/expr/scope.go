package expr

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// Scope has the names that a text binds besides the state's own, as a lesson's beats do
// with let and then. A name has the type of its expression, so its fields are checked like
// the state's. The nil Scope binds nothing.
type Scope struct {
	types map[string]reflect.Type
	jsons map[string]reflect.Type
}

// Values are the values of a scope's names.
type Values map[string]Value

// Value is what an expression was at one moment. It does not change with the state it was
// read from.
type Value struct{ v any }

// Clone is a scope that knows the same names, and may then learn others.
func (sc *Scope) Clone() *Scope {
	if sc == nil {
		return &Scope{}
	}
	return &Scope{maps.Clone(sc.types), maps.Clone(sc.jsons)}
}

var nameForm = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]*$`)

// Bind binds a name to an expression. It refuses one that the language already has. A
// name may be bound again, to a newer expression.
func (sc *Scope) Bind(name string, p *Program) error {
	_, root := rootByName[name]
	switch {
	case !nameForm.MatchString(name):
		return fmt.Errorf("%q is no name: want letters, digits and _", name)
	case root || slices.ContainsFunc(functions, func(f function) bool { return f.name == name }):
		return fmt.Errorf("%q means something in every expression already; choose another name", name)
	case slices.Contains(celNames, name):
		return fmt.Errorf("%q is a word of CEL; choose another name", name)
	}
	if sc.types == nil {
		sc.types, sc.jsons = map[string]reflect.Type{}, map[string]reflect.Type{}
	}
	sc.types[name], sc.jsons[name] = p.goType, p.jsonType
	return nil
}

// celNames are words that a name must not hide (the language definition's reserved
// identifiers, its macros and the functions that kviz' expressions are told to use).
var celNames = []string{
	"all", "as", "bool", "break", "const", "continue", "double", "duration", "else", "exists", "exists_one", "false", "filter", "for",
	"function", "has", "if", "import", "in", "int", "let", "loop", "map", "matches", "namespace", "null", "package", "return", "size", "string",
	"timestamp", "true", "type", "uint", "var", "void", "while", "ms",
}

// names lists what is bound.
func (sc *Scope) names() []string {
	if sc == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(sc.types))
}

// environment is the language with the scope's names in it.
func (sc *Scope) environment() (*cel.Env, error) {
	env, err := environment()
	if err != nil || len(sc.names()) == 0 {
		return env, err
	}
	var opts []cel.EnvOption
	for _, name := range sc.names() {
		opts = append(opts, cel.Variable(name, cel.DynType))
	}
	return env.Extend(opts...)
}

// TextValue is a value that is a text.
func TextValue(text string) Value { return Value{text} }

// Value is what the expression is now. What is missing is an error.
func (p *Program) Value(s *view.State, event *trace.Event, names Values) (Value, error) {
	out, _, err := p.p.Eval(&activation{s, event, names})
	if err != nil {
		return Value{}, fmt.Errorf("expression %q: %w", p.src, err)
	}
	return Value{lasting(out, deepest)}, nil
}

// Text is the value as [Program.Text] gives it.
func (v Value) Text() string {
	s, err := written(adapter{}.NativeToValue(v.v))
	if err != nil {
		return "…"
	}
	return s
}

// lasting is a value that no longer looks into the state.
func lasting(v ref.Val, depth int) any {
	if depth == 0 {
		return "…"
	}
	switch x := v.(type) {
	case types.Null:
		return nil
	case types.Duration, types.Timestamp:
		return x
	case traits.Mapper:
		out := map[string]any{}
		for i := x.Iterator(); i.HasNext() == types.True; {
			k := i.Next()
			out[fmt.Sprint(k.Value())] = lasting(x.Get(k), depth-1)
		}
		return out
	case traits.Lister:
		out := []any{}
		for i := x.Iterator(); i.HasNext() == types.True; {
			out = append(out, lasting(i.Next(), depth-1))
		}
		return out
	case *types.Err:
		return "…" // of a type that expressions do not read
	}
	return v.Value()
}

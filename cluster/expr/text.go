package expr

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"sigs.k8s.io/yaml"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// deepest is how far into a value Text goes.
const deepest = 12

// Text is the expression's value as a reader wants it: a scalar as it is, anything
// else as YAML. What is missing is an error.
func (p *Program) Text(s *view.State, event *trace.Event) (string, error) {
	return p.TextIn(s, event, nil)
}

// TextIn is [Program.Text] with the values of a scope's names.
func (p *Program) TextIn(s *view.State, event *trace.Event, names Values) (string, error) {
	out, _, err := p.p.Eval(&activation{s, event, names})
	if err != nil {
		return "", fmt.Errorf("expression %q: %w", p.src, err)
	}
	t, err := written(out)
	if err != nil {
		return "", fmt.Errorf("expression %q: %w", p.src, err)
	}
	return t, nil
}

// written is a value as a reader wants it.
func written(out ref.Val) (string, error) {
	switch v := plain(out, deepest).(type) {
	case string:
		return v, nil
	case map[string]any, []any:
		y, err := yaml.Marshal(v)
		if err != nil {
			return "", err
		}
		return strings.TrimSuffix(string(y), "\n"), nil
	case nil:
		return "null", nil
	default:
		return fmt.Sprint(v), nil
	}
}

// plain is a value as encoders know it.
func plain(v ref.Val, depth int) any {
	if depth == 0 {
		return "…"
	}
	switch x := v.(type) {
	case types.Null:
		return nil
	case types.Duration:
		return x.Duration.String()
	case types.Timestamp:
		return x.Format(time.RFC3339Nano)
	case *types.Err:
		return "…" // of a type that expressions do not read
	case traits.Mapper:
		out := map[string]any{}
		for i := x.Iterator(); i.HasNext() == types.True; {
			k := i.Next()
			out[fmt.Sprint(k.Value())] = plain(x.Get(k), depth-1)
		}
		return out
	case traits.Lister:
		out := []any{}
		for i := x.Iterator(); i.HasNext() == types.True; {
			out = append(out, plain(i.Next(), depth-1))
		}
		return out
	}
	return v.Value()
}

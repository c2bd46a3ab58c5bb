package expr

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// checker knows what type each part of an expression has, as far as the
// state's own names go, and refuses a name that the type does not have.
type checker struct {
	src   string
	tree  *ast.AST
	vars  map[string]reflect.Type
	jsons map[string]reflect.Type // those that are the JSON of a type
	kinds []string                // the event has one of these, where a part says so
	err   *Error
}

// newChecker is a checker of one expression, which may use the names of a scope.
func newChecker(src string, tree *ast.AST, sc *Scope) *checker {
	c := &checker{src: src, tree: tree, vars: map[string]reflect.Type{}, jsons: map[string]reflect.Type{}, kinds: kindsOf(tree.Expr())}
	for _, r := range roots {
		c.vars[r.name] = r.typ
	}
	if sc != nil {
		maps.Copy(c.vars, sc.types)
		maps.Copy(c.jsons, sc.jsons)
	}
	return c
}

// typeOf is the Go type behind a part, nil where that is not known, as in the
// JSON of objects.
func (c *checker) typeOf(e ast.Expr) reflect.Type {
	switch e.Kind() {
	case ast.IdentKind:
		return c.vars[e.AsIdent()]
	case ast.SelectKind:
		s := e.AsSelect()
		t := c.typeOf(s.Operand())
		c.jsonField(e, s.FieldName())
		return c.field(e, t, s.FieldName())
	case ast.CallKind:
		return c.call(e.AsCall())
	case ast.ListKind:
		for _, x := range e.AsList().Elements() {
			c.typeOf(x)
		}
	case ast.MapKind:
		for _, x := range e.AsMap().Entries() {
			c.typeOf(x.AsMapEntry().Key())
			c.typeOf(x.AsMapEntry().Value())
		}
	case ast.ComprehensionKind:
		return c.comprehension(e.AsComprehension())
	}
	return nil
}

func (c *checker) call(call ast.CallExpr) reflect.Type {
	if call.IsMemberFunction() {
		c.typeOf(call.Target())
	}
	args := make([]reflect.Type, len(call.Args()))
	if call.FunctionName() == operators.LogicalOr || call.FunctionName() == operators.Conditional {
		for i, a := range call.Args() {
			args[i] = c.within(a)
		}
		return nil
	}
	for i, a := range call.Args() {
		args[i] = c.typeOf(a)
	}
	switch call.FunctionName() {
	case operators.Index:
		return element(args[0])
	case operators.Equals, operators.NotEquals:
		c.kindName(call)
	case "_pod":
		return reflect.TypeFor[*view.NodePod]()
	case "_owned":
		return reflect.TypeFor[[]*view.Family]()
	case "_rollout":
		return reflect.TypeFor[*view.Rollout]()
	case "_job":
		return reflect.TypeFor[*view.JobRun]()
	case "_hpa":
		return reflect.TypeFor[*view.AutoscalerSum]()
	case "_budget":
		return reflect.TypeFor[*view.Budget]()
	case "_claim", "_volume":
		return reflect.TypeFor[*view.VolumeStanding]()
	}
	return nil
}

// within is the type of a part that holds or not by itself, whatever stands beside it.
func (c *checker) within(e ast.Expr) reflect.Type {
	was := c.kinds
	defer func() { c.kinds = was }()
	if k := kindsOf(e); k != nil {
		c.kinds = k
	}
	return c.typeOf(e)
}

// kindName refuses a comparison of event.kind with a kind that there is not.
func (c *checker) kindName(call ast.CallExpr) {
	for i := range 2 {
		sel, lit := call.Args()[i], call.Args()[1-i]
		kind, ok := literal(lit)
		if !isEventKind(sel) {
			continue
		}
		if ok && kind != "" && !trace.Kind(kind).Known() {
			var known []string
			for _, in := range trace.Kinds() {
				known = append(known, string(in.Kind))
			}
			c.refuse(lit, fmt.Sprintf("there is no event kind %q", kind), kind, known)
		}
	}
}

func (c *checker) comprehension(x ast.ComprehensionExpr) reflect.Type {
	over := c.typeOf(x.IterRange())
	if c.json(x.IterRange()) != nil {
		name := x.IterVar()
		if x.HasIterVar2() {
			name = x.IterVar2()
		}
		was := c.jsons[name]
		c.jsons[name] = nil
		if t := c.json(x.IterRange()); t.Kind() == reflect.Slice || x.HasIterVar2() {
			c.jsons[name] = jsonElement(t)
		}
		defer func() { c.jsons[name] = was }()
	}
	was := map[string]reflect.Type{}
	bind := func(name string, t reflect.Type) {
		if name != "" {
			was[name] = c.vars[name]
			c.vars[name] = t
		}
	}
	var elem reflect.Type
	if over != nil && over.Kind() == reflect.Slice {
		elem = pointer(over.Elem())
	}
	if x.HasIterVar2() {
		bind(x.IterVar(), nil)
		if elem == nil {
			elem = element(over)
		}
		bind(x.IterVar2(), elem)
	} else {
		bind(x.IterVar(), elem)
	}
	bind(x.AccuVar(), nil)
	c.typeOf(x.AccuInit())
	c.typeOf(x.LoopCondition())
	c.typeOf(x.LoopStep())
	c.typeOf(x.Result())
	for name, t := range was {
		c.vars[name] = t
	}
	return nil
}

// element is what an index into a type gives.
func element(t reflect.Type) reflect.Type {
	if t == nil {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Map:
		return pointer(t.Elem())
	case reflect.Pointer:
		return named(t.Elem())
	}
	return named(t)
}

// named is what a lookup by name holds, nil for other types.
func named(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Struct && strings.HasPrefix(t.Name(), "byName[") {
		return t.Field(1).Type
	}
	return nil
}

// pointer is the type by which structs are known here.
func pointer(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Struct {
		return reflect.PointerTo(t)
	}
	return t
}

// field is the type of a field, and refuses one that is not there.
func (c *checker) field(e ast.Expr, t reflect.Type, name string) reflect.Type {
	if t == nil {
		return nil
	}
	t = pointer(t)
	if t == payloadType {
		return c.payloadField(e, name)
	}
	if t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct {
		if x := named(t.Elem()); x != nil {
			return x // nodes.something: a name that may be there or not
		}
		if opaque(t) {
			return nil
		}
		if t.Elem() == reflect.TypeFor[trace.ID]() || t.Elem() == reflect.TypeFor[trace.Lane]() {
			c.refuse(e, fmt.Sprintf("%s is a plain text; it has no %q", c.text(e.AsSelect().Operand()), name), "", nil)
			return nil
		}
		s := shapeFor(t)
		if _, ok := s.get[name]; !ok {
			c.refuse(e, fmt.Sprintf("%s has no %q", c.text(e.AsSelect().Operand()), name), name, s.names())
			return nil
		}
		if typ := s.typ[name]; typ != nil {
			return pointer(typ)
		}
		return nil
	}
	switch t.Kind() {
	case reflect.Map, reflect.Interface:
		return nil
	case reflect.Slice:
		c.refuse(e, fmt.Sprintf("%s is a list; it has no %q (use [0], exists, all, filter or size)", c.text(e.AsSelect().Operand()), name), "", nil)
	default:
		c.refuse(e, fmt.Sprintf("%s is a plain value; it has no %q", c.text(e.AsSelect().Operand()), name), "", nil)
	}
	return nil
}

// opaque reports types whose JSON, not whose Go fields, an expression sees.
func opaque(t reflect.Type) bool {
	return t == reflect.TypeFor[*trace.Object]() || t.Elem().PkgPath() == "time" || !strings.HasPrefix(t.Elem().PkgPath(), "kviz/")
}

// text is a part of the expression in words.
func (c *checker) text(e ast.Expr) string {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent()
	case ast.SelectKind:
		return c.text(e.AsSelect().Operand()) + "." + e.AsSelect().FieldName()
	case ast.CallKind:
		if call := e.AsCall(); call.FunctionName() == operators.Index {
			return c.text(call.Args()[0]) + "[…]"
		}
	}
	return "this"
}

func (c *checker) refuse(e ast.Expr, message, name string, known []string) {
	if c.err != nil {
		return
	}
	at := c.tree.SourceInfo().GetStartLocation(e.ID())
	c.err = &Error{at.Line(), at.Column() + 1, message + suggest(name, known), c.src}
}

var undeclared = regexp.MustCompile(`undeclared reference to '([^']*)'`)

// refuse puts CEL's first complaint in this package's words.
func refuse(src string, issues *cel.Issues, bound []string) error {
	first := issues.Errors()[0]
	message := first.Message
	if m := undeclared.FindStringSubmatch(message); m != nil {
		known := slices.Clone(bound)
		for _, r := range roots {
			known = append(known, r.name)
		}
		for _, f := range functions {
			known = append(known, f.name)
		}
		message = fmt.Sprintf("unknown name %q", m[1]) + suggest(m[1], known)
	}
	for _, f := range functions {
		if strings.Contains(message, "'_"+f.name+"'") {
			message = fmt.Sprintf("%s is used so: %s", f.name, f.use)
		}
	}
	return &Error{first.Location.Line(), first.Location.Column() + 1, message, src}
}

// mostKnown is how many names are listed where one is near already.
const mostKnown = 40

// suggest is the nearest known name and all of them, if they are not too many.
func suggest(name string, known []string) string {
	if len(known) == 0 {
		return ""
	}
	s := ""
	best, distance := "", 1+len(name)/2
	for _, k := range known {
		d := far(strings.ToLower(name), strings.ToLower(k))
		if d < distance || d == distance && common(name, k) > common(name, best) {
			best, distance = k, d
		}
	}
	if best != "" {
		s = fmt.Sprintf("; did you mean %q?", best)
	}
	if len(known) > mostKnown && best != "" {
		return s
	}
	return s + " (known: " + strings.Join(known, ", ") + ")"
}

// common is how many bytes two words begin with alike.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// far is the edit distance between two words.
func far(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}

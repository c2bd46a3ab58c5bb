package expr

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"kviz/cluster/trace"
)

// payload stands for the payload of an event when names are checked: what it has depends
// on the event's kind.
type payload struct{ _ struct{} }

var payloadType = reflect.TypeFor[*payload]()

// payloadNames are the fields of the payloads of some kinds, of all for none.
func payloadNames(kinds []string) []string {
	var out []string
	for _, in := range trace.Kinds() {
		if p := in.NewPayload(); p != nil && (len(kinds) == 0 || slices.Contains(kinds, string(in.Kind))) {
			out = append(out, shapeFor(reflect.TypeOf(p)).names()...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// payloadField refuses a field that no payload of the kinds asked for has, and gives its
// type where all that have it agree.
func (c *checker) payloadField(e ast.Expr, name string) reflect.Type {
	known := payloadNames(c.kinds)
	if !slices.Contains(known, name) {
		of := "no payload"
		if len(c.kinds) == 1 {
			of = "the payload of " + c.kinds[0]
			if len(known) == 0 {
				c.refuse(e, c.kinds[0]+" has no payload", "", nil)
				return nil
			}
			c.refuse(e, fmt.Sprintf("%s has no %q", of, name), name, known)
			return nil
		}
		c.refuse(e, fmt.Sprintf("%s has a %q", of, name), name, known)
		return nil
	}
	var typ reflect.Type
	for _, in := range trace.Kinds() {
		p := in.NewPayload()
		if p == nil || len(c.kinds) > 0 && !slices.Contains(c.kinds, string(in.Kind)) {
			continue
		}
		s := shapeFor(reflect.TypeOf(p))
		if _, ok := s.get[name]; !ok {
			continue
		}
		t := s.typ[name]
		if t == nil || typ != nil && typ != t {
			return nil
		}
		typ = t
	}
	if typ == nil {
		return nil
	}
	return pointer(typ)
}

// kindsOf are the kinds that an event must have one of for a part to hold; none where it
// does not say.
func kindsOf(e ast.Expr) []string {
	if e.Kind() != ast.CallKind {
		return nil
	}
	call := e.AsCall()
	args := call.Args()
	switch call.FunctionName() {
	case operators.LogicalAnd:
		for _, a := range args {
			if k := kindsOf(a); k != nil {
				return k
			}
		}
	case operators.LogicalOr:
		var all []string
		for _, a := range args {
			k := kindsOf(a)
			if k == nil {
				return nil
			}
			all = append(all, k...)
		}
		return all
	case operators.Equals:
		for i := range 2 {
			if k, ok := literal(args[1-i]); ok && isEventKind(args[i]) {
				return []string{k}
			}
		}
	case operators.In:
		if !isEventKind(args[0]) || args[1].Kind() != ast.ListKind {
			return nil
		}
		var all []string
		for _, x := range args[1].AsList().Elements() {
			k, ok := literal(x)
			if !ok {
				return nil
			}
			all = append(all, k)
		}
		return all
	}
	return nil
}

// isEventKind reports whether a part is event.kind.
func isEventKind(e ast.Expr) bool {
	if e.Kind() != ast.SelectKind || e.AsSelect().FieldName() != "kind" {
		return false
	}
	op := e.AsSelect().Operand()
	return op.Kind() == ast.IdentKind && op.AsIdent() == "event"
}

// literal is the text that a part is.
func literal(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().Value().(string)
	return s, ok
}

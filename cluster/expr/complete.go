package expr

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// Complete gives what could stand at the end of an expression that is being typed, in place
// of all that comes after head: names of the language, fields, kinds of events, and what there
// is in a state: objects, nodes, members.
func Complete(src string, s *view.State) (head string, words []string) {
	if quote := openQuote(src); quote >= 0 {
		head = src[:quote+1]
		words = beginning(texts(src[:quote], s), src[quote+1:])
		end := src[quote : quote+1]
		for i := range words {
			words[i] += end
		}
		return head, words
	}
	at := len(src)
	for at > 0 && isWord(src[at-1]) {
		at--
	}
	head, word := src[:at], src[at:]
	before, member := strings.CutSuffix(head, ".")
	if !member {
		return head, beginning(beginnings(src), word)
	}
	operand := lastOperand(before)
	words, keys := members(before, operand, s)
	words = beginning(words, word)
	if len(words) == 0 && len(keys) > 0 { // which are no names: nodes["node-1"]
		for _, k := range beginning(keys, word) {
			words = append(words, `["`+k+`"]`)
		}
		return before, words
	}
	return head, words
}

// openQuote is where the string begins in which a text ends; -1 for none.
func openQuote(src string) int {
	at := -1
	for i := 0; i < len(src); i++ {
		switch {
		case at >= 0 && src[i] == '\\':
			i++
		case at >= 0 && src[i] == src[at]:
			at = -1
		case at < 0 && (src[i] == '"' || src[i] == '\''):
			at = i
		}
	}
	return at
}

func isWord(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

func beginning(words []string, with string) []string {
	var out []string
	for _, w := range words {
		if strings.HasPrefix(strings.ToLower(w), strings.ToLower(with)) {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// beginnings are the words that an expression or a part of it may begin with.
func beginnings(src string) []string {
	var out []string
	for _, r := range roots {
		out = append(out, r.name)
	}
	for _, f := range functions {
		out = append(out, f.name+`("`)
	}
	for _, b := range bound.FindAllStringSubmatch(src, -1) {
		out = append(out, b[2])
	}
	return out
}

// bound finds the names that all, exists and the like give to the elements of a list.
var bound = regexp.MustCompile(`\.(all|exists|exists_one|filter|map)\(\s*([a-zA-Z_]\w*)\s*,`)

// lastOperand is the value that a text ends with, such as store.members["a"] in
// 1 == store.members["a"].
func lastOperand(s string) string {
	i := len(s)
	for i > 0 {
		switch b := s[i-1]; {
		case isWord(b) || b == '.':
			i--
		case b == ')' || b == ']':
			open := opening(s[:i])
			if open < 0 {
				return s[i:]
			}
			i = open
		default:
			return s[i:]
		}
	}
	return s
}

// opening is where the bracket opens that a text ends with; -1 if it does not.
func opening(s string) int {
	depth, quote := 0, byte(0)
	for i := len(s) - 1; i >= 0; i-- {
		switch b := s[i]; {
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '"' || b == '\'':
			quote = b
		case b == ')' || b == ']':
			depth++
		case b == '(' || b == '[':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// unbound puts an element of its list in the place of a name that all, exists and the like
// have given to it.
func unbound(before, operand string) string {
	for range 4 {
		name := operand
		if i := strings.IndexAny(operand, ".[("); i >= 0 {
			name = operand[:i]
		}
		var list string
		for _, m := range bound.FindAllStringSubmatchIndex(before, -1) {
			if before[m[4]:m[5]] == name {
				list = lastOperand(before[:m[0]])
			}
		}
		if list == "" {
			return operand
		}
		operand = list + "[0]" + operand[len(name):]
	}
	return operand
}

// members are the names that a value has, and the keys of it that are no names.
func members(before, operand string, s *view.State) (names, keys []string) {
	operand = unbound(before, operand)
	if operand == "" {
		return nil, nil
	}
	tree, value := look(operand, s)
	if tree != nil {
		c := newChecker(operand, tree, nil)
		c.kinds = asked(before)
		switch t := c.typeOf(tree.Expr()); {
		case t == payloadType:
			return payloadNames(c.kinds), nil
		case t == nil:
			names = sorted(jsonFields(c.json(tree.Expr())))
			if j := c.json(tree.Expr()); j != nil && j.Kind() == reflect.Slice {
				return ofLists, nil
			}
		case t.Kind() == reflect.Slice:
			return ofLists, nil
		case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct && named(t.Elem()) == nil && named(t) == nil && !opaque(t):
			return shapeFor(t).names(), nil
		}
	}
	switch v := value.(type) {
	case traits.Lister:
		return ofLists, nil
	case *mapVal:
		for _, k := range v.l.keys() {
			if isName.MatchString(k) {
				names = append(names, k)
			} else {
				keys = append(keys, k)
			}
		}
	}
	return names, keys
}

var isName = regexp.MustCompile(`^[a-zA-Z_]\w*$`)

// ofLists is what can be asked of a list.
var ofLists = []string{"all(x, ", "exists(x, ", "filter(x, ", "map(x, ", "size()"}

// look reads a part of an expression and what it is in a state, as far as both can be done.
func look(src string, s *view.State) (*ast.AST, any) {
	env, err := environment()
	if err != nil {
		return nil, nil
	}
	checked, issues := env.Compile(src)
	if issues.Err() != nil {
		return nil, nil
	}
	tree := checked.NativeRep()
	if s == nil {
		return tree, nil
	}
	p, err := env.Program(checked)
	if err != nil {
		return tree, nil
	}
	out, _, err := p.Eval(&activation{s, s.Event, nil})
	if err != nil || types.IsError(out) {
		return tree, nil
	}
	return tree, out
}

var kindAsked = regexp.MustCompile(`event\.kind\s*==\s*["']([^"']+)["']`)

// asked are the kinds of events that an expression has asked for so far.
func asked(src string) []string {
	var out []string
	for _, m := range kindAsked.FindAllStringSubmatch(src, -1) {
		if trace.Kind(m[1]).Known() {
			out = append(out, m[1])
		}
	}
	return out
}

var (
	inCall  = regexp.MustCompile(`\b(objects|object|owned|rollout|job|hpa|budget|claim|volume|pod|key|kubeEvents)\(\s*((?:["'][^"']*["']\s*,\s*)*)$`)
	inIndex = regexp.MustCompile(`\[\s*$`)
	inEqual = regexp.MustCompile(`(?:==|!=)\s*$`)
	quoted  = regexp.MustCompile(`["']([^"']*)["']`)
)

// texts are what a string could be that begins after some text.
func texts(before string, s *view.State) []string {
	if s == nil {
		s = &view.State{}
	}
	if m := inCall.FindStringSubmatch(before); m != nil {
		var given []string
		for _, a := range quoted.FindAllStringSubmatch(m[2], -1) {
			given = append(given, a[1])
		}
		return arguments(m[1], given, s)
	}
	if i := inIndex.FindStringIndex(before); i != nil {
		names, keys := members(before[:i[0]], lastOperand(before[:i[0]]), s)
		return append(names, keys...)
	}
	if i := inEqual.FindStringIndex(before); i != nil {
		of := strings.TrimRight(before[:i[0]], " ")
		return compared(unbound(of, lastOperand(of)), s)
	}
	return nil
}

// ofOneKind are the functions whose arguments name an object of one resource.
var ofOneKind = map[string]string{
	"job": "jobs", "hpa": "horizontalpodautoscalers", "budget": "poddisruptionbudgets", "claim": "persistentvolumeclaims", "volume": "persistentvolumes",
}

// arguments are what the next argument of a function could be.
func arguments(function string, given []string, s *view.State) []string {
	var out []string
	switch function {
	case "pod":
		for _, n := range s.Nodes() {
			for _, p := range n.Pods() {
				out = append(out, p.Pod)
			}
		}
		return out
	case "key":
		s.Store.Keys("", func(k *view.Key) bool { out = append(out, k.Key); return len(out) < 5000 })
		return out
	}
	if of, ok := ofOneKind[function]; ok {
		given = append([]string{of}, given...)
	}
	switch len(given) {
	case 0:
		resources := sorted(s.Resources())
		if function != "kubeEvents" {
			return resources
		}
		for _, r := range resources {
			s.EachObject(r, "", func(o *view.Object) bool { out = append(out, o.Ref.Kind); return false })
		}
	case 1: // a namespace, or the name of what is in none
		s.EachObject(given[0], "", func(o *view.Object) bool {
			if o.Ref.Namespace != "" {
				out = append(out, o.Ref.Namespace)
			} else if function == "object" || function == "owned" || function == "volume" {
				out = append(out, o.Ref.Name)
			}
			return true
		})
	case 2:
		s.EachObject(given[0], given[1], func(o *view.Object) bool { out = append(out, o.Ref.Name); return true })
	}
	return out
}

// compared is what something could be compared with.
func compared(of string, s *view.State) []string {
	var out []string
	switch of {
	case "event.kind":
		for _, in := range trace.Kinds() {
			out = append(out, string(in.Kind))
		}
		return out
	case "event.payload.stage":
		return trace.Stages()
	case "event.lane", "event.component", "event.instance":
		for _, l := range s.Lanes() {
			switch of {
			case "event.lane":
				out = append(out, l.Lane.String())
			case "event.component":
				out = append(out, l.Lane.Component)
			default:
				out = append(out, l.Lane.Instance)
			}
		}
		return out
	case "event.object.kind", "event.object.namespace", "event.object.name":
		for r := range s.Resources() {
			s.EachObject(r, "", func(o *view.Object) bool {
				switch of {
				case "event.object.kind":
					out = append(out, o.Ref.Kind)
				case "event.object.namespace":
					out = append(out, o.Ref.Namespace)
				default:
					out = append(out, o.Ref.Name)
				}
				return true
			})
		}
		return out
	case "event.payload.role":
		return []string{"follower", "candidate", "leader", "stopped"}
	case "store.leader", "event.payload.member", "event.payload.leader":
		for _, m := range s.Store.Members() {
			out = append(out, m.Name)
		}
		return out
	}
	if strings.HasSuffix(of, ".status.phase") {
		return []string{"Pending", "Running", "Succeeded", "Failed", "Unknown", "Active", "Terminating"}
	}
	if strings.HasSuffix(of, ".status") || strings.HasSuffix(of, ".status\"]") {
		return []string{"True", "False", "Unknown"}
	}
	if _, v := look(of, s); v != nil {
		if text, ok := v.(types.String); ok {
			return []string{string(text)}
		}
	}
	return nil
}

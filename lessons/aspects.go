package lessons

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"kviz/cluster/expr"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// aspect is one of the conditions that a goal's expression joins with &&. How many of them hold
// says how near an event came to the goal, and one that does not says what is missing.
type aspect struct {
	holds *expr.Program
	kind  string // the kind of event that it asks for and nothing else, "fault.inject"
	asks  bool   // it asks for a kind of event: another event has nothing to do with the goal
	event bool   // it looks at the event, not at the state alone

	subjects []subject // objects that it speaks of

	name     string        // what it looks at, in short
	is, want *expr.Program // what it compares; nil where it compares nothing
	op       string
}

// aspects takes an expression apart. The kinds of events come first, for most events go no
// further.
func aspects(src string, names *expr.Scope) []*aspect {
	var all []*aspect
	for _, part := range expr.Parts(src) {
		holds, err := names.Compile(part)
		if err != nil {
			return nil // the whole says what is wrong
		}
		a := &aspect{holds: holds, name: short(part), event: holds.Mentions("event"), subjects: subjects(part, names)}
		if left, op, right, ok := expr.Comparison(part); ok {
			is, err1 := names.CompileAny(left)
			want, err2 := names.CompileAny(right)
			if err1 == nil && err2 == nil {
				a.name, a.is, a.want, a.op, a.asks = short(left), is, want, op, left == "event.kind"
			}
			if a.asks && op == "==" && strings.HasPrefix(right, `"`) {
				a.kind = strings.Trim(right, `"`)
			}
		}
		all = append(all, a)
	}
	slices.SortStableFunc(all, func(a, b *aspect) int {
		switch {
		case a.asks == b.asks:
			return 0
		case a.asks:
			return -1
		}
		return 1
	})
	return all
}

// met reports whether it holds. What cannot be answered does not.
func (a *aspect) met(st *view.State, e *trace.Event, names expr.Values) bool {
	if a.kind != "" {
		return e != nil && string(e.Kind) == a.kind
	}
	ok, err := a.holds.EvalIn(st, e, names)
	return ok && err == nil
}

// value is what it looks at, as it is now.
func (a *aspect) value(st *view.State, e *trace.Event, names expr.Values) string {
	if a.is == nil {
		return "false"
	}
	return said(a.is, st, e, names)
}

// absent stands for a value that there is not.
const absent = "not there"

// said is a value in a few words.
func said(p *expr.Program, st *view.State, e *trace.Event, names expr.Values) string {
	text, err := p.TextIn(st, e, names)
	switch text = strings.Join(strings.Fields(text), " "); {
	case err != nil || text == "null":
		return absent
	case text == "":
		return `""`
	}
	return cut(text, 32)
}

// needs says what is missing: "spec.replicas is 5, the goal needs 3".
func (a *aspect) needs(value string, st *view.State, e *trace.Event, names expr.Values) string {
	if a.is == nil {
		if name, not := strings.CutPrefix(a.name, "!"); not {
			return name + " is true, the goal needs false"
		}
		return a.name + " is false, the goal needs true"
	}
	want := said(a.want, st, e, names)
	switch a.op {
	case "!=":
		want = "anything else"
		if value == `""` {
			want = "a value"
		}
	case ">=":
		want = "at least " + want
	case ">":
		want = "more than " + want
	case "<=":
		want = "at most " + want
	case "<":
		want = "less than " + want
	case "in":
		want = "one of " + strings.TrimPrefix(strings.ReplaceAll(want, " - ", ", "), "- ")
	}
	return fmt.Sprintf("%s is %s, the goal needs %s", a.name, value, want)
}

var calledForm = regexp.MustCompile(`^(?:object|pod|key)\([^()]*\)\.`)

// short is an expression as a reader of the goal needs it: without where the value was read.
func short(src string) string {
	src = strings.Join(strings.Fields(src), " ")
	not := ""
	if rest, ok := strings.CutPrefix(src, "!"); ok {
		not, src = "!", rest
	}
	src = calledForm.ReplaceAllString(src, "")
	for _, from := range []string{"event.payload.", "event."} {
		if rest, ok := strings.CutPrefix(src, from); ok {
			src = rest
			break
		}
	}
	return not + cut(src, 44)
}

func cut(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

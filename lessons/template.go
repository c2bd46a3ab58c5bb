package lessons

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"kviz/cluster/expr"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// Text is a text in which {expression} stands for what an expression is at that moment. A
// brace begins one only where a letter follows it.
type Text struct {
	src   string
	parts []part
}

// part is a piece of a text: as it stands, or the value of an expression.
type part struct {
	words string
	value func() (*expr.Program, error) // nil for words
}

// text reads a text, whose expressions may use the names of a scope.
func (r reader) text(src string, names *expr.Scope) (*Text, error) {
	t := &Text{src: src}
	for rest := src; rest != ""; {
		at := opening.FindStringIndex(rest)
		if at == nil {
			t.parts = append(t.parts, part{words: rest})
			break
		}
		if at[0] > 0 {
			t.parts = append(t.parts, part{words: rest[:at[0]]})
		}
		end := closing(rest[at[0]:])
		if end < 0 {
			return nil, fmt.Errorf("%q: a { has no }", src)
		}
		in := rest[at[0]+1 : at[0]+end]
		value := sync.OnceValues(func() (*expr.Program, error) { return names.CompileAny(in) })
		if r.prove {
			if _, err := value(); err != nil {
				return nil, fmt.Errorf("%q: %w", src, err)
			}
		}
		t.parts = append(t.parts, part{value: value})
		rest = rest[at[0]+end+1:]
	}
	return t, nil
}

// texts reads several.
func (r reader) texts(srcs []string, names *expr.Scope) ([]*Text, error) {
	var all []*Text
	for _, src := range srcs {
		t, err := r.text(src, names)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

var opening = regexp.MustCompile(`\{[A-Za-z]`)

// closing is where the brace that a text begins with is closed; -1 where it is not.
func closing(s string) int {
	depth, quote := 0, rune(0)
	for i, c := range s {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// Source is the text as it was written.
func (t *Text) Source() string {
	if t == nil {
		return ""
	}
	return t.src
}

// unknown stands in a text for a value that there is not yet.
const unknown = "…"

// Fill is the text with its values, and whether all of them are known.
func (t *Text) Fill(s *view.State, e *trace.Event, names expr.Values) (filled string, whole bool) {
	if t == nil {
		return "", true
	}
	var b strings.Builder
	whole = true
	for _, p := range t.parts {
		if p.value == nil {
			b.WriteString(p.words)
			continue
		}
		value := unknown
		if prog, err := p.value(); err == nil {
			if v, err := prog.TextIn(s, e, names); err == nil {
				value = v
			}
		}
		if value == unknown || value == "null" {
			value, whole = unknown, false
		}
		b.WriteString(value)
	}
	return b.String(), whole
}

// bare is a text without its values, for rules about words.
func (t *Text) bare() string { return t.instead("x") } // a value is read as one short word

// without is a text without its values, for rules about names.
func (t *Text) without() string { return t.instead("") }

func (t *Text) instead(value string) string {
	if t == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range t.parts {
		if p.value == nil {
			b.WriteString(p.words)
		} else {
			b.WriteString(value)
		}
	}
	return b.String()
}

// values are the expressions of a text as they are written, with their braces.
func (t *Text) values() (all []string) {
	for rest := t.src; ; {
		at := opening.FindStringIndex(rest)
		if at == nil {
			return all
		}
		end := at[0] + closing(rest[at[0]:]) + 1
		all = append(all, rest[at[0]:end])
		rest = rest[end:]
	}
}

package lessons

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Reading is how a lesson's texts read where there is no run of it: what is known without one is
// said, and for every other {expression} a short name stands between ‹ and ›.
type Reading struct{ known map[string]string }

// pinnedForm is what a pin says of an expression.
var pinnedForm = regexp.MustCompile(`^(\S+) == "([^"]*)"$`)

// Reading is how the lesson's texts read without a run. What the scene pins is known, and so is a
// name that is bound to it before anything can have changed it.
func (l *Lesson) Reading() *Reading {
	r := &Reading{known: map[string]string{}}
	if len(l.Steps) == 0 || l.Steps[0].Stage == nil {
		return r
	}
	for _, p := range l.Pins {
		m := pinnedForm.FindStringSubmatch(p.Is)
		if m == nil {
			continue
		}
		for _, b := range l.Steps[0].Stage.Let {
			if b.is.program.Source() == m[1] && !l.rebinds(b.Name) {
				r.known[b.Name] = m[2]
			}
		}
	}
	return r
}

// rebinds reports whether a beat after the first binds a name anew.
func (l *Lesson) rebinds(name string) bool {
	return slices.ContainsFunc(l.Steps[1:], func(s *Step) bool {
		return s.Stage != nil && slices.ContainsFunc(slices.Concat(s.Stage.Let, s.Stage.Then), func(b Binding) bool { return b.Name == name })
	})
}

// Of is a text as it reads.
func (r *Reading) Of(text string) string {
	var b strings.Builder
	r.each(text, func(words string) { b.WriteString(words) }, func(in string) {
		if v, ok := r.known[in]; ok {
			b.WriteString(v)
			return
		}
		b.WriteString("‹" + nickname(in) + "›")
	})
	return b.String()
}

// Names says what the short names of a beat's texts stand for, where it is more than their word:
// those of expressions, and those that the beat binds.
func (r *Reading) Names(s *Step, texts ...string) []string {
	var all []string
	add := func(name, is string) {
		line := fmt.Sprintf("‹%s› is %s", name, strings.Join(strings.Fields(is), " "))
		if name != is && !slices.Contains(all, line) {
			all = append(all, line)
		}
	}
	if s.Stage != nil {
		for _, b := range slices.Concat(s.Stage.Let, s.Stage.Then) {
			if _, ok := r.known[b.Name]; !ok {
				add(b.Name, b.is.program.Source())
			}
		}
	}
	for _, text := range texts {
		r.each(text, func(string) {}, func(in string) { add(nickname(in), in) })
	}
	return all
}

// each goes through a text: its words, and the expressions in it.
func (r *Reading) each(text string, words, expression func(string)) {
	for text != "" {
		at := opening.FindStringIndex(text)
		if at == nil {
			words(text)
			return
		}
		words(text[:at[0]])
		text = text[at[0]:]
		end := closing(text)
		if end < 0 {
			words(text)
			return
		}
		expression(text[1:end])
		text = text[end+1:]
	}
}

var (
	sumForm  = regexp.MustCompile(`^\w+( [-+*/] \w+)*$`)
	fieldEnd = regexp.MustCompile(`(\w+)$`)
)

// nickname is a short name for what an expression stands for: its last field, "number" where it
// counts, "time" where it measures, "member" where it chooses one of the members.
func nickname(in string) string {
	if sumForm.MatchString(in) {
		return in
	}
	if strings.HasPrefix(in, "ms(") {
		return "time"
	}
	one := false
	for in = upTo(in, ' '); in != ""; {
		open := opened(in)
		if open < 0 {
			break
		}
		one = one || in[open] == '['
		in = in[:open]
		if strings.HasSuffix(in, ".size") {
			return "number"
		}
		in = strings.TrimSuffix(in, ".filter")
	}
	field := fieldEnd.FindString(in)
	switch {
	case field == "":
		return "value"
	case one && strings.HasSuffix(field, "s"):
		return strings.TrimSuffix(field, "s")
	}
	return field
}

// upTo is the beginning of an expression, to where something stands outside of all brackets.
func upTo(in string, stop byte) string {
	depth := 0
	for i := range len(in) {
		switch c := in[i]; {
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case c == stop && depth == 0:
			return in[:i]
		}
	}
	return in
}

// opened is where the bracket that an expression ends with was opened; -1 where it ends with none.
func opened(in string) int {
	if !strings.HasSuffix(in, ")") && !strings.HasSuffix(in, "]") {
		return -1
	}
	depth := 0
	for i := len(in) - 1; i >= 0; i-- {
		switch in[i] {
		case ')', ']':
			depth++
		case '(', '[':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

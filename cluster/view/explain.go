package view

import (
	"fmt"
	"strings"
	"time"

	"kviz/cluster/trace"
)

// Explain says in one plain sentence what an event is: the explanation line of
// the explorer, and what kviz why and kviz trace print. It ends without a full
// stop and is one line however odd the payload.
func Explain(e *trace.Event) string {
	if e == nil {
		return ""
	}
	s := ""
	if f := explains[e.Kind]; f != nil {
		s = f(e)
	}
	if s == "" { // no payload, or an unknown kind
		s = strings.TrimSuffix(e.Kind.Info().Means, ".")
		if o := e.Object.String(); o != "" {
			s = o + ": " + s
		}
	}
	return oneLine(s)
}

// explains has the words for each kind.
var explains = map[trace.Kind]func(*trace.Event) string{}

// say enters the words for the events of a kind.
func say[P any](k trace.Kind, f func(*trace.Event, *P) string) {
	explains[k] = func(e *trace.Event) string {
		if p, ok := e.Payload.(*P); ok && p != nil {
			return f(e, p)
		}
		return ""
	}
}

func oneLine(s string) string {
	if !strings.ContainsAny(s, "\n\r\t") {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// took is a duration as a person says it.
func took(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

// count is "1 pod", "2 pods".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	many := what + "s"
	if y, ok := strings.CutSuffix(what, "y"); ok && !strings.HasSuffix(y, "e") {
		many = y + "ies"
	}
	return fmt.Sprintf("%d %s", n, many)
}

// tail is sep and s, or nothing for an empty s.
func tail(sep, s string) string {
	if s == "" {
		return ""
	}
	return sep + s
}

// orElse is s, or other for an empty s.
func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// and joins a list as prose does.
func and(list []string) string {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return list[0]
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

// some joins at most n of a list and counts the rest.
func some(list []string, n int) string {
	if len(list) <= n {
		return and(list)
	}
	return strings.Join(list[:n], ", ") + fmt.Sprintf(" and %d more", len(list)-n)
}

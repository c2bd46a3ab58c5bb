package kubelet

import "strings"

// longest is the length from which on expansion stops: Linux gives a program no argument and no
// variable as long as this (MAX_ARG_STRLEN), so the runtime refuses what is cut here.
const longest = 128 << 10

// expandVars replaces $(NAME) by the variable, and $$ by $.
//
// Mirrors third_party/forked/golang/expansion Expand, which takes the square of a text of many "$("
// without an end, and has no bound for variables that double one another.
func expandVars(s string, env map[string]string) string {
	if !strings.Contains(s, "$") {
		return s
	}
	lastEnd := strings.LastIndexByte(s, ')')
	var b strings.Builder
	for i := 0; i < len(s) && b.Len() <= longest; i++ {
		if s[i] != '$' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		switch i++; {
		case s[i] == '$':
			b.WriteByte('$')
		case s[i] == '(' && i < lastEnd:
			end := i + strings.IndexByte(s[i:], ')')
			if v, ok := env[s[i+1:end]]; ok {
				b.WriteString(v)
			} else {
				b.WriteString(s[i-1 : end+1])
			}
			i = end
		default:
			b.WriteByte('$')
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func expandAll(words []string, env map[string]string) []string {
	out := make([]string, len(words))
	for i, s := range words {
		out[i] = expandVars(s, env)
	}
	return out
}

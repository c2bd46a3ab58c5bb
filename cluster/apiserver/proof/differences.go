package proof

import "strings"

// A difference is an answer in which kviz differs, and why. Script and step
// may hold stars. One that does not occur any more fails the whole run.
type difference struct{ script, step, why string }

var different = []difference{}

// listed is the first difference that says of a step that it may differ; -1 if
// none does.
func listed(script, step string) int {
	for i, d := range different {
		if like(d.script, script) && like(d.step, step) {
			return i
		}
	}
	return -1
}

// like reports whether s is what pattern says, where a star is any text.
func like(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	rest, ok := strings.CutPrefix(s, parts[0])
	if !ok {
		return false
	}
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, p)
		if i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

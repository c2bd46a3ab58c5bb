package object

import "strings"

// fieldPath follows the lines of an object's YAML. Its zero value stands before the first.
type fieldPath struct {
	keys []string // of the line before, one for each level
	list int      // one more than the level of the list that the line before was in; 0 for none
}

// next is the field that a line is of, as kubectl explain names it ("spec.replicas"). A line
// in a list has none: an element has no name that outlives a change.
func (p *fieldPath) next(line string) string {
	body := strings.TrimLeft(line, " ")
	level := (len(line) - len(body)) / 2
	switch {
	case strings.HasPrefix(body, "-"):
		if p.list == 0 || level+1 < p.list {
			p.list = level + 1
		}
		return ""
	case p.list > 0 && level >= p.list:
		return ""
	}
	p.list = 0
	key, _, ok := strings.Cut(body, ":")
	if !ok || level > len(p.keys) {
		return ""
	}
	p.keys = append(p.keys[:level], key)
	return strings.Join(p.keys, ".")
}

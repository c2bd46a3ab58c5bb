package motion

import "kviz/cluster/trace"

// RuleOf is what the table has for a kind: a light, or why there is none.
func RuleOf(k trace.Kind) (light bool, none string, ok bool) {
	r, ok := rules[k]
	return r.light != nil, r.none, ok
}

// Ruled are the kinds that the table has.
func Ruled() []trace.Kind {
	var all []trace.Kind
	for k := range rules {
		all = append(all, k)
	}
	return all
}

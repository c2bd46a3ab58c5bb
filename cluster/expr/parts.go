package expr

import (
	"iter"
	"strings"
)

// Parts are the conditions that an expression joins with && at its top: it holds when all of them
// do. An expression that joins none is its own only part.
func Parts(src string) []string {
	src = strings.TrimSpace(src)
	for enclosed(src) {
		src = strings.TrimSpace(src[1 : len(src)-1])
	}
	var parts []string
	from := 0
	for at, op := range topLevel(src) {
		switch op {
		case "||", "?": // they bind looser than &&
			return []string{src}
		case "&&":
			parts = append(parts, strings.TrimSpace(src[from:at]))
			from = at + len(op)
		}
	}
	return append(parts, strings.TrimSpace(src[from:]))
}

// Comparison takes a condition that compares two values apart, "spec.replicas == 3"; ok is false
// where it is none.
func Comparison(src string) (left, op, right string, ok bool) {
	for at, next := range topLevel(src) {
		switch next {
		case "&&", "||", "?":
			return "", "", "", false
		}
		if ok {
			return "", "", "", false
		}
		left, op, right, ok = strings.TrimSpace(src[:at]), strings.TrimSpace(next), strings.TrimSpace(src[at+len(next):]), true
	}
	return left, op, right, ok && left != "" && right != ""
}

// enclosed reports whether one pair of brackets is around all of an expression.
func enclosed(src string) bool {
	if !strings.HasPrefix(src, "(") || !strings.HasSuffix(src, ")") {
		return false
	}
	depth, whole := 0, true
	outside(src, func(at int) {
		switch src[at] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 && at < len(src)-1 {
				whole = false
			}
		}
	})
	return whole
}

// joining are the operators that are looked for, the longer ones first.
var joining = []string{"&&", "||", "==", "!=", "<=", ">=", "<", ">", "?", " in "}

// topLevel goes through the operators that stand outside of all brackets and texts, with their
// places.
func topLevel(src string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		depth, next, ended := 0, 0, false
		outside(src, func(at int) {
			switch c := src[at]; {
			case ended || at < next:
				return
			case strings.IndexByte("([{", c) >= 0:
				depth++
				return
			case strings.IndexByte(")]}", c) >= 0:
				depth--
				return
			case depth > 0:
				return
			}
			for _, op := range joining {
				if strings.HasPrefix(src[at:], op) {
					next = at + len(op)
					ended = !yield(at, op)
					return
				}
			}
		})
	}
}

// outside calls f for each byte of an expression that stands in no text, such as "this".
func outside(src string, f func(at int)) {
	var quote byte
	for at := 0; at < len(src); at++ {
		switch c := src[at]; {
		case quote != 0 && c == '\\':
			at++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		default:
			f(at)
		}
	}
}

package bound

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrDepth is what the JSON decoder says of ten thousand levels.
var ErrDepth = errors.New("exceeded max depth")

// Depth is how deep the lists and objects of a JSON text are in one another, at most. It takes a
// text that is no JSON for one as far as it can.
func Depth(doc []byte) int {
	deepest, _ := descend(doc)
	return deepest
}

// descend gives the depth, and the bracket that is the first to go deeper than [MaxDepth].
func descend(doc []byte) (deepest int, beyond byte) {
	depth, text := 0, false
	for i := 0; i < len(doc); i++ {
		switch b := doc[i]; {
		case text && b == '\\':
			i++
		case b == '"':
			text = !text
		case text:
		case b == '{' || b == '[':
			depth++
			deepest = max(deepest, depth)
			if depth > MaxDepth && beyond == 0 {
				beyond = b
			}
		case b == '}' || b == ']':
			depth--
		}
	}
	return deepest, beyond
}

// Shallow says what is wrong with a JSON text that is too deep.
func Shallow(doc []byte) error {
	if _, beyond := descend(doc); beyond != 0 {
		return fmt.Errorf("invalid character %q %w", beyond, ErrDepth)
	}
	return nil
}

// Level reports whether a YAML text is shallow for sure. Of others it is known when they have been
// made into JSON, whose depth [Shallow] judges: that conversion is bounded by its own library.
func Level(doc []byte) bool {
	if !utf8.Valid(doc) { // YAML may be in UTF-16
		return false
	}
	brackets, deepest := 0, 0
	for line := range strings.Lines(string(doc)) {
		// Each level of a block begins in a column of its own, but for a list that is as far
		// left as the key that it belongs to.
		indent := len(line) - len(strings.TrimLeft(line, " \t-?:"))
		deepest = max(deepest, 2*(indent+1))
		brackets += strings.Count(line, "{") + strings.Count(line, "[")
	}
	return deepest+brackets <= MaxDepth
}

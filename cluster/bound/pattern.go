package bound

import "regexp/syntax"

// Instructions are those of a regular expression's program, at most. The program itself is not made: a
// pattern of a few letters can have a long one.
func Instructions(pattern string) float64 {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0 // no program: it is refused where it is used
	}
	return 2 + sizeOf(parsed)
}

func sizeOf(re *syntax.Regexp) float64 {
	n := 1.0
	for _, sub := range re.Sub {
		n += 1 + sizeOf(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		n += float64(len(re.Rune))
	case syntax.OpCapture, syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		n++
	case syntax.OpRepeat:
		n *= float64(max(re.Max, re.Min+1))
	}
	return n
}

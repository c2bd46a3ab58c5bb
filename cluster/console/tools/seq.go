package tools

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// seq counts: seq [FIRST [STEP]] LAST, in decimal numbers, which are exact here.
func seq(u *Use) int {
	set, args, err := grammar{
		flags: "w", valued: "sf", begins: ".0123456789", first: true,
		long: map[string]byte{"separator": 's', "equal-width": 'w', "format": 'f'},
	}.parse(u)
	if err != nil {
		return usage(u, err)
	}
	bounds := []*big.Rat{big.NewRat(1, 1), big.NewRat(1, 1), nil} // first, step, last
	var at []int
	switch len(args) {
	case 0:
		return usage(u, errors.New("missing operand"))
	case 1:
		at = []int{2}
	case 2:
		at = []int{0, 2}
	case 3:
		at = []int{0, 1, 2}
	default:
		return usage(u, fmt.Errorf("extra operand '%s'", args[3]))
	}
	if set.has("f") {
		return usage(u, errors.New("-f is not possible here: seq knows -w and -s; printf has formats"))
	}
	places := 0
	for i, a := range args {
		n, ok := new(big.Rat).SetString(a)
		if !ok || len(a) > 30 || strings.ContainsAny(a, "/_eEpPxXoObB") {
			return usage(u, fmt.Errorf("invalid floating point argument: '%s'", a))
		}
		bounds[at[i]] = n
		if _, behind, _ := strings.Cut(a, "."); at[i] < 2 {
			places = max(places, len(behind))
		}
	}
	n, step, last := bounds[0], bounds[1], bounds[2]
	if step.Sign() == 0 {
		return usage(u, errors.New("invalid Zero increment value: '"+args[1]+"'"))
	}
	sep, given := set.last('s')
	if !given {
		sep = "\n"
	}
	width := 0
	if set.has("w") {
		width = max(len(n.FloatString(places)), len(last.FloatString(places)))
	}
	any := false
	for ; n.Cmp(last) != step.Sign(); n = new(big.Rat).Add(n, step) {
		text := n.FloatString(places)
		if pad := width - len(text); pad > 0 {
			digits, minus := strings.CutPrefix(text, "-")
			text = strings.Repeat("0", pad) + digits
			if minus {
				text = "-" + text
			}
		}
		if any {
			text = sep + text
		}
		any = true
		fmt.Fprint(u.Out, text)
	}
	if any {
		fmt.Fprintln(u.Out)
	}
	return 0
}

package tools

import (
	"fmt"
	"strconv"
)

func seq(u *Use) int {
	bounds := []int{1, 1, 0} // first, step, last
	args := u.Args[1:]
	var at []int
	switch len(args) {
	case 1:
		at = []int{2}
	case 2:
		at = []int{0, 2}
	case 3:
		at = []int{0, 1, 2}
	default:
		return usage(u, fmt.Errorf("usage: seq [FIRST [STEP]] LAST"))
	}
	for i, a := range args {
		n, err := strconv.Atoi(a)
		if err != nil {
			return usage(u, fmt.Errorf("%q is no whole number", a))
		}
		bounds[at[i]] = n
	}
	if bounds[1] == 0 {
		return usage(u, fmt.Errorf("a step of 0 never ends"))
	}
	for n := bounds[0]; bounds[1] > 0 && n <= bounds[2] || bounds[1] < 0 && n >= bounds[2]; n += bounds[1] {
		if _, err := fmt.Fprintln(u.Out, n); err != nil {
			return 1
		}
	}
	return 0
}

package tools

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

func head(u *Use) int {
	set, n, names, err := count(u, "c")
	if err != nil {
		return usage(u, err)
	}
	if c, given := set['c']; given {
		most, err := strconv.ParseInt(c, 10, 64)
		if err != nil || most < 0 {
			return usage(u, fmt.Errorf("-c %q: want a number of bytes", c))
		}
		r, done, err := input(u, names)
		if err != nil {
			return usage(u, err)
		}
		defer done()
		_, _ = io.CopyN(u.Out, r, most)
		return 0
	}
	if n == 0 {
		return 0
	}
	return each(u, names, func(line string) bool {
		fmt.Fprintln(u.Out, line)
		n--
		return n > 0
	})
}

func tail(u *Use) int {
	if len(u.Args) > 2 && u.Args[1] == "-n" {
		u.Args[2] = strings.TrimPrefix(u.Args[2], "-")
	}
	_, n, names, err := count(u, "")
	if err != nil {
		return usage(u, err)
	}
	var last []string
	exit := each(u, names, func(line string) bool {
		if last = append(last, line); len(last) > n {
			last = last[1:]
		}
		return true
	})
	for _, l := range last {
		fmt.Fprintln(u.Out, l)
	}
	return exit
}

// count reads -n N, 10 without it, and the options in more.
func count(u *Use, more string) (map[byte]string, int, []string, error) {
	set, names, err := options(u, "", "n"+more)
	if err != nil {
		return nil, 0, nil, err
	}
	n := 10
	if v, ok := set['n']; ok {
		if n, err = strconv.Atoi(v); err != nil || n < 0 {
			return nil, 0, nil, fmt.Errorf("-n %q: want a number", v)
		}
	}
	return set, n, names, nil
}

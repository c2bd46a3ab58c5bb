package tools

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// input is the named files one after another, or standard input.
func input(u *Use, names []string) (io.Reader, func(), error) {
	if len(names) == 0 {
		return u.In, func() {}, nil
	}
	var readers []io.Reader
	var open []io.Closer
	done := func() {
		for _, f := range open {
			f.Close()
		}
	}
	for _, n := range names {
		if n == "-" {
			readers = append(readers, u.In)
			continue
		}
		f, err := u.Files.Open(n)
		if err != nil {
			done()
			return nil, nil, fmt.Errorf("%s: no such file", n)
		}
		open = append(open, f)
		readers = append(readers, f)
	}
	return io.MultiReader(readers...), done, nil
}

// each gives every line of the input, without its newline, to fn until that
// says false.
func each(u *Use, names []string, fn func(line string) bool) int {
	r, done, err := input(u, names)
	if err != nil {
		return usage(u, err)
	}
	defer done()
	br := bufio.NewReader(r)
	for {
		line, err := br.ReadString('\n')
		if line != "" && !fn(strings.TrimSuffix(line, "\n")) {
			return 0
		}
		if err != nil {
			return 0
		}
	}
}

package tools

import (
	"fmt"
	"io"
	"strings"
)

func uniq(u *Use) int {
	set, names, err := grammar{flags: "cdui", valued: "fsw", long: map[string]byte{
		"count": 'c', "repeated": 'd', "unique": 'u', "ignore-case": 'i', "skip-fields": 'f', "skip-chars": 's', "check-chars": 'w',
	}}.parse(u)
	if err != nil {
		return usage(u, err)
	}
	var skip [3]int
	for i, letter := range []byte("fsw") {
		otherwise := 0
		if letter == 'w' {
			otherwise = mostLine
		}
		if skip[i], err = set.number(letter, otherwise); err != nil {
			return usage(u, err)
		}
	}
	out := io.Writer(u.Out)
	if len(names) > 2 {
		return usage(u, fmt.Errorf("extra operand '%s'", names[2]))
	}
	if len(names) == 2 && names[1] != "-" {
		f, err := u.Files.Create(names[1], false)
		if err != nil {
			return usage(u, fmt.Errorf("%s: %w", names[1], because(err)))
		}
		defer f.Close()
		out = &output{u: u, w: f, left: MostWritten}
	}
	key := func(line string) string {
		for range min(skip[0], len(line)) {
			line = strings.TrimLeft(line, " \t")
			line = line[len(line)-len(strings.TrimLeftFunc(line, func(r rune) bool { return r != ' ' && r != '\t' })):]
		}
		line = line[chars(line, 0, skip[1]):]
		line = line[:chars(line, 0, skip[2])]
		if set.has("i") {
			line = strings.ToUpper(line)
		}
		return line
	}
	first, last, n := "", "", 0
	flush := func() {
		switch {
		case n == 0 || n == 1 && set.has("d") || n > 1 && set.has("u"):
		case set.has("c"):
			fmt.Fprintf(out, "%7d %s\n", n, first)
		default:
			fmt.Fprintln(out, first)
		}
	}
	exit := u.lines(names[:min(len(names), 1)], func(line string) bool {
		k := key(line)
		if n > 0 && k == last {
			n++
			return true
		}
		flush()
		first, last, n = line, k, 1
		return true
	})
	flush()
	return exit
}

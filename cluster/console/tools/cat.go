package tools

import (
	"fmt"
	"strings"
)

// cat is cat, with -n, -b, -s, -E and -T.
func cat(u *Use) int {
	set, names, err := grammar{flags: "nbsETAuv", long: map[string]byte{
		"number": 'n', "number-nonblank": 'b', "squeeze-blank": 's', "show-ends": 'E', "show-tabs": 'T', "show-all": 'A',
	}}.parse(u)
	if err != nil {
		return usage(u, err)
	}
	number, empty := 0, false
	plain := !set.has("nbsETA")
	part := make([]byte, 1<<16)
	return u.each(names, func(s *source) bool {
		for plain {
			u.mustGoOn()
			n, err := s.r.Read(part)
			_, _ = u.Out.Write(part[:n])
			if err != nil {
				return true
			}
		}
		for {
			line, more := s.line()
			if !more {
				return true
			}
			again := empty && line == ""
			if empty = line == ""; again && set.has("s") {
				continue
			}
			if set.has("b") && line != "" || set.has("n") && !set.has("b") {
				number++
				fmt.Fprintf(u.Out, "%6d\t", number)
			}
			if set.has("TA") {
				line = strings.ReplaceAll(line, "\t", "^I")
			}
			if set.has("EA") && s.ends {
				line += "$"
			}
			if s.ends {
				line += "\n"
			}
			fmt.Fprint(u.Out, line)
		}
	})
}

// numberLines is nl: it numbers the lines that are not empty, or with -b a all.
func numberLines(u *Use) int {
	set, names, err := grammar{valued: "bwsv"}.parse(u)
	if err != nil {
		return usage(u, err)
	}
	width, err := set.number('w', 6)
	if err != nil {
		return usage(u, err)
	}
	n, err := set.number('v', 1)
	if err != nil {
		return usage(u, err)
	}
	width = min(width, 100)
	sep := "\t"
	if v, given := set.last('s'); given {
		sep = v
	}
	which, _ := set.last('b')
	if which != "" && which != "a" && which != "t" && which != "n" {
		return usage(u, fmt.Errorf("invalid body numbering style: '%s'", which))
	}
	return u.lines(names, func(line string) bool {
		if which == "n" || line == "" && which != "a" {
			fmt.Fprintln(u.Out, strings.Repeat(" ", width+len(sep))+line)
			return true
		}
		fmt.Fprintf(u.Out, "%*d%s%s\n", width, n, sep, line)
		n++
		return true
	})
}

// lastFirst is tac.
func lastFirst(u *Use) int {
	_, names, err := grammar{}.parse(u)
	if err != nil {
		return usage(u, err)
	}
	return u.each(names, func(s *source) bool {
		records := strings.SplitAfter(string(s.all()), "\n")
		for i := len(records) - 1; i >= 0; i-- {
			fmt.Fprint(u.Out, records[i])
		}
		return true
	})
}

// reverseLines is rev.
func reverseLines(u *Use) int {
	_, names, err := grammar{}.parse(u)
	if err != nil {
		return usage(u, err)
	}
	return u.lines(names, func(line string) bool {
		r := []rune(line)
		for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
			r[i], r[j] = r[j], r[i]
		}
		fmt.Fprintln(u.Out, string(r))
		return true
	})
}

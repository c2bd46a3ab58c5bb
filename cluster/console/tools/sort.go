package tools

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

func sortLines(u *Use) int {
	set, names, err := options(u, "rnu", "k")
	if err != nil {
		return usage(u, err)
	}
	column := 0
	if v, ok := set['k']; ok {
		if column, err = strconv.Atoi(strings.SplitN(v, ",", 2)[0]); err != nil || column < 1 {
			return usage(u, fmt.Errorf("-k %q: want a column from 1", v))
		}
	}
	var lines []string
	if exit := each(u, names, func(line string) bool { lines = append(lines, line); return true }); exit != 0 {
		return exit
	}
	key := func(line string) string {
		if column == 0 {
			return line
		}
		if f := strings.Fields(line); len(f) >= column {
			return strings.Join(f[column-1:], " ")
		}
		return ""
	}
	less := func(a, b string) bool { return key(a) < key(b) }
	if set['n'] != "" {
		less = func(a, b string) bool { return leading(key(a)) < leading(key(b)) }
	}
	sort.SliceStable(lines, func(i, j int) bool {
		if set['r'] != "" {
			return less(lines[j], lines[i])
		}
		return less(lines[i], lines[j])
	})
	for i, l := range lines {
		if set['u'] == "" || i == 0 || l != lines[i-1] {
			fmt.Fprintln(u.Out, l)
		}
	}
	return 0
}

// leading is the number a text begins with; 0 if there is none.
func leading(s string) float64 {
	end := 0
	for end < len(s) && strings.IndexByte("-+.0123456789", s[end]) >= 0 {
		end++
	}
	f, _ := strconv.ParseFloat(s[:end], 64)
	return f
}

func uniq(u *Use) int {
	set, names, err := options(u, "c", "")
	if err != nil {
		return usage(u, err)
	}
	last, n := "", 0
	flush := func() {
		switch {
		case n == 0:
		case set['c'] != "":
			fmt.Fprintf(u.Out, "%7d %s\n", n, last)
		default:
			fmt.Fprintln(u.Out, last)
		}
	}
	exit := each(u, names, func(line string) bool {
		if n > 0 && line == last {
			n++
			return true
		}
		flush()
		last, n = line, 1
		return true
	})
	flush()
	return exit
}

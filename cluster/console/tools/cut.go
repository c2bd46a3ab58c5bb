package tools

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

func cut(u *Use) int {
	set, names, err := options(u, "", "dfc")
	if err != nil {
		return usage(u, err)
	}
	split, sep, which := strings.Split, "\t", set['f']
	if d := set['d']; d != "" {
		sep = d
	}
	if c, given := set['c']; given {
		split, sep, which = func(line, _ string) []string { return strings.Split(line, "") }, "", c
	}
	var want [][2]int // from and to, 0 for the end
	for _, f := range strings.Split(which, ",") {
		from, to, ranged := strings.Cut(f, "-")
		if !ranged {
			to = from
		}
		var r [2]int
		for i, n := range []string{from, to} {
			if r[i], err = strconv.Atoi(n); n == "" && ranged {
				r[i], err = 1-i, nil
			} else if r[i] < 1 && err == nil {
				err = strconv.ErrRange
			}
			if err != nil {
				return usage(u, fmt.Errorf("usage: cut -d SEPARATOR -f 1,3-5 or cut -c 1-80 (fields and characters count from 1)"))
			}
		}
		want = append(want, r)
	}
	return each(u, names, func(line string) bool {
		parts := split(line, sep)
		var out []string
		for n := range parts {
			for _, r := range want {
				if n+1 >= r[0] && (n+1 <= r[1] || r[1] == 0) {
					out = append(out, parts[n])
					break
				}
			}
		}
		fmt.Fprintln(u.Out, strings.Join(out, sep))
		return true
	})
}

func tr(u *Use) int {
	set, args, err := options(u, "ds", "")
	if err != nil {
		return usage(u, err)
	}
	unescape := strings.NewReplacer(`\n`, "\n", `\t`, "\t")
	for i := range args {
		args[i] = unescape.Replace(args[i])
	}
	b, err := io.ReadAll(u.In)
	if err != nil {
		return usage(u, err)
	}
	text := string(b)
	switch {
	case set['d'] != "" && len(args) == 1:
		text = strings.Map(func(r rune) rune {
			if strings.ContainsRune(args[0], r) {
				return -1
			}
			return r
		}, text)
	case set['s'] != "" && len(args) == 1:
		for _, r := range args[0] {
			two, one := string([]rune{r, r}), string(r)
			for strings.Contains(text, two) {
				text = strings.ReplaceAll(text, two, one)
			}
		}
	case set['d'] == "" && set['s'] == "" && len(args) == 2 && args[1] != "":
		from, to := []rune(args[0]), []rune(args[1])
		text = strings.Map(func(r rune) rune {
			for i, f := range from {
				if f == r {
					return to[min(i, len(to)-1)]
				}
			}
			return r
		}, text)
	default:
		return usage(u, fmt.Errorf(`usage: tr FROM TO, tr -d CHARACTERS, tr -s CHARACTERS`))
	}
	_, _ = io.WriteString(u.Out, text)
	return 0
}

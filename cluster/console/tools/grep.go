package tools

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

func grep(u *Use) int {
	set, args, err := options(u, "ivcEFqwno", "e")
	if err != nil {
		return usage(u, err)
	}
	pattern, given := set['e']
	if !given {
		if len(args) == 0 {
			return usage(u, fmt.Errorf("usage: grep [-ivcEFqwno] PATTERN [FILE]"))
		}
		pattern, args = args[0], args[1:]
	}
	if set['F'] != "" {
		pattern = regexp.QuoteMeta(pattern)
	} else if set['E'] == "" {
		pattern = strings.NewReplacer(`\|`, "|", `\+`, "+", `\?`, "?", `\(`, "(", `\)`, ")", `\{`, "{", `\}`, "}").Replace(pattern)
	}
	if set['w'] != "" {
		pattern = `\b(?:` + pattern + `)\b`
	}
	if set['i'] != "" {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return usage(u, err)
	}
	found, number := 0, 0
	exit := each(u, args, func(line string) bool {
		number++
		if re.MatchString(line) == (set['v'] != "") {
			return true
		}
		found++
		if set['q'] != "" {
			return false
		}
		if set['c'] != "" {
			return true
		}
		prefix := ""
		if set['n'] != "" {
			prefix = strconv.Itoa(number) + ":"
		}
		if set['o'] != "" {
			for _, m := range re.FindAllString(line, -1) {
				fmt.Fprintln(u.Out, prefix+m)
			}
			return true
		}
		fmt.Fprintln(u.Out, prefix+line)
		return true
	})
	if set['c'] != "" && exit == 0 {
		fmt.Fprintln(u.Out, found)
	}
	if exit == 0 && found == 0 {
		return 1
	}
	return exit
}

package tools

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// options reads single-letter options: flags are letters without a value,
// valued those with one. What is left are operands. "-5" is -n 5 where n is
// valued.
func options(u *Use, flags, valued string) (map[byte]string, []string, error) {
	set := map[byte]string{}
	args := u.Args[1:]
	for len(args) > 0 {
		a := args[0]
		if a == "--" {
			return set, args[1:], nil
		}
		if len(a) < 2 || a[0] != '-' {
			break
		}
		args = args[1:]
		if _, err := strconv.Atoi(a[1:]); err == nil && strings.Contains(valued, "n") {
			set['n'] = a[1:]
			continue
		}
		for i := 1; i < len(a); i++ {
			switch {
			case strings.IndexByte(flags, a[i]) >= 0:
				set[a[i]] = "true"
				continue
			case strings.IndexByte(valued, a[i]) >= 0:
				v := a[i+1:]
				if v == "" {
					if len(args) == 0 {
						return nil, nil, fmt.Errorf("option -%c needs a value", a[i])
					}
					v, args = args[0], args[1:]
				}
				set[a[i]] = v
			default:
				return nil, nil, fmt.Errorf("unknown option -%c (this is a small %s: it knows %s)", a[i], u.Args[0], known(flags+valued))
			}
			break
		}
	}
	return set, args, nil
}

func known(letters string) string {
	if letters == "" {
		return "no options"
	}
	return "-" + strings.Join(strings.Split(letters, ""), ", -")
}

func usage(u *Use, err error) int {
	fmt.Fprintf(u.Err, "%s: %v\n", u.Args[0], err)
	return 2
}

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

func cat(u *Use) int {
	_, names, err := options(u, "", "")
	if err != nil {
		return usage(u, err)
	}
	r, done, err := input(u, names)
	if err != nil {
		return usage(u, err)
	}
	defer done()
	_, _ = io.Copy(u.Out, r)
	return 0
}

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

func wc(u *Use) int {
	set, names, err := options(u, "lwc", "")
	if err != nil {
		return usage(u, err)
	}
	r, done, err := input(u, names)
	if err != nil {
		return usage(u, err)
	}
	defer done()
	b, err := io.ReadAll(r)
	if err != nil {
		return usage(u, err)
	}
	text := string(b)
	counts := []struct {
		letter byte
		n      int
	}{{'l', strings.Count(text, "\n")}, {'w', len(strings.Fields(text))}, {'c', len(text)}}
	var out []string
	for _, c := range counts {
		if len(set) == 0 || set[c.letter] != "" {
			out = append(out, strconv.Itoa(c.n))
		}
	}
	fmt.Fprintln(u.Out, strings.Join(out, " "))
	return 0
}

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

// list is ls: what a folder holds, a name a line, those of folders with a / behind. The
// manifests that the console knows are a folder too.
func list(u *Use) int {
	_, dirs, err := options(u, "1ap", "")
	if err != nil {
		return usage(u, err)
	}
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	exit := 0
	for _, d := range dirs {
		names, err := u.Files.List(d)
		if err != nil {
			fmt.Fprintf(u.Err, "ls: %s: no such file or folder\n", d)
			exit = 2
			continue
		}
		if len(dirs) > 1 {
			fmt.Fprintf(u.Out, "%s:\n", d)
		}
		for _, n := range names {
			fmt.Fprintln(u.Out, n)
		}
	}
	return exit
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

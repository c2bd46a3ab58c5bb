package tools

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// sortKey is what of a line lines are sorted by.
type sortKey struct {
	from, to   int // fields, from 1; 0: to the end of the line
	char, last int // characters of these, from 1; 0: to the field's end
	set        options
	own        bool // it has letters of its own, so that those of the command do not count
}

const keyLetters = "bdfghnrVM"

// keyOf reads 2, 2,2, 2.3,4n …
func keyOf(text string) (k sortKey, err error) {
	k = sortKey{char: 1, set: options{}}
	from, to, two := strings.Cut(text, ",")
	place := func(t string) (field, char int, err error) {
		digits := strings.TrimRight(t, keyLetters)
		for _, l := range []byte(t[len(digits):]) {
			k.set[l], k.own = []string{""}, true
		}
		f, c, dotted := strings.Cut(digits, ".")
		if field, err = strconv.Atoi(f); err == nil && dotted {
			char, err = strconv.Atoi(c)
		}
		return field, char, err
	}
	var char int
	if k.from, char, err = place(from); err == nil && char > 0 {
		k.char = char
	}
	if err == nil && two {
		k.to, k.last, err = place(to)
	}
	switch {
	case err != nil || k.from < 0 || k.to < 0 || char < 0 || k.last < 0:
		return k, fmt.Errorf("invalid number at field start: invalid count at start of '%s'", text)
	case k.from == 0:
		return k, fmt.Errorf("field number is zero: invalid field specification '%s'", text)
	}
	return k, nil
}

// of is the key of a line. Without a separator a field begins with the blanks before it.
func (k sortKey) of(line, sep string) string {
	begin := fieldStart(line, sep, k.from)
	if k.set.has("b") {
		begin += len(line[begin:]) - len(strings.TrimLeft(line[begin:], " \t"))
	}
	begin = chars(line, begin, k.char-1)
	end := len(line)
	switch {
	case k.to > 0 && k.last > 0:
		end = fieldStart(line, sep, k.to)
		if k.set.has("b") {
			end += len(line[end:]) - len(strings.TrimLeft(line[end:], " \t"))
		}
		end = chars(line, end, k.last)
	case k.to > 0:
		end = fieldStart(line, sep, k.to+1)
		if sep != "" && end > 0 && end < len(line) || sep != "" && strings.HasSuffix(line[:end], sep) && end > fieldStart(line, sep, k.to) {
			end -= len(sep)
		}
	}
	return line[min(begin, end):end]
}

// chars is so many characters further on in a line.
func chars(line string, at, n int) int {
	for i := range line[at:] {
		if n == 0 {
			return at + i
		}
		n--
	}
	return len(line)
}

// fieldStart is where the nth field of a line begins, or the line's end.
func fieldStart(line, sep string, n int) int {
	at := 0
	for ; n > 1; n-- {
		if sep != "" {
			i := strings.Index(line[at:], sep)
			if i < 0 {
				return len(line)
			}
			at += i + len(sep)
			continue
		}
		rest := strings.TrimLeft(line[at:], " \t")
		i := strings.IndexAny(rest, " \t")
		if i < 0 {
			return len(line)
		}
		at = len(line) - len(rest) + i
	}
	return at
}

var sortOptions = grammar{
	flags: "bdfghnrVMusczmC", valued: "ktoS", long: map[string]byte{
		"reverse": 'r', "numeric-sort": 'n', "unique": 'u', "key": 'k', "field-separator": 't', "ignore-case": 'f', "ignore-leading-blanks": 'b',
		"human-numeric-sort": 'h', "version-sort": 'V', "general-numeric-sort": 'g', "month-sort": 'M', "dictionary-order": 'd', "stable": 's', "check": 'c',
		"output": 'o', "merge": 'm',
	},
}

// sortedLine is a line and its keys.
type sortedLine struct {
	line string
	keys []string
}

func sortLines(u *Use) int {
	set, names, err := sortOptions.parse(u)
	if err != nil {
		return usage(u, err)
	}
	sep, _ := set.last('t')
	switch {
	case sep == `\t`:
		sep = "\t"
	case set.has("t") && len([]rune(sep)) != 1:
		return usage(u, fmt.Errorf("multi-character tab '%s'", sep))
	case set.has("z"):
		return usage(u, errors.New("-z is not possible here: lines end with a newline"))
	}
	var keys []sortKey
	for _, text := range set['k'] {
		k, err := keyOf(text)
		if err != nil {
			return usage(u, err)
		}
		if !k.own {
			k.set = set
		}
		keys = append(keys, k)
	}
	if len(keys) > 100 {
		return usage(u, errors.New("more than 100 keys"))
	}
	if len(keys) == 0 {
		keys = []sortKey{{from: 1, char: 1, set: set}}
	}
	held, exit := u.held(names)
	lines := make([]sortedLine, len(held))
	for i, l := range held {
		lines[i] = sortedLine{line: l}
		for _, k := range keys {
			lines[i].keys = append(lines[i].keys, k.of(l, sep))
		}
	}
	tries := 0
	byKeys := func(a, b sortedLine) int {
		if tries++; tries%4096 == 0 {
			u.mustGoOn()
		}
		for i, k := range keys {
			c := k.compare(a.keys[i], b.keys[i])
			if k.set.has("r") {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return 0
	}
	order := func(a, b sortedLine) int {
		c := byKeys(a, b)
		if c != 0 || set.has("s") || set.has("u") {
			return c
		}
		if c = strings.Compare(a.line, b.line); set.has("r") {
			c = -c
		}
		return c
	}
	if set.has("cC") {
		return outOfOrder(u, lines, set, names, order, byKeys)
	}
	slices.SortStableFunc(lines, order)
	if set.has("u") {
		lines = slices.CompactFunc(lines, func(a, b sortedLine) bool { return byKeys(a, b) == 0 })
	}
	out := u.Out
	if name, given := set.last('o'); given {
		f, err := u.Files.Create(name, false)
		if err != nil {
			return usage(u, fmt.Errorf("open failed: %s: %w", name, because(err)))
		}
		defer f.Close()
		out = &output{u: u, w: f, left: MostWritten}
	}
	for _, l := range lines {
		fmt.Fprintln(out, l.line)
	}
	return exit
}

// outOfOrder is sort -c.
func outOfOrder(u *Use, lines []sortedLine, set options, names []string, order, byKeys func(a, b sortedLine) int) int {
	for i := 1; i < len(lines); i++ {
		if order(lines[i-1], lines[i]) > 0 || set.has("u") && byKeys(lines[i-1], lines[i]) == 0 {
			name := "-"
			if len(names) > 0 {
				name = names[0]
			}
			if set.has("c") {
				u.complain(fmt.Errorf("%s:%d: disorder: %s", name, i+1, lines[i].line))
			}
			return 1
		}
	}
	return 0
}

// compare compares two keys in the way that the letters say.
func (k sortKey) compare(a, b string) int {
	if k.set.has("d") {
		a, b = dictionary(a), dictionary(b)
	}
	switch {
	case k.set.has("n"):
		return cmp.Compare(leading(a, false), leading(b, false))
	case k.set.has("h"):
		return cmp.Or(cmp.Compare(magnitude(a), magnitude(b)), cmp.Compare(leading(a, false), leading(b, false)))
	case k.set.has("g"):
		return cmp.Compare(leading(a, true), leading(b, true))
	case k.set.has("M"):
		return cmp.Compare(month(a), month(b))
	case k.set.has("V"):
		return versions(a, b)
	case k.set.has("f"):
		return strings.Compare(strings.ToUpper(a), strings.ToUpper(b))
	}
	return strings.Compare(a, b)
}

// dictionary is what -d leaves of a text: blanks, letters and digits.
func dictionary(s string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '\t' || classes["alnum"](r) {
			return r
		}
		return -1
	}, s)
}

// numeric is the number that a text begins with, and what is behind it.
func numeric(s string, exponent bool) (number, rest string) {
	s = strings.TrimLeft(s, " \t")
	end := 0
	if end < len(s) && (s[end] == '-' || exponent && s[end] == '+') {
		end++
	}
	for dot := false; end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == '.' && !dot); end++ {
		dot = dot || s[end] == '.'
	}
	if exponent && end < len(s) && (s[end] == 'e' || s[end] == 'E') {
		e := end + 1
		if e < len(s) && (s[e] == '-' || s[e] == '+') {
			e++
		}
		for digits := e; e < len(s) && s[e] >= '0' && s[e] <= '9'; e++ {
			if e >= digits {
				end = e + 1
			}
		}
	}
	return s[:end], s[end:]
}

// leading is the number a text begins with; 0 if there is none, with -g less than any.
func leading(s string, exponent bool) float64 {
	digits, _ := numeric(s, exponent)
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil && exponent && !errors.Is(err, strconv.ErrRange) {
		return math.Inf(-1)
	}
	return f
}

// magnitude is how large the unit of a text like 2K or 1.5Gi is, with the number's sign.
func magnitude(s string) int {
	digits, rest := numeric(s, false)
	if rest == "" {
		return 0
	}
	at := 1 + strings.IndexByte("KMGTPEZY", rest[0])
	if rest[0] == 'k' {
		at = 1
	}
	if strings.HasPrefix(digits, "-") {
		return -at
	}
	return at
}

func month(s string) int {
	s = strings.ToUpper(strings.TrimLeft(s, " \t"))
	if len(s) < 3 {
		return 0
	}
	at := strings.Index("JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC", s[:3])
	if at < 0 || at%3 != 0 {
		return 0
	}
	return at/3 + 1
}

// versions compares texts with the numbers in them as numbers: 1.9 before 1.10.
func versions(a, b string) int {
	for a != "" && b != "" {
		nondigit := func(s string) (string, string) {
			at := strings.IndexAny(s, "0123456789")
			if at < 0 {
				at = len(s)
			}
			return s[:at], s[at:]
		}
		digit := func(s string) (string, string) {
			rest := strings.TrimLeft(s, "0123456789")
			return strings.TrimLeft(s[:len(s)-len(rest)], "0"), rest
		}
		var x, y string
		x, a = nondigit(a)
		y, b = nondigit(b)
		if c := strings.Compare(x, y); c != 0 {
			return c
		}
		x, a = digit(a)
		y, b = digit(b)
		if c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

package tools

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// selection is the fields, bytes or characters that cut shows.
type selection [][2]int

func (s selection) has(n int) bool {
	for _, r := range s {
		if n >= r[0] && n <= r[1] {
			return true
		}
	}
	return false
}

// selectionOf reads 1,3-5,7-; what is how errors call its numbers.
func selectionOf(text, what string) (s selection, err error) {
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		from, to, ranged := strings.Cut(part, "-")
		if !ranged {
			to = from
		}
		r := [2]int{1, math.MaxInt}
		for i, n := range []string{from, to} {
			if n == "" && ranged && part != "-" {
				continue
			}
			if r[i], err = strconv.Atoi(n); err != nil {
				return nil, fmt.Errorf("invalid %s value '%s'", what, n)
			}
			if r[i] < 1 {
				return nil, fmt.Errorf("%ss are numbered from 1", what)
			}
		}
		if r[0] > r[1] {
			return nil, errors.New("invalid decreasing range")
		}
		if len(s) == 1000 {
			return nil, errors.New("more than 1000 ranges")
		}
		s = append(s, r)
	}
	if len(s) == 0 {
		return nil, fmt.Errorf("%ss are numbered from 1", what)
	}
	return s, nil
}

func cut(u *Use) int {
	set, names, err := grammar{flags: "sn", valued: "dfcb\x01", long: map[string]byte{
		"delimiter": 'd', "fields": 'f', "characters": 'c', "bytes": 'b', "only-delimited": 's', "output-delimiter": 1, "complement": 2,
	}}.parse(u)
	if err != nil {
		return usage(u, err)
	}
	which, what := "", ""
	kinds := 0
	for _, k := range []struct {
		letter byte
		what   string
	}{{'f', "field"}, {'c', "byte/character position"}, {'b', "byte/character position"}} {
		if v, given := set.last(k.letter); given {
			which, what = v, k.what
			kinds++
		}
	}
	sep, own := set.last('d')
	switch {
	case kinds == 0:
		return usage(u, errors.New("you must specify a list of bytes, characters, or fields"))
	case kinds > 1:
		return usage(u, errors.New("only one list may be specified"))
	case own && what != "field":
		return usage(u, errors.New("an input delimiter may be specified only when operating on fields"))
	case own && utf8.RuneCountInString(sep) > 1:
		return usage(u, errors.New("the delimiter must be a single character"))
	case !own:
		sep = "\t"
	case sep == "":
		sep = "\x00"
	}
	wanted, err := selectionOf(which, what)
	if err != nil {
		return usage(u, err)
	}
	between := sep
	if what != "field" {
		between = ""
	}
	if v, given := set.last(1); given {
		between = v
	}
	return u.lines(names, func(line string) bool {
		parts := strings.Split(line, sep)
		switch {
		case set.has("b"):
			parts = make([]string, len(line))
			for i := range parts {
				parts[i] = line[i : i+1]
			}
		case what != "field":
			parts = strings.Split(line, "")
		case len(parts) == 1:
			if !set.has("s") {
				fmt.Fprintln(u.Out, line)
			}
			return true
		}
		var out strings.Builder
		last := 0 // the number of the part before
		for n, part := range parts {
			if wanted.has(n+1) == set.has("\x02") {
				continue
			}
			if last > 0 && (what == "field" || n > last) { // a range's characters stay together
				out.WriteString(between)
			}
			out.WriteString(part)
			last = n + 1
		}
		fmt.Fprintln(u.Out, out.String())
		return true
	})
}

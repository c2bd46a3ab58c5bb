package tools

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

var endsOptions = grammar{flags: "qvfF", valued: "nc", digits: 'n', long: map[string]byte{
	"lines": 'n', "bytes": 'c', "quiet": 'q', "silent": 'q', "verbose": 'v', "follow": 'f',
}}

// amount is how much head or tail shows.
type amount struct {
	n     int
	sign  byte // as it was given, 0 for none
	bytes bool
}

// amountOf reads -n and -c, ten lines without either.
func amountOf(set options) (a amount, err error) {
	v, given := set.last('c')
	what := "bytes"
	if a.bytes = given; !given {
		what = "lines"
		if v, given = set.last('n'); !given {
			return amount{n: 10}, nil
		}
	}
	digits := v
	if digits != "" && (digits[0] == '-' || digits[0] == '+') {
		a.sign, digits = digits[0], digits[1:]
	}
	if a.n, err = count(digits); err != nil {
		return a, fmt.Errorf("invalid number of %s: '%s'", what, v)
	}
	return a, nil
}

// count reads 10, 1k, 2M, …
func count(text string) (int, error) {
	digits := strings.TrimRight(text, "bkKMG")
	unit, known := map[string]int{"": 1, "b": 512, "k": 1 << 10, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[text[len(digits):]]
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || !known {
		return 0, errors.New("no number")
	}
	return int(n) * unit, nil
}

// titled has each source announced where there are several.
func titled(u *Use, set options, names []string, do func(*source)) int {
	title := (len(names) > 1 || set.has("v")) && !set.has("q")
	first := true
	return u.each(names, func(s *source) bool {
		if title {
			if !first {
				fmt.Fprintln(u.Out)
			}
			fmt.Fprintf(u.Out, "==> %s <==\n", s.said("standard input"))
		}
		first = false
		do(s)
		return true
	})
}

func head(u *Use) int {
	set, names, err := endsOptions.parse(u)
	if err != nil {
		return usage(u, err)
	}
	a, err := amountOf(set)
	if err != nil {
		return usage(u, err)
	}
	return titled(u, set, names, func(s *source) {
		switch {
		case a.bytes && a.sign == '-':
			b := s.all()
			_, _ = u.Out.Write(b[:max(0, len(b)-a.n)])
		case a.bytes:
			_, _ = io.CopyN(u.Out, s.r, int64(a.n))
		default:
			s.head(a)
		}
	})
}

// head shows the first lines, or all but the last.
func (s *source) head(a amount) {
	var waiting []string
	for n := 0; a.sign == '-' || n < a.n; n++ {
		line, more := s.line()
		if !more {
			return
		}
		if s.ends {
			line += "\n"
		}
		if a.sign != '-' {
			fmt.Fprint(s.u.Out, line)
			continue
		}
		if waiting = append(waiting, line); len(waiting) > a.n {
			fmt.Fprint(s.u.Out, waiting[0])
			waiting = waiting[1:]
		}
	}
}

func tail(u *Use) int {
	set, names, err := endsOptions.parse(u)
	if err != nil {
		return usage(u, err)
	}
	if set.has("fF") {
		return usage(u, errors.New("-f is not possible here: nothing appends to these files; kubectl logs -f follows a container"))
	}
	a, err := amountOf(set)
	if err != nil {
		return usage(u, err)
	}
	return titled(u, set, names, func(s *source) {
		switch {
		case a.bytes && a.sign == '+':
			b := s.all()
			_, _ = u.Out.Write(b[min(len(b), max(0, a.n-1)):])
		case a.bytes:
			b := s.all()
			_, _ = u.Out.Write(b[max(0, len(b)-a.n):])
		default:
			s.tail(a)
		}
	})
}

// tail shows the last lines, or those from a line on.
func (s *source) tail(a amount) {
	var last []string
	held := 0
	for number := 1; ; number++ {
		line, more := s.line()
		if !more {
			break
		}
		if s.ends {
			line += "\n"
		}
		if a.sign == '+' {
			if number >= a.n {
				fmt.Fprint(s.u.Out, line)
			}
			continue
		}
		if held += len(line) + 16; held > MostHeld {
			panic(ending{1, errHeld})
		}
		if last = append(last, line); len(last) > a.n {
			held -= len(last[0]) + 16
			last = last[1:]
		}
	}
	for _, line := range last {
		fmt.Fprint(s.u.Out, line)
	}
}

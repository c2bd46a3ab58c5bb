package tools

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// classes are the characters of a name between [: and :], ASCII's.
var classes = map[string]func(r rune) bool{
	"alpha": func(r rune) bool { return unicode.IsLetter(r) }, "digit": func(r rune) bool { return r >= '0' && r <= '9' },
	"alnum": func(r rune) bool { return unicode.IsLetter(r) || r >= '0' && r <= '9' }, "upper": unicode.IsUpper, "lower": unicode.IsLower,
	"space": unicode.IsSpace, "blank": func(r rune) bool { return r == ' ' || r == '\t' }, "punct": func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) },
	"cntrl": unicode.IsControl, "print": unicode.IsPrint, "graph": unicode.IsGraphic,
	"xdigit": func(r rune) bool { return strings.ContainsRune("0123456789abcdefABCDEF", r) },
}

// charset reads a set of tr: characters, ranges, classes and escapes. length is that of the first
// set, to which [x*] fills up.
func charset(text string, length int) (set []rune, err error) {
	r := []rune(text)
	for i := 0; i < len(r); {
		rest := string(r[i:])
		if strings.HasPrefix(rest, "[:") {
			if end := strings.Index(rest, ":]"); end > 0 {
				name := rest[2:end]
				in, known := classes[name]
				if !known {
					return nil, fmt.Errorf("invalid character class '%s'", name)
				}
				for c := range rune(128) {
					if in(c) {
						set = append(set, c)
					}
				}
				i += utf8.RuneCountInString(rest[:end+2])
				continue
			}
		}
		if r[i] == '[' && i+2 < len(r) && r[i+2] == '*' {
			if end := strings.IndexRune(rest, ']'); end > 0 {
				digits := string([]rune(rest[:end])[3:])
				n, err := strconv.ParseUint("0"+digits, 10, 16)
				if err != nil {
					return nil, fmt.Errorf("invalid repeat count '%s' in [c*n] construct", digits)
				}
				if n == 0 {
					n = uint64(max(0, length-len(set)))
				}
				for range n {
					set = append(set, r[i+1])
				}
				i += utf8.RuneCountInString(rest[:end+1])
				continue
			}
		}
		c, n := unescaped(r[i:])
		if i += n; i+1 < len(r) && r[i] == '-' {
			to, n := unescaped(r[i+1:])
			if to < c {
				return nil, fmt.Errorf("range-endpoints of '%c-%c' are in reverse collating sequence order", c, to)
			}
			for ; c < to; c++ {
				set = append(set, c)
			}
			i += 1 + n
		}
		set = append(set, c)
	}
	return set, nil
}

// unescaped is the first character of a set, and how many it was written with.
func unescaped(r []rune) (c rune, n int) {
	if r[0] != '\\' || len(r) == 1 {
		return r[0], 1
	}
	if at := strings.IndexRune("abfnrtv", r[1]); at >= 0 {
		return rune("\a\b\f\n\r\t\v"[at]), 2
	}
	for n = 1; n < len(r) && n < 4 && r[n] >= '0' && r[n] <= '7'; n++ {
		c = c*8 + r[n] - '0'
	}
	if n > 1 {
		return c, n
	}
	return r[1], 2
}

func tr(u *Use) int {
	set, args, err := grammar{flags: "dscCt", first: true, long: map[string]byte{
		"delete": 'd', "squeeze-repeats": 's', "complement": 'c', "truncate-set1": 't',
	}}.parse(u)
	if err != nil {
		return usage(u, err)
	}
	deletes, squeezes := set.has("d"), set.has("s")
	switch {
	case len(args) == 0:
		return usage(u, errors.New("missing operand"))
	case len(args) == 1 && (!deletes && !squeezes || deletes && squeezes):
		if deletes {
			return usage(u, fmt.Errorf("missing operand after '%s'\nTwo strings must be given when both deleting and squeezing repeats.", args[0]))
		}
		return usage(u, fmt.Errorf("missing operand after '%s'\nTwo strings must be given when translating.", args[0]))
	case len(args) > 2:
		return usage(u, fmt.Errorf("extra operand '%s'", args[2]))
	case len(args) == 2 && deletes && !squeezes:
		return usage(u, fmt.Errorf("extra operand '%s'\nOnly one string may be given when deleting without squeezing repeats.", args[1]))
	}
	from, err := charset(args[0], 0)
	if err != nil {
		return usage(u, err)
	}
	var to []rune
	if len(args) == 2 {
		if to, err = charset(args[1], len(from)); err != nil {
			return usage(u, err)
		}
		if len(to) == 0 && !deletes {
			return usage(u, errors.New("when not truncating set1, string2 must be non-empty"))
		}
	}
	if set.has("t") {
		from = from[:min(len(from), len(to))]
	}
	others := set.has("cC")
	at := make(map[rune]int, len(from))
	for i, c := range from {
		if _, twice := at[c]; !twice || !deletes {
			at[c] = i
		}
	}
	squeezed := map[rune]bool{} // of the last set
	for _, c := range to {
		squeezed[c] = true
	}
	last := rune(-1)
	one := func(r rune) (rune, bool) {
		i, in := at[r]
		in = in != others
		switch {
		case in && deletes:
			return 0, false
		case in && len(to) > 0 && !deletes:
			if others {
				i = len(to)
			}
			r = to[min(i, len(to)-1)]
		}
		if squeezes {
			of := in
			if len(to) > 0 {
				of = squeezed[r]
			}
			if of && r == last {
				return 0, false
			}
		}
		last = r
		return r, true
	}
	return u.each(nil, func(s *source) bool {
		var out []byte
		for {
			r, size, err := s.r.ReadRune()
			if err == nil {
				if r == utf8.RuneError && size == 1 { // no character: a byte
					_ = s.r.UnreadRune()
					b, _ := s.r.ReadByte()
					out, last = append(out, b), -1
				} else if r, stays := one(r); stays {
					out = utf8.AppendRune(out, r)
				}
			}
			if len(out) > 1<<15 || err != nil || s.r.Buffered() == 0 {
				_, _ = u.Out.Write(out)
				out = out[:0]
			}
			if err == io.EOF {
				return true
			}
		}
	})
}

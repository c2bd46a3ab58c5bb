package tools

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// options are those that a tool was given, by their letters, each with its values; a
// flag's are empty.
type options map[byte][]string

func (o options) has(letters string) bool {
	return slices.ContainsFunc([]byte(letters), func(l byte) bool { return len(o[l]) > 0 })
}

// last is the value that counts of an option that was given several times.
func (o options) last(letter byte) (string, bool) {
	v := o[letter]
	if len(v) == 0 {
		return "", false
	}
	return v[len(v)-1], true
}

// number is the value of an option, or otherwise a default.
func (o options) number(letter byte, otherwise int) (int, error) {
	v, given := o.last(letter)
	if !given {
		return otherwise, nil
	}
	n, err := count(v)
	if err != nil {
		return 0, fmt.Errorf("-%c %q: want a number from 0 on", letter, v)
	}
	return n, nil
}

// grammar is the options that a tool knows.
type grammar struct {
	flags  string          // letters without a value
	valued string          // letters with one
	long   map[string]byte // what --NAME means; options without a letter have a control character
	digits byte            // what "-5" is short for; 0: nothing
	first  bool            // operands end the options
	begins string          // operands that begin with "-" and one of these are operands
}

// parse reads options, which may stand between operands, as GNU's programs do.
func (g grammar) parse(u *Use) (options, []string, error) {
	set := options{}
	var operands []string
	args := u.Args[1:]
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		switch {
		case a == "--":
			return set, append(operands, args...), nil
		case len(a) < 2 || a[0] != '-' || strings.IndexByte(g.begins, a[1]) >= 0:
			if operands = append(operands, a); g.first {
				return set, append(operands, args...), nil
			}
			continue
		case strings.HasPrefix(a, "--"):
			name, value, with := strings.Cut(a[2:], "=")
			letter, known := g.long[name]
			switch {
			case !known:
				return nil, nil, fmt.Errorf("unrecognized option '--%s' (this %s knows %s)", name, u.Args[0], g.known())
			case strings.IndexByte(g.valued, letter) < 0:
				set[letter] = append(set[letter], "")
				continue
			case !with && len(args) == 0:
				return nil, nil, fmt.Errorf("option '--%s' requires an argument", name)
			case !with:
				value, args = args[0], args[1:]
			}
			set[letter] = append(set[letter], value)
			continue
		case g.digits != 0 && strings.Trim(a[1:], "0123456789") == "":
			set[g.digits] = append(set[g.digits], a[1:])
			continue
		}
		for i := 1; i < len(a); i++ {
			l := a[i]
			switch {
			case strings.IndexByte(g.flags, l) >= 0:
				set[l] = append(set[l], "")
				continue
			case strings.IndexByte(g.valued, l) < 0:
				return nil, nil, fmt.Errorf("invalid option -- '%c' (this %s knows %s)", l, u.Args[0], g.known())
			}
			v := a[i+1:]
			if v == "" {
				if len(args) == 0 {
					return nil, nil, fmt.Errorf("option requires an argument -- '%c'", l)
				}
				v, args = args[0], args[1:]
			}
			set[l] = append(set[l], v)
			break
		}
	}
	return set, operands, nil
}

func (g grammar) known() string {
	var names []string
	for _, l := range []byte(g.flags + g.valued) {
		if l < ' ' {
			continue
		}
		names = append(names, "-"+string(l))
	}
	for _, name := range slices.Sorted(maps.Keys(g.long)) {
		if l := g.long[name]; l < ' ' || strings.IndexByte(g.flags+g.valued, l) < 0 {
			names = append(names, "--"+name)
		}
	}
	if len(names) == 0 {
		return "no options"
	}
	return strings.Join(names, ", ")
}

package tools

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"kviz/cluster/bound"
)

// dialect is in which language a pattern is written.
type dialect int

const (
	basic dialect = iota // POSIX' basic regular expressions, with GNU's \+ \? \|
	extended
	perl // as RE2 reads it
	fixed
)

const (
	mostInstructions = 100_000 // of a pattern's program
	mostMatching     = 1 << 30 // instructions times bytes of one text
)

// pattern is a regular expression whose cost is known: matching takes at most its instructions times
// the length of the text, and cannot be interrupted meanwhile.
type pattern struct {
	*regexp.Regexp
	instructions int
}

var errBackReference = errors.New(`back-references in a pattern (\1) are not possible here: patterns are RE2's, whose time is bounded`)

// compile translates a pattern to RE2's language. Of several matches at one place the longest
// counts, as POSIX wants it, except in perl's.
func compile(text string, in dialect, fold bool) (*pattern, error) {
	re := text
	switch in {
	case fixed:
		re = regexp.QuoteMeta(text)
	case basic, extended:
		var err error
		if re, err = translate(text, in == extended); err != nil {
			return nil, err
		}
	}
	if fold {
		re = "(?i:" + re + ")"
	}
	n := bound.Instructions(re)
	if n > mostInstructions {
		return nil, fmt.Errorf("the pattern is too large: some %.0f instructions, at most %d are allowed", n, mostInstructions)
	}
	compiled, err := regexp.Compile(re)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	if in != perl {
		compiled.Longest()
	}
	return &pattern{compiled, int(n)}, nil
}

// fits ends the tool where matching would take too long.
func (p *pattern) fits(u *Use, size int) {
	if size > mostMatching/max(p.instructions, 1) {
		panic(ending{u.trouble(), fmt.Errorf("a line of %d bytes is too long for a pattern of %d instructions", size, p.instructions)})
	}
}

// translate rewrites a basic or an extended regular expression of POSIX, with GNU's additions, in
// RE2's language.
func translate(text string, extended bool) (string, error) {
	var out strings.Builder
	first := true // an * is itself at the beginning of a part, and ^ an anchor
	depth := 0
	for i := 0; i < len(text); {
		c := text[i]
		special, width := c, 1 // what c means, if it is special
		switch {
		case c == '\\' && i+1 == len(text):
			return "", errors.New("Trailing backslash")
		case c == '\\':
			c, width = text[i+1], 2
			switch {
			case strings.IndexByte("(){}|+?", c) >= 0:
				if special = c; extended {
					special = 0
				}
			case c >= '1' && c <= '9':
				return "", errBackReference
			default:
				escape(&out, c)
				i, first = i+2, false
				continue
			}
		case strings.IndexByte("(){}|+?", c) >= 0 && !extended:
			special = 0
		}
		i += width
		begins := first
		first = false
		switch special {
		case '(':
			out.WriteByte('(')
			depth++
			first = true
		case ')':
			if depth--; depth < 0 {
				if !extended {
					return "", errors.New(`Unmatched ) or \)`)
				}
				depth = 0
				out.WriteString(`\)`)
				continue
			}
			out.WriteByte(')')
		case '|':
			out.WriteByte('|')
			first = true
		case '*', '+', '?':
			if begins {
				if special == '*' || !extended {
					out.WriteString(regexp.QuoteMeta(string(c)))
				}
				continue
			}
			repeat(&out, string(special))
		case '{':
			end := strings.IndexByte(text[i:], '}')
			if begins || end < 0 || !interval(text[i:i+end], extended) {
				if !extended && !begins {
					return "", errors.New(`Unmatched \{ or invalid content of \{\}`)
				}
				out.WriteString(`\{`)
				continue
			}
			within := strings.TrimSuffix(text[i:i+end], `\`)
			if i += end + 1; strings.HasPrefix(within, ",") {
				within = "0" + within
			}
			repeat(&out, "{"+within+"}")
		case '^':
			if begins || extended {
				out.WriteByte('^')
				first = true
				continue
			}
			out.WriteString(`\^`)
		case '$':
			rest := text[i:]
			if extended || rest == "" || strings.HasPrefix(rest, `\)`) || strings.HasPrefix(rest, `\|`) {
				out.WriteByte('$')
				continue
			}
			out.WriteString(`\$`)
		case '.':
			out.WriteByte('.')
		case '[':
			set, n, err := bracket(text[i:])
			if err != nil {
				return "", err
			}
			out.WriteString(set)
			i += n
		default:
			out.WriteString(quoted(c))
		}
	}
	if depth > 0 {
		return "", errors.New(`Unmatched ( or \(`)
	}
	return out.String(), nil
}

// quoted is a byte as itself; those of longer characters are left as they are.
func quoted(c byte) string {
	if c >= 0x80 {
		return string([]byte{c})
	}
	return regexp.QuoteMeta(string(c))
}

// repeat repeats what stands before. RE2 refuses a** and has a meaning for a*?.
func repeat(out *strings.Builder, how string) {
	before := out.String()
	if before != "" && strings.IndexByte("*+?}", before[len(before)-1]) >= 0 && !strings.HasSuffix(before, `\`+before[len(before)-1:]) {
		at := lastPart(before)
		out.Reset()
		out.WriteString(before[:at] + "(?:" + before[at:] + ")")
	}
	out.WriteString(how)
}

// lastPart is where the part of an expression begins that its last character repeats.
func lastPart(re string) int {
	at := len(re) - 1
	if re[at] == '}' {
		at = strings.LastIndexByte(re, '{')
	}
	switch at--; {
	case at < 0:
		return 0
	case at > 0 && re[at-1] == '\\' && (at < 2 || re[at-2] != '\\'):
		return at - 1
	case re[at] == ')' || re[at] == ']':
		pair := map[byte]byte{')': '(', ']': '['}[re[at]]
		for depth := 0; at >= 0; at-- {
			escaped := at > 0 && re[at-1] == '\\'
			switch {
			case escaped:
			case re[at] == pair && pair == '[':
				return at
			case re[at] == ')' && pair == '(':
				depth++
			case re[at] == pair:
				if depth--; depth == 0 {
					return at
				}
			}
		}
		return 0
	}
	for at > 0 && re[at]&0xc0 == 0x80 { // a character of several bytes
		at--
	}
	return at
}

// interval reports whether text is what may stand between braces.
func interval(text string, extended bool) bool {
	if !extended {
		var closed bool
		if text, closed = strings.CutSuffix(text, `\`); !closed {
			return false
		}
	}
	from, to, _ := strings.Cut(text, ",")
	return text != "" && strings.Trim(from+to, "0123456789") == "" && (from+to != "" || text == ",")
}

// escape writes what a backslash before a letter means.
func escape(out *strings.Builder, c byte) {
	switch c {
	case '<', '>', 'b':
		out.WriteString(`\b`)
	case 'B', 'w', 'W', 's', 'S':
		out.WriteString(`\` + string(c))
	case 'n', 't', 'r', 'f', 'v', 'a':
		out.WriteString(`\` + string(c))
	case '`':
		out.WriteString(`\A`)
	case '\'':
		out.WriteString(`\z`)
	default:
		out.WriteString(quoted(c))
	}
}

// bracket translates a set; text begins behind its "[". A backslash in it is itself in POSIX, except
// that \n, \t, \] and \\ mean what they do in GNU's sed.
func bracket(text string) (set string, n int, err error) {
	var out strings.Builder
	out.WriteByte('[')
	i := 0
	if strings.HasPrefix(text, "^") {
		out.WriteByte('^')
		i++
	}
	for begin := i; i < len(text); {
		c := text[i]
		switch {
		case c == ']' && i > begin:
			out.WriteByte(']')
			return out.String(), i + 1, nil
		case c == '[' && i+1 < len(text) && strings.IndexByte(":.=", text[i+1]) >= 0:
			kind := text[i+1 : i+2]
			end := strings.Index(text[i+2:], kind+"]")
			if end < 0 {
				return "", 0, errors.New("Unmatched [, [^, [:, [., or [=")
			}
			name := text[i+2 : i+2+end]
			if i += end + 4; kind == ":" {
				out.WriteString("[:" + name + ":]")
				continue
			}
			out.WriteString(regexp.QuoteMeta(name))
		case c == '\\' && i+1 < len(text) && (text[i+1] == 'n' || text[i+1] == 't'):
			out.WriteString(text[i : i+2])
			i += 2
		case c == '-' || c == '&' || c == '~':
			// In a range it is the sign; at the end or the beginning itself.
			if c == '-' && i > begin && i+1 < len(text) && text[i+1] != ']' {
				out.WriteByte('-')
			} else {
				out.WriteString(`\` + string(c))
			}
			i++
		case c >= 0x80:
			out.WriteByte(c)
			i++
		case c == '\\' || c == '[' || c == ']' || c == '^':
			out.WriteString(`\` + string(c))
			i++
		default:
			out.WriteByte(c)
			i++
		}
	}
	return "", 0, errors.New("Unmatched [, [^, [:, [., or [=")
}

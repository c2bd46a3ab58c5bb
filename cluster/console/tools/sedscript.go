package tools

import (
	"errors"
	"fmt"
	"strings"
)

// sedScript is a script of sed, its blocks and labels resolved to places.
type sedScript struct {
	commands []*sedCommand
	writes   []string // the files of w
	quiet    bool     // it begins with #n
}

// sedCommand is a command with its addresses.
type sedCommand struct {
	from, to *sedAddress
	not      bool
	name     byte
	text     string // of a, i and c; the file of r, w and s///w; the label of b, t and T
	target   int    // where b, t and T go, and { without a match
	n        int    // the exit status of q

	pattern     *pattern // of s; nil: the last one
	replacement replacement
	global      bool
	prints      bool
	nth         int
	chars       map[rune]rune // of y

	active bool // within a range
	until  int  // its last line
	begun  bool // of 0,/re/
}

// sedAddress is a line: by its number (n), the last one ($), first~step (s), a pattern (/), 0 as the
// beginning of a range, or how its end is counted (+ and ~).
type sedAddress struct {
	kind    byte
	n, step int
	pattern *pattern // nil: the last one
}

// counts reports whether an address ends a range at a line that is known by its number.
func (a *sedAddress) counts() bool { return a.kind == 'n' || a.kind == '+' || a.kind == '~' }

// noLabelError is of a jump to nowhere, for which GNU's sed has an exit status of its own.
type noLabelError string

// Error is GNU's sentence.
func (e noLabelError) Error() string {
	return fmt.Sprintf("can't find label for jump to `%s'", string(e))
}

// mostCommands is how many commands a script may have.
const mostCommands = 10_000

// sedParser reads a script.
type sedParser struct {
	text string
	at   int
	in   dialect
	*sedScript
	blocks []int
	labels map[string]int
}

func parseSed(text string, in dialect) (*sedScript, error) {
	p := &sedParser{text: text, in: in, sedScript: &sedScript{}, labels: map[string]int{}}
	if strings.HasPrefix(text, "#n\n") || text == "#n" {
		p.quiet = true
	}
	err := p.all()
	if err != nil {
		return nil, fmt.Errorf("-e expression #1, char %d: %w", min(p.at, len(text)), err)
	}
	for _, c := range p.commands {
		if strings.IndexByte("btT", c.name) < 0 {
			continue
		}
		target, known := p.labels[c.text]
		switch {
		case c.text == "":
			target = len(p.commands)
		case !known:
			return nil, noLabelError(c.text)
		}
		c.target = target
	}
	return p.sedScript, nil
}

func (p *sedParser) rest() string { return p.text[p.at:] }

// peek is the next byte; 0 at the end.
func (p *sedParser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *sedParser) skip(set string) {
	for p.at < len(p.text) && strings.IndexByte(set, p.text[p.at]) >= 0 {
		p.at++
	}
}

func (p *sedParser) all() error {
	for {
		p.skip(" \t\n\r;")
		if p.at == len(p.text) {
			break
		}
		if len(p.commands) == mostCommands {
			return fmt.Errorf("more than %d commands", mostCommands)
		}
		c := &sedCommand{}
		if err := p.addresses(c); err != nil {
			return err
		}
		for p.skip(" \t"); p.peek() == '!'; p.skip("! \t") {
			c.not = true
		}
		if p.at == len(p.text) {
			return errors.New("missing command")
		}
		c.name = p.peek()
		p.at++
		if err := p.command(c); err != nil {
			return err
		}
		p.commands = append(p.commands, c)
	}
	if len(p.blocks) > 0 {
		p.at = 0
		return errors.New("unmatched `{'")
	}
	return nil
}

func (p *sedParser) addresses(c *sedCommand) (err error) {
	if c.from, err = p.address(false); err != nil || c.from == nil {
		return err
	}
	p.skip(" \t")
	if p.peek() != ',' {
		if c.from.kind == '0' {
			return errors.New("invalid usage of line address 0")
		}
		return nil
	}
	p.at++
	p.skip(" \t")
	if c.to, err = p.address(true); err == nil && c.to == nil {
		err = errors.New("unexpected `,'")
	}
	if err == nil && c.from.kind == '0' && c.to.kind != '/' {
		err = errors.New("invalid usage of line address 0")
	}
	return err
}

// address reads one address; nil if there is none.
func (p *sedParser) address(second bool) (*sedAddress, error) {
	c := p.peek()
	switch {
	case c >= '0' && c <= '9':
		n, width := sedNumber(p.rest())
		p.at += width
		if p.peek() == '~' && !second {
			p.at++
			step, width := sedNumber(p.rest())
			p.at += width
			return &sedAddress{kind: 's', n: n, step: step}, nil
		}
		if n == 0 && !second {
			return &sedAddress{kind: '0'}, nil
		}
		return &sedAddress{kind: 'n', n: n}, nil
	case (c == '+' || c == '~') && second:
		p.at++
		n, width := sedNumber(p.rest())
		if p.at += width; width == 0 {
			return nil, errors.New("expected a number")
		}
		return &sedAddress{kind: c, n: n}, nil
	case c == '$':
		p.at++
		return &sedAddress{kind: '$'}, nil
	case c == '/' || c == '\\':
		p.at++
		if c == '\\' {
			if c = p.peek(); c == 0 || c == '\n' {
				return nil, errors.New("unterminated address regex")
			}
			p.at++
		}
		text, ok := p.until(c, true)
		if !ok {
			return nil, errors.New("unterminated address regex")
		}
		fold := false
		for strings.IndexByte("IM", p.peek()) >= 0 && p.peek() != 0 {
			fold = fold || p.peek() == 'I'
			p.at++
		}
		re, err := p.pattern(text, fold)
		return &sedAddress{kind: '/', pattern: re}, err
	}
	return nil, nil
}

// pattern compiles a regular expression; of an empty one, the last one used, it gives nil.
func (p *sedParser) pattern(text string, fold bool) (*pattern, error) {
	if text == "" {
		return nil, nil
	}
	return compile(text, p.in, fold)
}

// until reads up to a delimiter, which a backslash makes an ordinary character. In a pattern
// it does not end a set.
func (p *sedParser) until(end byte, regex bool) (string, bool) {
	var out strings.Builder
	for set := -1; p.at < len(p.text); p.at++ {
		c := p.text[p.at]
		switch {
		case c == '\\' && p.at+1 < len(p.text):
			p.at++
			if p.text[p.at] != end {
				out.WriteByte('\\')
			}
			out.WriteByte(p.text[p.at])
			continue
		case regex && set < 0 && c == '[':
			set = p.at
			if p.at+1 < len(p.text) && p.text[p.at+1] == '^' {
				set++
			}
			set++ // where a ] is itself
		case regex && set >= 0 && c == ']' && p.at > set:
			set = -1
		case c == end && (set < 0 || !strings.Contains(p.rest(), "]")):
			p.at++
			return out.String(), true
		case c == '\n' && regex && set < 0:
			return "", false
		}
		out.WriteByte(c)
	}
	return "", false
}

// ends reads what may stand behind a command.
func (p *sedParser) ends() error {
	p.skip(" \t\r")
	switch p.peek() {
	case 0, '\n', ';':
		return nil
	case '}', '#':
		return nil
	}
	return errors.New("extra characters after command")
}

// word is the rest of the line: a label's or a file's name.
func (p *sedParser) word(stops string) string {
	p.skip(" \t")
	end := strings.IndexAny(p.rest(), stops)
	if end < 0 {
		end = len(p.rest())
	}
	word := strings.TrimRight(p.rest()[:end], " \t\r")
	p.at += end
	return word
}

func (p *sedParser) command(c *sedCommand) (err error) {
	if c.to != nil && strings.IndexByte("=aiqQr", c.name) >= 0 && (c.name == 'q' || c.name == 'Q') {
		return errors.New("command only uses one address")
	}
	switch c.name {
	case '{':
		p.blocks = append(p.blocks, len(p.commands))
		return nil
	case '}':
		if c.from != nil {
			return errors.New("} doesn't want any addresses")
		}
		if len(p.blocks) == 0 {
			return errors.New("unexpected `}'")
		}
		p.commands[p.blocks[len(p.blocks)-1]].target = len(p.commands) + 1
		p.blocks = p.blocks[:len(p.blocks)-1]
		return p.ends()
	case '#':
		if c.from != nil {
			return errors.New("comments don't accept any addresses")
		}
		p.word("\n")
		return nil
	case ':':
		label := p.word(" \t\n;")
		switch {
		case c.from != nil:
			return errors.New(": doesn't want any addresses")
		case label == "":
			return errors.New("\":\" lacks a label")
		}
		p.labels[label] = len(p.commands)
		return nil
	case 'b', 't', 'T':
		c.text = p.word("\n;}")
		return nil
	case 'a', 'i', 'c':
		c.text, err = p.lines()
		return err
	case 'q', 'Q':
		p.skip(" \t")
		n, width := sedNumber(p.rest())
		c.n = n & 0xff
		p.at += width
		return p.ends()
	case 'r', 'w', 'W':
		if c.text = p.word("\n"); c.text == "" {
			return errors.New("missing filename in r/R/w/W commands")
		}
		if c.name != 'r' {
			p.writes = append(p.writes, c.text)
		}
		return nil
	case 's':
		return p.substitution(c)
	case 'y':
		return p.transliteration(c)
	case 'e':
		return errors.New("e is not possible here: the console runs no other programs")
	case 'R', 'v':
		return fmt.Errorf("%c is not possible here", c.name)
	case '=', 'd', 'D', 'F', 'g', 'G', 'h', 'H', 'l', 'n', 'N', 'p', 'P', 'x', 'z':
		return p.ends()
	}
	return fmt.Errorf("unknown command: `%c'", c.name)
}

// lines is the text of a, i and c: on the same line, or on those after a backslash.
func (p *sedParser) lines() (string, error) {
	p.skip(" \t")
	if p.peek() == 0 {
		return "", errors.New("expected \\ after `a', `c' or `i'")
	}
	if p.peek() == '\\' {
		p.at++
		at := p.at
		if p.skip(" \t"); p.peek() == '\n' {
			p.at++
		} else {
			p.at = at
		}
	}
	var out strings.Builder
	for ; p.at < len(p.text); p.at++ {
		c := p.text[p.at]
		if c == '\n' {
			break
		}
		if c == '\\' {
			if p.at++; p.at == len(p.text) {
				break
			}
			c = p.text[p.at]
			if c == 't' {
				c = '\t'
			}
		}
		out.WriteByte(c)
	}
	return out.String(), nil
}

// substitution reads s/pattern/replacement/flags.
func (p *sedParser) substitution(c *sedCommand) error {
	end := p.peek()
	if end == 0 || end == '\n' || end == '\\' {
		return errors.New("unterminated `s' command")
	}
	p.at++
	text, ok := p.until(end, true)
	if !ok {
		return errors.New("unterminated `s' command")
	}
	with, ok := p.until(end, false)
	if !ok {
		return errors.New("unterminated `s' command")
	}
	fold, many := false, false
	for {
		switch f := p.peek(); {
		case f == 'g':
			c.global = true
		case f == 'p':
			c.prints = true
		case f == 'i' || f == 'I':
			fold = true
		case f == 'm' || f == 'M':
			many = true
		case f >= '0' && f <= '9':
			n, width := sedNumber(p.rest())
			if n == 0 {
				return errors.New("number option to `s' command may not be zero")
			}
			c.nth = n
			p.at += width - 1
		case f == 'e':
			return errors.New("s///e is not possible here: the console runs no other programs")
		case f == 'w':
			p.at++
			if c.text = p.word("\n"); c.text == "" {
				return errors.New("missing filename in r/R/w/W commands")
			}
			p.writes = append(p.writes, c.text)
			return p.substituted(c, text, with, fold, many)
		default:
			if p.ends() != nil {
				p.at++
				return errors.New("unknown option to `s'")
			}
			return p.substituted(c, text, with, fold, many)
		}
		p.at++
	}
}

func (p *sedParser) substituted(c *sedCommand, text, with string, fold, many bool) (err error) {
	if c.pattern, err = p.pattern(text, fold); err != nil {
		return err
	}
	if many && c.pattern != nil {
		re, err := translate(text, p.in == extended)
		if err != nil {
			return err
		}
		if c.pattern, err = compile("(?m:"+re+")", perl, fold); err != nil {
			return err
		}
		c.pattern.Longest()
	}
	c.replacement, err = replacementOf(with)
	for _, part := range c.replacement {
		if c.pattern != nil && part.group > c.pattern.NumSubexp() {
			return fmt.Errorf("invalid reference \\%d on `s' command's RHS", part.group)
		}
	}
	return err
}

// replacementOf reads the second part of s.
func replacementOf(text string) (r replacement, err error) {
	var plain strings.Builder
	add := func(part replacing) {
		if plain.Len() > 0 {
			r = append(r, replacing{text: plain.String(), group: -1})
			plain.Reset()
		}
		r = append(r, part)
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '&':
			add(replacing{group: 0})
		case c != '\\' || i+1 == len(text):
			plain.WriteByte(c)
		default:
			i++
			switch c = text[i]; {
			case c >= '0' && c <= '9':
				add(replacing{group: int(c - '0')})
			case strings.IndexByte("ULulE", c) >= 0:
				add(replacing{group: -1, to: c})
			case c == 'n':
				plain.WriteByte('\n')
			case c == 't':
				plain.WriteByte('\t')
			default:
				plain.WriteByte(c)
			}
		}
	}
	if plain.Len() > 0 {
		r = append(r, replacing{text: plain.String(), group: -1})
	}
	return r, nil
}

// transliteration reads y/abc/xyz/.
func (p *sedParser) transliteration(c *sedCommand) error {
	end := p.peek()
	if end == 0 || end == '\n' || end == '\\' {
		return errors.New("unterminated `y' command")
	}
	p.at++
	var parts [2][]rune
	for i := range parts {
		text, ok := p.until(end, false)
		if !ok {
			return errors.New("unterminated `y' command")
		}
		parts[i] = []rune(strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`).Replace(text))
	}
	if len(parts[0]) != len(parts[1]) {
		return errors.New("strings for `y' command are different lengths")
	}
	c.chars = map[rune]rune{}
	for i, from := range parts[0] {
		if _, twice := c.chars[from]; !twice {
			c.chars[from] = parts[1][i]
		}
	}
	return p.ends()
}

package tools

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// sed is the stream editor. Its language is in sedscript.go; e, and s///e, which run programs,
// are refused.
func sed(u *Use) int {
	args := u.Args[1:]
	use := *u
	use.Args = u.Args[:1:1]
	suffix, inPlace := "", false
	for _, a := range args { // -i has a value that must stand in the same word
		if v, is := strings.CutPrefix(a, "--in-place"); is {
			inPlace, suffix = true, strings.TrimPrefix(v, "=")
			continue
		}
		if v, is := strings.CutPrefix(a, "-i"); is && !strings.HasPrefix(a, "--") {
			inPlace, suffix = true, v
			continue
		}
		use.Args = append(use.Args, a)
	}
	set, names, err := grammar{flags: "nErsu", valued: "efl", long: map[string]byte{
		"quiet": 'n', "silent": 'n', "expression": 'e', "file": 'f', "regexp-extended": 'E', "separate": 's', "unbuffered": 'u', "posix": 'p',
	}}.parse(&use)
	if err != nil {
		return usage(u, err)
	}
	var texts []string
	texts = append(texts, set['e']...)
	for _, name := range set['f'] {
		b, exit := u.whole([]string{name})
		if exit != 0 {
			return exit
		}
		texts = append(texts, strings.TrimSuffix(string(b), "\n"))
	}
	if len(set['e'])+len(set['f']) == 0 {
		if len(names) == 0 {
			return usage(u, errors.New("usage: sed [OPTION]... {script-only-if-no-other-script} [input-file]..."))
		}
		texts, names = []string{names[0]}, names[1:]
	}
	in := basic
	if set.has("Er") {
		in = extended
	}
	script, err := parseSed(strings.Join(texts, "\n"), in)
	var nowhere noLabelError
	if errors.As(err, &nowhere) {
		u.complain(err)
		return 4
	}
	if err != nil {
		return usage(u, err)
	}
	e := &editor{u: u, script: script, quiet: set.has("n") || script.quiet, separate: set.has("s") || inPlace, inPlace: inPlace, suffix: suffix, files: map[string]io.WriteCloser{}}
	defer e.close()
	if err := e.openAll(); err != nil {
		u.complain(err)
		return 4
	}
	return e.run(names)
}

// editor runs a script of sed.
type editor struct {
	u        *Use
	script   *sedScript
	quiet    bool
	separate bool
	inPlace  bool
	suffix   string

	input   *sedInput
	out     io.Writer
	files   map[string]io.WriteCloser // of w
	space   []byte                    // the pattern space
	hold    []byte
	number  int // of the line
	swapped bool
	last    *pattern // that was used last, which // means
	after   []func() // what a, r and R print at the end of the cycle
	steps   int      // since the last line was read
	exit    int
	ended   bool
}

// mostSteps is how many commands may run on one line of input.
const mostSteps = 50_000_000

func (e *editor) close() {
	for _, f := range e.files {
		f.Close()
	}
}

// run edits the operands: together, or each for itself.
func (e *editor) run(names []string) int {
	e.out = e.u.Out
	if len(names) == 0 {
		names = []string{"-"}
	}
	failed := 0
	if !e.separate {
		e.input = &sedInput{u: e.u, names: names}
		e.cycles()
		e.input.close()
		return max(e.exit, e.input.exit)
	}
	for _, name := range names {
		if e.ended {
			break
		}
		e.input = &sedInput{u: e.u, names: []string{name}}
		if e.inPlace {
			if name == "-" {
				return usage(e.u, errors.New("couldn't edit -: not a regular file"))
			}
			failed = max(failed, e.within(name))
			continue
		}
		e.cycles()
		e.input.close()
		failed = max(failed, e.input.exit)
	}
	return max(e.exit, failed)
}

// within edits a file in its place.
func (e *editor) within(name string) int {
	var b limitedBuffer
	before, exit := e.u.whole([]string{name})
	if exit != 0 {
		return 4
	}
	e.out = &b
	e.number = 0
	e.cycles()
	for !e.input.none() && e.ended { // q leaves the rest as it was
		line, _ := e.input.next()
		e.put(line)
	}
	e.input.close()
	if e.suffix != "" {
		if err := e.write(name+e.suffix, before); err != nil {
			return usage(e.u, fmt.Errorf("cannot rename %s: %w", name, because(err)))
		}
	}
	if err := e.write(name, b.b); err != nil {
		e.u.complain(fmt.Errorf("couldn't open file %s: %w", name, because(err)))
		return 4
	}
	return e.input.exit
}

func (e *editor) write(name string, b []byte) error {
	f, err := e.u.Files.Create(name, false)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

// limitedBuffer holds as much as a tool may.
type limitedBuffer struct{ b []byte }

// Write is [io.Writer].
func (l *limitedBuffer) Write(p []byte) (int, error) {
	if len(l.b)+len(p) > MostHeld {
		panic(ending{4, errHeld})
	}
	l.b = append(l.b, p...)
	return len(p), nil
}

// sedInput is the lines of several files as one text, of which the last line is known as such.
type sedInput struct {
	u     *Use
	names []string
	name  string
	open  io.Closer
	src   *source
	fail  *failing
	ahead *string
	ends  [2]bool // whether the line ahead, and the one before, ended with a newline
	exit  int
}

func (in *sedInput) close() {
	if in.open != nil {
		in.open.Close()
		in.open = nil
	}
}

// look reads the line after the current one.
func (in *sedInput) look() {
	for in.ahead == nil {
		if in.src == nil {
			if len(in.names) == 0 {
				return
			}
			name := in.names[0]
			in.names = in.names[1:]
			var r io.Reader = in.u.In
			if name != "-" {
				f, err := in.u.Files.Open(name)
				if err != nil {
					in.u.complain(fmt.Errorf("can't read %s: %w", name, because(err)))
					in.exit = 2
					continue
				}
				r, in.open = f, f
			}
			in.fail = &failing{r: r}
			in.src = newSource(in.u, name, in.fail)
		}
		line, more := in.src.line()
		if more {
			in.name, in.ahead, in.ends[0] = in.src.name, &line, in.src.ends
			return
		}
		if in.fail.err != nil {
			in.u.complain(fmt.Errorf("couldn't read %s: %w", in.src.name, because(in.fail.err)))
			in.exit = 2
		}
		in.close()
		in.src = nil
	}
}

func (in *sedInput) none() bool { in.look(); return in.ahead == nil }

func (in *sedInput) next() (string, bool) {
	if in.none() {
		return "", false
	}
	line := *in.ahead
	in.ahead, in.ends[1] = nil, in.ends[0]
	return line, true
}

// put prints a line as the input had it: one without a newline has none.
func (e *editor) put(line string) {
	if e.input.ends[1] || !e.input.none() {
		line += "\n"
	}
	_, _ = io.WriteString(e.out, line)
}

// fits ends the tool where a pattern or hold space would become too large.
func (e *editor) fits(size int) {
	if size > mostLine {
		panic(ending{1, fmt.Errorf("the pattern space or the hold space has more than %d MiB", mostLine>>20)})
	}
}

// set replaces the pattern space.
func (e *editor) set(space string) {
	e.fits(len(space))
	e.space = append(e.space[:0], space...)
}

// join appends a line to the pattern or the hold space. Its memory grows in steps, so that many lines
// are not copied for each one.
func (e *editor) join(to []byte, line []byte) []byte {
	e.fits(len(to) + len(line) + 1)
	return append(append(to, '\n'), line...)
}

// how a script's command goes on.
type step int

const (
	onward  step = iota // to the next command
	jumped              // to the command that was set
	over                // the cycle ends
	deleted             // it ends and nothing is printed
	again               // the next one begins without reading a line
	quit
	quitSilently
)

// cycles runs the script for each line.
func (e *editor) cycles() {
	reads := true
	for {
		if reads {
			line, more := e.input.next()
			if !more {
				return
			}
			e.number++
			e.set(line)
			e.steps = 0
		}
		reads = true
		how := e.cycle()
		if (how == over || how == quit || how == onward) && !e.quiet {
			e.put(string(e.space))
		}
		e.flush()
		switch how {
		case quit, quitSilently:
			e.ended = true
			return
		case again:
			reads = false
		}
	}
}

// flush prints what was kept for the end of the cycle.
func (e *editor) flush() {
	for _, do := range e.after {
		do()
	}
	e.after = nil
}

func (e *editor) cycle() step {
	e.swapped = false
	for pc := 0; pc < len(e.script.commands); {
		c := e.script.commands[pc]
		if e.steps++; e.steps%512 == 0 {
			e.u.mustGoOn()
			if e.steps > mostSteps {
				panic(ending{1, fmt.Errorf("%d commands have run on line %d: stopped", mostSteps, e.number)})
			}
		}
		if e.selects(c) == c.not {
			if pc++; c.name == '{' {
				pc = c.target
			}
			continue
		}
		switch how := e.do(c, &pc); how {
		case onward:
			pc++
		case jumped:
		default:
			return how
		}
	}
	return over
}

// selects reports whether a command's addresses take the line.
func (e *editor) selects(c *sedCommand) bool {
	switch {
	case c.from == nil:
		return true
	case c.to == nil:
		return e.at(c.from)
	case c.active && c.to.counts():
		c.active = e.number < c.until
		return e.number <= c.until
	case c.active:
		c.active = !e.at(c.to)
		return true
	case c.from.kind == '0' && !c.begun: // 0,/re/
		c.begun = true
		c.active = !e.at(c.to)
		return true
	case c.from.kind == '0' || !e.at(c.from):
		return false
	}
	switch c.to.kind {
	case 'n':
		c.until = c.to.n
	case '+':
		c.until = e.number + c.to.n
	case '~':
		if c.until = e.number; c.to.n > 0 {
			c.until = (e.number + c.to.n - 1) / c.to.n * c.to.n
		}
	default:
		c.active = true
		return true
	}
	c.active = c.until > e.number
	return true
}

// at reports whether an address is the line.
func (e *editor) at(a *sedAddress) bool {
	switch a.kind {
	case 'n':
		return e.number == a.n
	case '$':
		return e.input.none()
	case 's':
		return a.step <= 0 && e.number == a.n || a.step > 0 && e.number >= a.n && (e.number-a.n)%a.step == 0
	case '/':
		return e.match(a.pattern) != nil
	}
	return false
}

// match finds a pattern, or the last one, in the pattern space.
func (e *editor) match(p *pattern) []int {
	p = e.used(p)
	return p.FindIndex(e.space)
}

func (e *editor) used(p *pattern) *pattern {
	if p == nil {
		if p = e.last; p == nil {
			panic(ending{1, errors.New("no previous regular expression")})
		}
	}
	e.last = p
	p.fits(e.u, len(e.space))
	e.steps += len(e.space) / 256
	return p
}

// do runs a command.
func (e *editor) do(c *sedCommand, pc *int) step {
	switch c.name {
	case '{', '}', ':', '#':
	case '=':
		fmt.Fprintln(e.out, e.number)
	case 'a':
		e.after = append(e.after, func() { fmt.Fprintln(e.out, c.text) })
	case 'i':
		fmt.Fprintln(e.out, c.text)
	case 'c':
		if c.to == nil || c.not || !c.active {
			fmt.Fprintln(e.out, c.text)
		}
		return deleted
	case 'b':
		*pc = c.target
		return jumped
	case 't', 'T':
		if e.swapped == (c.name == 't') {
			e.swapped = false
			*pc = c.target
			return jumped
		}
		e.swapped = false
	case 'd':
		return deleted
	case 'D':
		_, rest, more := bytes.Cut(e.space, []byte("\n"))
		if !more {
			return deleted
		}
		e.space = append(e.space[:0], rest...)
		return again
	case 'F':
		fmt.Fprintln(e.out, e.input.name)
	case 'g':
		e.space = append(e.space[:0], e.hold...)
		e.steps += len(e.hold) / 256
	case 'G':
		e.space = e.join(e.space, e.hold)
		e.steps += len(e.hold) / 256
	case 'h':
		e.hold = append(e.hold[:0], e.space...)
		e.steps += len(e.space) / 256
	case 'H':
		e.hold = e.join(e.hold, e.space)
		e.steps += len(e.space) / 256
	case 'x':
		e.space, e.hold = e.hold, e.space
	case 'l':
		e.unambiguous()
	case 'n':
		if e.input.none() {
			return quit // GNU prints the pattern space
		}
		if !e.quiet {
			e.put(string(e.space))
		}
		e.flush()
		e.read(false)
	case 'N':
		if e.input.none() {
			return quit
		}
		e.flush()
		e.read(true)
	case 'p':
		e.put(string(e.space))
	case 'P':
		line, _, _ := bytes.Cut(e.space, []byte("\n"))
		fmt.Fprintln(e.out, string(line))
	case 'q', 'Q':
		e.exit = c.n
		if c.name == 'Q' {
			return quitSilently
		}
		return quit
	case 'r':
		e.after = append(e.after, func() { e.insert(c.text) })
	case 'w':
		fmt.Fprintln(e.file(c.text), string(e.space))
	case 'W':
		line, _, _ := bytes.Cut(e.space, []byte("\n"))
		fmt.Fprintln(e.file(c.text), string(line))
	case 's':
		e.substitute(c)
	case 'y':
		e.set(strings.Map(func(r rune) rune {
			if to, in := c.chars[r]; in {
				return to
			}
			return r
		}, string(e.space)))
	case 'z':
		e.space = e.space[:0]
	}
	return onward
}

func (e *editor) read(appended bool) {
	line, _ := e.input.next()
	e.number++
	if appended {
		e.space = e.join(e.space, []byte(line))
		return
	}
	e.set(line)
}

// insert prints a file; one that cannot be read is none.
func (e *editor) insert(name string) {
	f, err := e.u.Files.Open(name)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = io.Copy(e.out, f)
}

// file is where w writes.
func (e *editor) file(name string) io.Writer {
	switch name {
	case "/dev/stdout":
		return e.out
	case "/dev/stderr":
		return e.u.Err
	}
	return &output{u: e.u, w: e.files[name], left: MostWritten}
}

// openAll opens the files of w before the first line is read: they are empty though nothing matches.
func (e *editor) openAll() error {
	for _, name := range e.script.writes {
		if name == "/dev/stdout" || name == "/dev/stderr" || e.files[name] != nil {
			continue
		}
		f, err := e.u.Files.Create(name, false)
		if err != nil {
			return fmt.Errorf("couldn't open file %s: %w", name, because(err))
		}
		e.files[name] = f
	}
	return nil
}

// substitute is s.
func (e *editor) substitute(c *sedCommand) {
	p := e.used(c.pattern)
	space := string(e.space)
	found := p.FindAllStringSubmatchIndex(space, mostMatches)
	if len(found) == 0 || len(found) < c.nth {
		return
	}
	var out strings.Builder
	at := 0
	for i, m := range found {
		if i+1 < c.nth {
			continue
		}
		out.WriteString(space[at:m[0]])
		c.replacement.write(&out, space, m)
		if at = m[1]; !c.global {
			break
		}
		e.fits(out.Len())
	}
	out.WriteString(space[at:])
	e.set(out.String())
	e.swapped = true
	if c.prints {
		e.put(string(e.space))
	}
	if c.text != "" {
		fmt.Fprintln(e.file(c.text), string(e.space))
	}
}

// unambiguous is l: a line with its special characters as escapes, folded.
func (e *editor) unambiguous() {
	var out strings.Builder
	wide := 0
	add := func(s string) {
		if wide+len(s) > 69 {
			out.WriteString("\\\n")
			wide = 0
		}
		wide += len(s)
		out.WriteString(s)
	}
	for i := range len(e.space) {
		c := e.space[i]
		at := strings.IndexByte("\a\b\f\n\r\t\v\\", c)
		switch {
		case at >= 0:
			add(`\` + `abfnrtv\`[at:at+1])
		case c < 0x20 || c >= 0x7f:
			add(fmt.Sprintf(`\%03o`, c))
		default:
			add(string(rune(c)))
		}
	}
	fmt.Fprintln(e.out, out.String()+"$")
}

// replacement is what s puts in the place of a match.
type replacement []replacing

// replacing is a part of it: a text, a group, or a change of case.
type replacing struct {
	text  string
	group int  // -1: the text
	to    byte // U, L, u, l or E; 0: none
}

func (r replacement) write(out *strings.Builder, in string, m []int) {
	all, one := byte('E'), byte(0)
	for _, part := range r {
		switch part.to {
		case 0:
		case 'u', 'l':
			one = part.to
			continue
		default:
			all = part.to
			continue
		}
		text := part.text
		if g := part.group; g >= 0 {
			text = ""
			if m[2*g] >= 0 {
				text = in[m[2*g]:m[2*g+1]]
			}
		}
		switch all {
		case 'U':
			text = strings.ToUpper(text)
		case 'L':
			text = strings.ToLower(text)
		}
		if one != 0 && text != "" {
			_, size := utf8.DecodeRuneInString(text)
			first := strings.ToUpper(text[:size])
			if one == 'l' {
				first = strings.ToLower(text[:size])
			}
			text, one = first+text[size:], 0
		}
		out.WriteString(text)
	}
}

// sedNumber reads digits from the beginning of a text.
func sedNumber(text string) (n, width int) {
	for width < len(text) && text[width] >= '0' && text[width] <= '9' {
		width++
	}
	n, err := strconv.Atoi(text[:width])
	if err != nil && width > 0 {
		n = 1 << 62 // more lines than there are
	}
	return n, width
}

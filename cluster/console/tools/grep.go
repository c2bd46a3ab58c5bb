package tools

import (
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

var grepOptions = grammar{
	flags: "EFGPivwxcnoqslLrRhHa", valued: "efmABC\x01\x02", digits: 'C', long: map[string]byte{
		"extended-regexp": 'E', "fixed-strings": 'F', "basic-regexp": 'G', "perl-regexp": 'P', "ignore-case": 'i', "invert-match": 'v',
		"word-regexp": 'w', "line-regexp": 'x', "count": 'c', "line-number": 'n', "only-matching": 'o', "quiet": 'q', "silent": 'q',
		"no-messages": 's', "files-with-matches": 'l', "files-without-match": 'L', "recursive": 'r', "no-filename": 'h', "with-filename": 'H',
		"text": 'a', "regexp": 'e', "file": 'f', "max-count": 'm', "after-context": 'A', "before-context": 'B', "context": 'C',
		"include": 1, "exclude": 2, "color": 3, "colour": 3,
	},
}

// search is one grep.
type search struct {
	u       *Use
	set     options
	pattern *pattern
	word    bool
	named   bool // lines begin with the name of their file
	most    int  // lines of a file that count; -1: all
	before  int
	after   int

	found bool
	apart bool // something was shown: what does not follow it comes after "--"
}

func grep(u *Use) int {
	set, args, err := grepOptions.parse(u)
	if err != nil {
		return usage(u, err)
	}
	s := &search{u: u, set: set}
	if args, err = s.read(args); err != nil {
		return usage(u, err)
	}
	exit := 0
	if set.has("rR") {
		if len(args) == 0 {
			args = []string{"."}
		}
		args, exit = s.below(args)
		if len(args) == 0 {
			return max(exit, 1)
		}
	}
	s.named = (len(args) > 1 || set.has("rR") || set.has("H")) && !set.has("h")
	quiet := *u
	if set.has("s") {
		quiet.Err = io.Discard
	}
	exit = max(exit, quiet.each(args, s.through))
	switch {
	case s.found && (exit == 0 || set.has("q")):
		return 0
	case exit == 0:
		return 1
	}
	return exit
}

// read makes the pattern and the numbers of the options.
func (s *search) read(args []string) (rest []string, err error) {
	texts := slices.Clone(s.set['e'])
	for _, name := range s.set['f'] {
		b, exit := s.u.whole([]string{name})
		if exit != 0 {
			panic(ending{exit: exit})
		}
		if len(b) > 0 {
			texts = append(texts, strings.TrimSuffix(string(b), "\n"))
		}
	}
	if len(s.set['e'])+len(s.set['f']) == 0 {
		if len(args) == 0 {
			return nil, errors.New("usage: grep [OPTION]... PATTERNS [FILE]...")
		}
		texts, args = []string{args[0]}, args[1:]
	}
	in := basic
	switch {
	case s.set.has("F") || s.u.Args[0] == "fgrep":
		in = fixed
	case s.set.has("P"):
		in = perl
	case s.set.has("E") || s.u.Args[0] == "egrep":
		in = extended
	}
	if s.pattern, s.word, err = oneOf(texts, in, s.set); err != nil {
		return nil, err
	}
	if s.most, err = s.set.number('m', -1); err != nil {
		return nil, err
	}
	around := 0
	for _, of := range []struct {
		letter byte
		lines  *int
	}{{'C', &around}, {'B', &s.before}, {'A', &s.after}} {
		if *of.lines, err = s.set.number(of.letter, around); err != nil {
			v, _ := s.set.last(of.letter)
			return nil, fmt.Errorf("%s: invalid context length argument", v)
		}
	}
	return args, nil
}

// oneOf is the pattern that any of the texts, or a line of one, is.
func oneOf(texts []string, in dialect, set options) (p *pattern, word bool, err error) {
	var parts []string
	for _, t := range texts {
		for line := range strings.SplitSeq(t, "\n") {
			switch in {
			case fixed:
				line = regexp.QuoteMeta(line)
			case basic, extended:
				if line, err = translate(line, in == extended); err != nil {
					return nil, false, err
				}
			}
			parts = append(parts, "(?:"+line+")")
		}
	}
	text := strings.Join(parts, "|")
	if len(texts) == 0 {
		text = `[^\x00-\x{10FFFF}]` // an empty file of patterns: nothing
	}
	if set.has("x") {
		text = "^(?:" + text + ")$"
	}
	p, err = compile(text, perl, set.has("i"))
	if err == nil && in != perl {
		p.Longest()
	}
	return p, set.has("w"), err
}

// below are the files in and below the operands.
func (s *search) below(names []string) (files []string, exit int) {
	const most = 100_000
	var visit func(name string)
	visit = func(name string) {
		s.u.mustGoOn()
		found, err := s.u.Files.List(name)
		switch {
		case err != nil:
			if !s.set.has("s") {
				s.u.complain(fmt.Errorf("%s: %w", name, because(err)))
			}
			exit = 2
		case len(found) == 1 && found[0] == name:
			if s.wanted(path.Base(name)) {
				files = append(files, name)
			}
		default:
			for _, f := range found {
				if len(files) > most {
					panic(ending{2, fmt.Errorf("more than %d files", most)})
				}
				at := strings.TrimSuffix(name, "/") + "/" + strings.TrimSuffix(f, "/")
				if strings.HasSuffix(f, "/") {
					visit(at)
				} else if s.wanted(f) {
					files = append(files, at)
				}
			}
		}
	}
	for _, name := range names {
		visit(name)
	}
	return files, exit
}

// wanted reports whether --include and --exclude leave a file in.
func (s *search) wanted(name string) bool {
	matches := func(glob string) bool { ok, _ := path.Match(glob, name); return ok }
	if len(s.set[1]) > 0 && !slices.ContainsFunc(s.set[1], matches) {
		return false
	}
	return !slices.ContainsFunc(s.set[2], matches)
}

// through searches one source.
func (s *search) through(src *source) bool {
	var (
		earlier []string // before the line, at most s.before
		left    int      // lines that are shown after the last one found
		number  int
		count   int
		listing = s.set.has("c") || s.set.has("l") || s.set.has("L") || s.set.has("q")
		shown   = -1 // the number of the line shown last
	)
	show := func(n int, line string, sep string) {
		if shown != n-1 && s.apart && s.before+s.after > 0 {
			fmt.Fprintln(s.u.Out, "--")
		}
		shown, s.apart = n, true
		s.show(src, n, line, sep)
	}
	for s.most != 0 && (s.most < 0 || count < s.most || left > 0) {
		line, more := src.line()
		if !more {
			break
		}
		number++
		switch {
		case (s.most < 0 || count < s.most) && s.selects(line) != s.set.has("v"):
			count++
			s.found = s.found || !s.set.has("L")
			if s.set.has("q") {
				return false
			}
			if listing {
				if s.set.has("lL") {
					s.listed(src, s.set.has("l"))
					return true
				}
				continue
			}
			for i, l := range earlier {
				show(number-len(earlier)+i, l, "-")
			}
			earlier, left = earlier[:0], s.after
			show(number, line, ":")
		case left > 0:
			left--
			show(number, line, "-")
		case s.before > 0 && !listing:
			if earlier = append(earlier, line); len(earlier) > s.before {
				earlier = earlier[1:]
			}
		}
	}
	switch {
	case s.set.has("q"):
	case s.set.has("L"):
		s.found = true
		s.listed(src, true)
	case s.set.has("c") && !s.set.has("l"):
		if s.named {
			fmt.Fprintf(s.u.Out, "%s:", src.said("(standard input)"))
		}
		fmt.Fprintln(s.u.Out, count)
	}
	return true
}

func (s *search) listed(src *source, yes bool) {
	if yes {
		fmt.Fprintln(s.u.Out, src.said("(standard input)"))
	}
}

// show prints a line, or with -o what matches in it.
func (s *search) show(src *source, number int, line, sep string) {
	prefix := ""
	if s.named {
		prefix = src.said("(standard input)") + sep
	}
	if s.set.has("n") {
		prefix += strconv.Itoa(number) + sep
	}
	if !s.set.has("o") {
		fmt.Fprintln(s.u.Out, prefix+line)
		return
	}
	if sep == "-" || s.set.has("v") {
		return
	}
	for _, m := range s.matches(line, mostMatches) {
		if m[0] < m[1] { // grep shows no empty match
			fmt.Fprintln(s.u.Out, prefix+line[m[0]:m[1]])
		}
	}
}

// mostMatches is how many matches are looked for in a line.
const mostMatches = 1 << 20

// selects reports whether a line matches.
func (s *search) selects(line string) bool {
	s.pattern.fits(s.u, len(line))
	if !s.word {
		return s.pattern.MatchString(line)
	}
	return len(s.matches(line, mostMatches)) > 0
}

// matches are the places in a line that match, at most so many.
func (s *search) matches(line string, most int) [][]int {
	s.pattern.fits(s.u, len(line))
	found := s.pattern.FindAllStringIndex(line, most)
	if s.word {
		found = slices.DeleteFunc(found, func(m []int) bool { return !wordBetween(line, m[0], m[1]) })
	}
	return found
}

// wordBetween reports whether neither neighbour of a match is part of a word.
func wordBetween(line string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(line[:from])
	after, _ := utf8.DecodeRuneInString(line[to:])
	return !ofWord(before, from > 0) && !ofWord(after, to < len(line))
}

func ofWord(r rune, there bool) bool {
	return there && (r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r))
}

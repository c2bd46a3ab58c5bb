package tools

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// counts are what wc counts in a source, in the order in which it prints them.
type counts struct{ lines, words, chars, bytes, longest int }

func (c *counts) add(more counts) {
	c.lines, c.words, c.chars, c.bytes = c.lines+more.lines, c.words+more.words, c.chars+more.chars, c.bytes+more.bytes
	c.longest = max(c.longest, more.longest)
}

func wc(u *Use) int {
	set, names, err := grammar{flags: "lwcmL", long: map[string]byte{
		"lines": 'l', "words": 'w', "bytes": 'c', "chars": 'm', "max-line-length": 'L',
	}}.parse(u)
	if err != nil {
		return usage(u, err)
	}
	if len(set) == 0 {
		set = options{'l': {""}, 'w': {""}, 'c': {""}}
	}
	var (
		total counts
		each  []counts
		read  []string
		stdin = len(names) == 0
	)
	exit := u.each(names, func(s *source) bool {
		stdin = (stdin || s.name == "-") && !u.inIsFile()
		c := s.count()
		total.add(c)
		each, read = append(each, c), append(read, s.name)
		return true
	})
	width := len(strconv.Itoa(total.bytes))
	switch {
	case len(set) == 1 && len(names) <= 1:
		width = 1
	case stdin:
		width = max(width, 7)
	}
	print := func(c counts, name string) {
		var out []string
		for _, of := range []struct {
			letter string
			n      int
		}{{"l", c.lines}, {"w", c.words}, {"m", c.chars}, {"c", c.bytes}, {"L", c.longest}} {
			if set.has(of.letter) {
				out = append(out, fmt.Sprintf("%*d", width, of.n))
			}
		}
		if name != "" {
			out = append(out, name)
		}
		fmt.Fprintln(u.Out, strings.Join(out, " "))
	}
	for i, c := range each {
		if len(names) == 0 {
			read[i] = ""
		}
		print(c, read[i])
	}
	if len(names) > 1 {
		print(total, "total")
	}
	return exit
}

// inIsFile reports whether the standard input is a file, whose size is known.
func (u *Use) inIsFile() bool {
	f, is := u.In.(*os.File)
	if !is {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

// count reads a source to its end.
func (s *source) count() (c counts) {
	within, wide := false, 0
	for n := 0; ; n++ {
		if n%4096 == 0 {
			s.u.mustGoOn()
		}
		r, size, err := s.r.ReadRune()
		if err != nil {
			c.longest = max(c.longest, wide)
			return c
		}
		c.bytes += size
		if r != utf8.RuneError || size > 1 {
			c.chars++
		}
		switch {
		case r == '\n':
			c.lines++
			c.longest, wide = max(c.longest, wide), 0
		case r == '\t':
			wide += 8 - wide%8
		default:
			wide++
		}
		if space := unicode.IsSpace(r); space {
			within = false
		} else if !within {
			within = true
			c.words++
		}
	}
}

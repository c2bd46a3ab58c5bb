package tools

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
)

// source is a file, or the standard input, while a tool reads it.
type source struct {
	u    *Use
	name string // as it was given; "-" for the standard input
	r    *bufio.Reader
	ends bool // the last line had a newline
}

func newSource(u *Use, name string, r io.Reader) *source {
	return &source{u: u, name: name, r: bufio.NewReader(r)}
}

// said is the source's name where a tool mentions it.
func (s *source) said(stdin string) string {
	if s.name == "-" {
		return stdin
	}
	return s.name
}

// each opens what the operands name, one after another, for do: the standard input if there are
// none. It gives the exit status: that of trouble if something could not be read, 0 otherwise.
// do reports whether to go on.
func (u *Use) each(names []string, do func(*source) bool) int {
	exit := 0
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		on, err := u.from(name, do)
		if err != nil {
			u.complain(fmt.Errorf(u.unread(), name, because(err)))
			exit = u.trouble()
		}
		if !on {
			break
		}
	}
	return exit
}

// unread is how a tool says that it cannot read a file.
func (u *Use) unread() string {
	switch u.Args[0] {
	case "sort":
		return "cannot read: %s: %w"
	case "head", "tail":
		return "cannot open '%s' for reading: %w"
	case "tac":
		return "failed to open '%s' for reading: %w"
	}
	return "%s: %w"
}

// from opens one source for do.
func (u *Use) from(name string, do func(*source) bool) (on bool, err error) {
	in := u.In
	if name != "-" {
		f, err := u.Files.Open(name)
		if err != nil {
			return true, err
		}
		defer f.Close()
		in = f
	}
	failing := &failing{r: in}
	on = do(newSource(u, name, failing))
	return on, failing.err
}

// failing keeps the error that a reader has ended with, so that what reads lines need
// not hand it on.
type failing struct {
	r   io.Reader
	err error
}

// Read is [io.Reader].
func (f *failing) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && err != io.EOF {
		f.err = err
		err = io.EOF
	}
	return n, err
}

// mostLine is how many bytes a line may have.
const mostLine = 16 << 20

// line is the next line without its newline; false at the end.
func (s *source) line() (string, bool) {
	s.u.mustGoOn()
	var whole []byte
	for {
		part, err := s.r.ReadSlice('\n')
		if len(whole)+len(part) > mostLine {
			panic(ending{s.u.trouble(), fmt.Errorf("a line has more than %d MiB", mostLine>>20)})
		}
		if err == nil && whole == nil {
			s.ends = true
			return string(part[:len(part)-1]), true
		}
		whole = append(whole, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case len(whole) == 0:
			return "", false
		}
		s.ends = err == nil
		return string(bytes.TrimSuffix(whole, []byte("\n"))), true
	}
}

// all is the rest of the source.
func (s *source) all() []byte {
	var b bytes.Buffer
	for {
		s.u.mustGoOn()
		n, _ := io.CopyN(&b, s.r, 1<<16)
		if b.Len() > MostHeld {
			panic(ending{s.u.trouble(), errHeld})
		}
		if n < 1<<16 {
			return b.Bytes()
		}
	}
}

// lines hands every line of the operands to do, until it says that it has enough.
func (u *Use) lines(names []string, do func(line string) bool) int {
	return u.each(names, func(s *source) bool {
		for {
			line, more := s.line()
			if !more {
				return true
			}
			if !do(line) {
				return false
			}
		}
	})
}

// held is all lines of the operands.
func (u *Use) held(names []string) (lines []string, exit int) {
	size := 0
	exit = u.lines(names, func(line string) bool {
		if size += len(line) + 16; size > MostHeld {
			panic(ending{u.trouble(), errHeld})
		}
		lines = append(lines, line)
		return true
	})
	return lines, exit
}

// whole is all bytes of the operands.
func (u *Use) whole(names []string) (b []byte, exit int) {
	exit = u.each(names, func(s *source) bool {
		more := s.all()
		if b = append(b, more...); len(b) > MostHeld {
			panic(ending{u.trouble(), errHeld})
		}
		return true
	})
	return b, exit
}

// because is why something cannot be opened, in the words of the C library.
func because(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("No such file or directory")
	case errors.Is(err, syscall.EISDIR):
		return errors.New("Is a directory")
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		text := at.Err.Error()
		return errors.New(strings.ToUpper(text[:1]) + text[1:])
	}
	return err
}

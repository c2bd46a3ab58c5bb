// Package script reads scripts for the console: as bash reads them, but none that is nested
// so deep that a parser, or who goes through what was parsed, runs out of stack. Go ends the
// process then, and nothing can hold that up.
//
// A parser calls itself for each "(" that it meets, so how deep it is can be seen from what
// it reads from: [Parse] gives it a reader that looks at the stack each time. Start there.
package script

import (
	"errors"
	"io"
	"runtime"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// MaxSize is how many bytes a script may have.
	MaxSize = 4 << 20
	// MaxNested is how deep one part of a script may be in others.
	MaxNested = 2000
	// framesEach is how many calls the parser makes for a part in a part, at least.
	framesEach = 4
	// chunk is how much the parser gets at a time. Between two looks it can become deeper by as much.
	chunk = 256
)

// Errors of scripts that are not read.
var (
	ErrTooLong = errors.New("the script is longer than 4 MiB")
	ErrTooDeep = errors.New("the script is nested too deep: more than 2000 parts in one another")
)

// Parse reads a script in bash's language; name is for messages.
func Parse(text, name string) (*syntax.File, error) {
	if len(text) > MaxSize {
		return nil, ErrTooLong
	}
	in := &watched{text: text, base: depth(0)}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(in, name)
	if in.deep {
		return nil, ErrTooDeep
	}
	if err != nil {
		return nil, err
	}
	// "a && b && c" takes no depth to parse and some to go through.
	deep, most := 0, 0
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			deep--
			return true
		}
		deep++
		most = max(most, deep)
		return most <= MaxNested*framesEach
	})
	if most > MaxNested*framesEach {
		return nil, ErrTooDeep
	}
	return file, nil
}

// watched is what a parser reads from, which looks how deep the parser is.
type watched struct {
	text string
	base int
	deep bool
}

// Read is [io.Reader].
func (w *watched) Read(p []byte) (int, error) {
	if w.deep || depth(w.base+MaxNested*framesEach) > 0 {
		w.deep = true
		return 0, ErrTooDeep
	}
	if w.text == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), chunk)], w.text)
	w.text = w.text[n:]
	return n, nil
}

// depth is how many calls there are beyond the first so many.
func depth(beyond int) int {
	const most = 512
	var pcs [most]uintptr
	return runtime.Callers(beyond+2, pcs[:])
}

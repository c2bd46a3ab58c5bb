// Package tools has the text tools of the console: versions of the programs of the same
// names, for use in pipes. They read and write files and text, know nothing of the
// cluster, and leave no mark in the trace.
//
// Start reading at [Run]; a tool is a file.
//
// They do what GNU's programs do in the locale C.UTF-8, word for word where
// ../testdata/real has a transcript of those. Options that they lack are refused by name.
// Patterns are RE2's, so matching takes time in proportion to the text; what RE2 cannot do
// (back-references) is refused. A tool ends when its context does, holds at most [MostHeld]
// of its input and writes at most [MostWritten].
package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// Use is one use of a tool.
type Use struct {
	Context  context.Context
	Args     []string // Args[0] is the tool
	In       io.Reader
	Out, Err io.Writer
	Files    Files
	Now      func() time.Time // the cluster's
	Columns  int              // of the terminal; 0 is 80
}

// Files is where the names lead that a tool is given.
type Files interface {
	Open(name string) (io.ReadCloser, error)
	// Create opens a file for writing: empty, or at its end.
	Create(name string, atEnd bool) (io.WriteCloser, error)
	// List are the names in a folder, with a slash after those of folders; of a file,
	// its own.
	List(name string) ([]string, error)
}

// Bounds of one use of a tool.
const (
	MostHeld    = 64 << 20  // bytes of input in memory
	MostWritten = 256 << 20 // bytes of output
)

// Interrupted is the exit status of a tool whose context has ended.
const Interrupted = 130

var all = map[string]func(*Use) int{
	"base64": base64Tool, "cat": cat, "column": column, "cut": cut, "date": date, "diff": diff, "grep": grep, "egrep": grep, "fgrep": grep,
	"head": head, "hexdump": hexdump, "ls": list, "nl": numberLines, "rev": reverseLines, "sed": sed, "seq": seq, "sort": sortLines,
	"strings": printable, "tac": lastFirst, "tail": tail, "tee": tee, "tr": tr, "uniq": uniq, "wc": wc, "xxd": xxd,
}

// Names are the tools, sorted.
func Names() []string { return slices.Sorted(maps.Keys(all)) }

// ending is what a tool panics with where it cannot go on: from deep inside, as from
// a Write that fails, it is the shortest way out. Run recovers it.
type ending struct {
	exit int
	err  error // nil: nothing is to be said
}

// Run runs a tool and gives its exit status; known is false where there is none of the
// name.
func Run(use Use) (exit int, known bool) {
	run, known := all[use.Args[0]]
	if !known {
		return 127, false
	}
	u := &use
	if u.Context == nil {
		u.Context = context.Background()
	}
	u.Out = &output{u: u, w: u.Out, left: MostWritten}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case ending:
			if exit = e.exit; e.err != nil {
				u.complain(e.err)
			}
		default:
			panic(e)
		}
	}()
	return run(u), true
}

// output is a tool's output: it ends the tool when nobody reads any more, when
// its context ends, and when it has written too much.
type output struct {
	u    *Use
	w    io.Writer
	left int
}

// Write is [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	o.u.mustGoOn()
	if len(p) > o.left {
		panic(ending{2, fmt.Errorf("stopped after %d MiB of output", MostWritten>>20)})
	}
	o.left -= len(p)
	n, err := o.w.Write(p)
	if err != nil {
		panic(ending{exit: 141}) // as of SIGPIPE
	}
	return n, nil
}

// mustGoOn ends the tool if its context has ended.
func (u *Use) mustGoOn() {
	if u.Context.Err() != nil {
		panic(ending{exit: Interrupted})
	}
}

func (u *Use) complain(err error) { fmt.Fprintf(u.Err, "%s: %v\n", u.Args[0], err) }

// trouble is the exit status of a tool that was used wrongly: that of GNU's, where 1
// does not say something else.
func (u *Use) trouble() int {
	switch u.Args[0] {
	case "grep", "egrep", "fgrep", "sort", "diff", "ls":
		return 2
	}
	return 1
}

func usage(u *Use, err error) int {
	u.complain(err)
	return u.trouble()
}

var errHeld = errors.New("the input has more than 64 MiB, which is the most that a tool keeps in memory")

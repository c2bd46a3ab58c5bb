// Package tools has the text tools of the console: small versions of the programs of
// the same names, for use in pipes. They read files and write text, know nothing of
// the cluster, and leave no mark in the trace.
//
// Start reading at [Run].
//
// A control plane machine has GNU's, a container usually busybox's; these know the options that
// such pipes use, and refuse others by name.
package tools

import (
	"io"
	"maps"
	"slices"
)

// Use is one use of a tool.
type Use struct {
	Args     []string // Args[0] is the tool
	In       io.Reader
	Out, Err io.Writer
	Files    Files
}

// Files is where the names lead that a tool is given.
type Files interface {
	Open(name string) (io.ReadCloser, error)
	// List are the names in a folder, with a slash after those of folders; of a file,
	// its own.
	List(name string) ([]string, error)
}

var all = map[string]func(*Use) int{
	"cat": cat, "ls": list, "grep": grep, "head": head, "tail": tail, "sort": sortLines,
	"uniq": uniq, "wc": wc, "seq": seq, "cut": cut, "tr": tr,
	"hexdump": hexdump, "xxd": xxd, "base64": base64Tool,
}

// Names are the tools, sorted.
func Names() []string { return slices.Sorted(maps.Keys(all)) }

// Run runs a tool and gives its exit status; known is false where there is none of the
// name.
func Run(u *Use) (exit int, known bool) {
	run, known := all[u.Args[0]]
	if !known {
		return 127, false
	}
	return run(u), true
}

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// What a test may take from the machine: a test fails only because of the code. See
// raftstore/steady.

// realTime are the test files whose subject is the real machine (processes, sockets,
// terminals, its disks and its clock), each with the reason. In all others time is virtual: the
// kernel's, or a bubble's.
var realTime = map[string]string{}

// clock are the functions that make a test depend on the machine's clock.
var clock = map[string]string{
	"time.Sleep": "wait for what happens (steady.Until), or open a bubble", "time.After": "wait with steady.Until, or open a bubble",
	"time.Tick": "wait with steady.Until, or open a bubble", "time.NewTimer": "wait with steady.Until, or open a bubble",
	"time.NewTicker": "wait with steady.Until, or open a bubble", "time.Since": "what must be fast is a benchmark's; open a bubble",
	"context.WithTimeout": "wait for as long as steady.Patience, or open a bubble", "steady.RealTime": "only the files listed in realTime need it",
	"rapid.Check": "use steady.Check, whose seed is fixed",
}

// onClock are the places at which a test file depends on the machine's clock, or on a seed that
// nobody knows; benchmarks measure it.
func (s source) onClock() (found []string) {
	bubble := false
	look := func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		switch name := x.Name + "." + sel.Sel.Name; {
		case name == "steady.Bubble" || name == "synctest.Test":
			bubble = true
		case clock[name] != "":
			found = append(found, s.fset.Position(sel.Pos()).String()+": "+name+" in a test; "+clock[name])
		}
		return true
	}
	for _, d := range s.file.Decls {
		if f, ok := d.(*ast.FuncDecl); !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Benchmark") {
			ast.Inspect(d, look)
		}
	}
	if !bubble {
		return found
	}
	var rest []string // in a bubble, time is virtual
	for _, what := range found {
		if strings.Contains(what, "rapid.Check") || strings.Contains(what, "steady.RealTime") {
			rest = append(rest, what)
		}
	}
	return rest
}

func TestWhatNeedsRealTime(t *testing.T) {
	needed := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test || s.dir == "raftstore/steady" {
			continue
		}
		found := s.onClock()
		if _, ok := realTime[s.path]; ok {
			needed[s.path] = len(found) > 0
			continue
		}
		for _, what := range found {
			t.Error(what)
		}
	}
	for path, why := range realTime {
		if !needed[path] {
			t.Errorf("%s (%s) does not depend on the machine's clock; it need not be in the list", path, why)
		}
	}
}

func TestTheClockIsFound(t *testing.T) {
	for text, want := range map[string]string{
		"func TestA(t *testing.T) {\n\ttime.Sleep(1)\n\trapid.Check(t, nil)\n}":                                 "4 5",
		"func TestA(t *testing.T) {\n\tsteady.Bubble(t, nil)\n\ttime.Sleep(1)\n\trapid.Check(t, nil)\n}":        "6",
		"func BenchmarkA(b *testing.B) {\n\ttime.Since(began)\n}":                                               "",
		"func TestA(t *testing.T) {\n\tsteady.RealTime(t, \"a socket\")\n\tctx := context.WithTimeout(c, d)\n}": "4 5",
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "x.go", "package x\n\n"+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, what := range (source{fset: fset, file: f}).onClock() {
			lines = append(lines, strings.Split(what, ":")[1])
		}
		if got := strings.Join(lines, " "); got != want {
			t.Errorf("%s\nfound at the lines %q, want %q", text, got, want)
		}
	}
}

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
var realTime = map[string]string{
	"cluster/apiserver/bigrequests_test.go": aBenchmark,
	"cluster/endpoints_test.go":             aSocket,
	"cluster/etcdctl_test.go":               etcdctl,
	"cluster/fork_test.go":                  aSocket,
	"cluster/outside_test.go":               aSocket,
	"cluster/pace_test.go":                  aSocket,
	"cluster/sim/kernel_test.go":            "what the kernel waits for is a goroutine beside it",
	"cluster/soak_clients_test.go":          aSocket,
	"cluster/soak_test.go":                  aSocket,
	"cluster/without_test.go":               aSocket,

	"cluster/controller/clusterroleaggregation/upstream_test.go": upstreamsClock,
	"cluster/controller/job/upstream_test.go":                    upstreamsClock,

	"cmd/kviz/breakdown_unix_test.go":   aTerminal,
	"cmd/kviz/classown_test.go":         aSocket,
	"cmd/kviz/classproof_test.go":       aSocket,
	"cmd/kviz/edit_unix_test.go":        aTerminal,
	"cmd/kviz/lessonwatch_unix_test.go": aTerminal,
	"cmd/kviz/main_test.go":             aProcess,
	"cmd/kviz/main_unix_test.go":        aProcess,
	"cmd/kviz/plainlesson_test.go":      aProcess,
	"cmd/kviz/playthrough_unix_test.go": aTerminal,
	"cmd/kviz/present_unix_test.go":     aTerminal,
	"cmd/kviz/printedkeys_unix_test.go": aTerminal,
	"cmd/kviz/screen_unix_test.go":      aTerminal,
	"cmd/kviz/secrets_test.go":          aSocket,
	"cmd/kviz/walk_unix_test.go":        aTerminal,
	"lessons/check_test.go":             etcdctl,
	"lessons/pupils_test.go":            etcdctl,
	"tui/class/hall/hall_test.go":       aSocket,

	"raftstore/dbfile/etcd_test.go":       "an etcd beside it",
	"raftstore/dbfile/versions_test.go":   "an etcd beside it",
	"raftstore/election_test.go":          "the disk's own time",
	"raftstore/etcdapi/etcdapi_test.go":   aSocket,
	"raftstore/etcdapi/http_test.go":      aSocket,
	"raftstore/etcdapi/member_test.go":    aSocket,
	"raftstore/host/host_test.go":         "child processes, and the processor's time",
	"raftstore/remote/certs_test.go":      aMember,
	"raftstore/remote/farm_test.go":       aMember,
	"raftstore/remote/process_test.go":    aMember,
	"raftstore/remote/still_unix_test.go": aMember,
	"raftstore/tmpfs_test.go":             "a file system that runs full",
}

// Why tests elsewhere do.
const (
	aBenchmark     = "it measures for how long others wait"
	aSocket        = "programs of other processes, over sockets"
	aMember        = "members in processes of their own"
	etcdctl        = "etcdctl and etcdutl are processes"
	upstreamsClock = "upstream's controller beside it reads the machine's clock"
)

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
		if call, ok := n.(*ast.CallExpr); ok && patient(call) {
			return false
		}
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		switch name := selected(sel); {
		case name == "steady.Bubble" || name == "synctest.Test" || name == "upstreamtest.Bubble":
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

// patient reports whether a call waits, at most, for as long as all tests do.
func patient(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 || selected(sel) != "context.WithTimeout" && selected(sel) != "time.After" {
		return false
	}
	limit, ok := call.Args[len(call.Args)-1].(*ast.CallExpr)
	if !ok {
		return false
	}
	of, ok := limit.Fun.(*ast.SelectorExpr)
	return ok && selected(of) == "steady.Patience"
}

// selected is "package.Name", "" for anything else.
func selected(sel *ast.SelectorExpr) string {
	if x, ok := sel.X.(*ast.Ident); ok {
		return x.Name + "." + sel.Sel.Name
	}
	return ""
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
		"func TestA(t *testing.T) {\n\ttime.Sleep(1)\n\trapid.Check(t, nil)\n}":                                                "4 5",
		"func TestA(t *testing.T) {\n\tsteady.Bubble(t, nil)\n\ttime.Sleep(1)\n\trapid.Check(t, nil)\n}":                       "6",
		"func TestA(t *testing.T) {\n\tc := context.WithTimeout(c, steady.Patience(t))\n\t<-time.After(steady.Patience(t))\n}": "",
		"func BenchmarkA(b *testing.B) {\n\ttime.Since(began)\n}":                                                              "",
		"func TestA(t *testing.T) {\n\tsteady.RealTime(t, \"a socket\")\n\tctx := context.WithTimeout(c, d)\n}":                "4 5",
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

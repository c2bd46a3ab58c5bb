package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The rules of the house that a reader relies on, held by this test: who may
// import whom, that the simulation knows no wall clock, that every package
// says what it is.

// source is one parsed Go file of the module.
type source struct {
	path string // slash-separated, from the module root
	dir  string
	test bool
	fset *token.FileSet
	file *ast.File
}

func sources(t *testing.T) []source {
	t.Helper()
	root := filepath.Join("..", "..")
	var all []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata") {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != root {
				return filepath.SkipDir // a nested module has rules of its own
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		all = append(all, source{path: rel, dir: filepath.ToSlash(filepath.Dir(rel)), test: strings.HasSuffix(rel, "_test.go"), fset: fset, file: f})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("found only %d Go files; is the test looking in the right place?", len(all))
	}
	return all
}

// mayImport says, for a folder, which folders of the module it may import. The
// longest matching prefix counts.
var mayImport = map[string][]string{
	"cmd":                             {"tui", "lessons", "cluster", "raftstore", "assets"},
	"tui":                             {"tui", "lessons", "cluster/trace", "cluster/view", "cluster/control", "cluster/expr", "cluster/glossary", "cluster/nearest", "cluster/script", "assets"},
	"lessons":                         {"lessons", "cluster/trace", "cluster/view", "cluster/control", "cluster/expr", "cluster/nearest", "cluster/script", "assets"},
	"cluster":                         {"cluster", "raftstore", "assets"},
	"cluster/trace":                   {"cluster/trace"},
	"cluster/sim":                     {"cluster/sim", "cluster/trace"},
	"cluster/view":                    {"cluster/view", "cluster/trace", "cluster/inert", "cluster/load", "cluster/nearest"},
	"cluster/load":                    {"cluster/bound", "cluster/trace"},
	"cluster/inert":                   {},
	"cluster/glossary":                {"cluster/nearest"},
	"cluster/bound":                   {},
	"cluster/script":                  {},
	"cluster/simulated":               {"cluster/simulated"},
	"cluster/expr":                    {"cluster/expr", "cluster/view", "cluster/trace"},
	"cluster/control":                 {"cluster/trace"},
	"cluster/storage":                 {"cluster/storage", "cluster/sim", "cluster/trace", "raftstore"},
	"cluster/apiserver":               {"cluster/apiserver", "cluster/bound", "cluster/client", "cluster/idp", "cluster/jws", "cluster/kms", "cluster/openapi", "cluster/quota", "cluster/record", "cluster/remote", "cluster/sim", "cluster/stdio", "cluster/storage", "cluster/trace", "cluster/webhook", "cluster/workqueue"},
	"cluster/serve":                   {"cluster/apiserver", "cluster/client", "cluster/openapi", "cluster/remote", "cluster/sim", "cluster/stdio", "cluster/trace", "raftstore/host", "assets"},
	"cluster/controller":              {"cluster/controller", "cluster/bound", "cluster/client", "cluster/quota", "cluster/informer", "cluster/workqueue", "cluster/record", "cluster/leaderelection", "cluster/sim", "cluster/trace"},
	"cluster/controller/upstreamtest": {"cluster/controller", "cluster/client", "cluster/informer", "cluster/sim", "cluster/trace", "raftstore/steady"}, // only tests import it
	"cluster/quota":                   {"cluster/quota"},
	"cluster/scheduler":               {"cluster/scheduler", "cluster/client", "cluster/informer", "cluster/workqueue", "cluster/record", "cluster/events", "cluster/leaderelection", "cluster/sim", "cluster/trace"},
	"cluster/scheduler/program":       {"cluster/scheduler", "cluster/client", "cluster/informer", "cluster/workqueue", "cluster/record", "cluster/events", "cluster/leaderelection", "cluster/sim", "cluster/trace", "cluster/remote", "cluster/runtime"},
	"cluster/kubelet":                 {"cluster/kubelet", "cluster/client", "cluster/csi", "cluster/folder", "cluster/informer", "cluster/workqueue", "cluster/record", "cluster/runtime", "cluster/registry", "cluster/sim", "cluster/stdio", "cluster/trace"},
	"cluster/proxy":                   {"cluster/proxy", "cluster/network", "cluster/client", "cluster/informer", "cluster/workqueue", "cluster/record", "cluster/sim", "cluster/trace"},
	"raftstore":                       {"raftstore"},
	"assets":                          {"assets"},

	// Only tests import it.
	"cluster/controller/attachdetach/attachtest": {"cluster/controller", "cluster/client", "cluster/csi", "cluster/informer", "cluster/sim", "cluster/trace"},
}

// statements is where every package of the cluster says what it simplifies.
const statements = "cluster/simulated"

func TestImportsRunOneWay(t *testing.T) {
	for _, s := range sources(t) {
		if s.test { // tests may look over the fence
			continue
		}
		allowed, ok := allowedFor(s.dir)
		if !ok {
			t.Errorf("%s: the folder is not in the house (see mayImport)", s.path)
			continue
		}
		for _, imp := range s.file.Imports {
			path := strings.Trim(imp.Path.Value, `"`)
			rest, ours := strings.CutPrefix(path, "kviz/")
			if ours && rest != statements && !within(rest, allowed) {
				t.Errorf("%s imports %s; %s may import only %s", s.path, path, s.dir, strings.Join(allowed, ", "))
			}
		}
	}
}

func allowedFor(dir string) ([]string, bool) {
	for d := dir; d != "."; d = filepath.ToSlash(filepath.Dir(d)) {
		if a, ok := mayImport[d]; ok {
			return a, true
		}
	}
	return nil, false
}

func within(dir string, allowed []string) bool {
	for _, a := range allowed {
		if dir == a || strings.HasPrefix(dir, a+"/") {
			return true
		}
	}
	return false
}

// edges are the places inside cluster that touch the world outside the
// simulation, each with its reason.
var edges = map[string]string{
	"cluster/sim":                     "the kernel itself: it paces virtual time and owns the inbox",
	"cluster/serve":                   "network edge: HTTPS for clients of other processes",
	"cluster/controller/upstreamtest": "upstream's controllers, which tests run beside ours, have goroutines of their own",
	"cluster/console":                 "the console edge: kubectl is ordinary code with goroutines of its own",
	"cluster/trace/recorder.go":       "file edge: writes the recording beside the run",
	"cluster/bench":                   "measures the real machine",
	"cluster/boot.go":                 "starts the kernel's goroutine",
	"cluster/comparison.go":           "tells, beside the kernel, how long a run takes to be run again",
	"cluster/fork.go":                 "runs a run again as fast as the machine can, and compares it beside the kernel",
	"cluster/odds":                    "runs branches of a run side by side, and tells how long that takes",
	"cluster/etcd.go":                 "waits for the store's members and disks, on goroutines beside the kernel",
	"cluster/etcdctl.go":              "the console's etcdctl: etcd's API on gRPC's goroutines, and waiting for a member",
}

var realWorld = map[string]string{
	"time.Now": "use Task.Now", "time.Since": "use Task.Now", "time.Until": "use Task.Now", "time.Sleep": "use Task.Sleep",
	"time.After": "use Kernel.After", "time.AfterFunc": "use Kernel.After", "time.Tick": "use Task.Sleep",
	"time.NewTimer": "use Kernel.After", "time.NewTicker": "use Task.Sleep", "metav1.Now": "use metav1.NewTime(Task.Now())",
	"uuid.New": "draw it from Kernel.Rand", "uuid.NewUUID": "draw it from Kernel.Rand", "rand.Read": "draw from Kernel.Rand",
}

// outside are the places at which a file touches the world outside the simulation.
func (s source) outside() (found []string) {
	at := func(n ast.Node, words string) {
		found = append(found, s.fset.Position(n.Pos()).String()+": "+words)
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			at(n, "a goroutine inside the simulation; use Process.Go")
		case *ast.SelectorExpr:
			if n.Sel.Name == "Beside" || n.Sel.Name == "Contain" { // of the kernel, called or handed on
				at(n, n.Sel.Name+" runs something beside the kernel; only the edges may, else use Process.Go")
			}
			if x, ok := n.X.(*ast.Ident); ok {
				if name := x.Name + "." + n.Sel.Name; realWorld[name] != "" {
					at(n, name+" inside the simulation; "+realWorld[name])
				}
			}
		}
		return true
	})
	for _, imp := range s.file.Imports {
		if p := strings.Trim(imp.Path.Value, `"`); p == "math/rand" || p == "crypto/rand" {
			at(imp, "imports "+p+"; draw from Kernel.Rand or Task.Rand")
		}
	}
	return found
}

func TestSimulationKnowsNoWallClock(t *testing.T) {
	needed := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || !strings.HasPrefix(s.dir, "cluster") {
			continue
		}
		found := s.outside()
		if e := edgeOf(s); e != "" {
			needed[e] = needed[e] || len(found) > 0
			continue
		}
		for _, what := range found {
			t.Error(what)
		}
	}
	for e, why := range edges {
		if !needed[e] {
			t.Errorf("%s (%s) touches nothing outside the simulation; it need be no edge", e, why)
		}
	}
}

// What the rule is made of is found in a file that breaks it.
func TestTheWallClockIsFound(t *testing.T) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "x.go", `package x

import "crypto/rand"

func (c *controller) sync() {
	go c.run()
	c.k.Beside("work", c.run)
	c.contain = c.k.Contain
	_ = time.Now()
	_ = rand.Int
}
`, 0)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, what := range (source{fset: fset, file: f}).outside() {
		lines = append(lines, strings.Split(what, ":")[1])
	}
	if got := strings.Join(lines, " "); got != "6 7 8 9 3" {
		t.Errorf("found at the lines %s", got)
	}
}

// edgeOf is the edge a file belongs to, "" for none.
func edgeOf(s source) string {
	for e := range edges {
		if s.path == e || s.dir == e || strings.HasPrefix(s.dir, e+"/") {
			return e
		}
	}
	return ""
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	said, file := map[string]bool{}, map[string]string{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		file[s.dir] = s.path
		if s.file.Doc != nil && len(s.file.Doc.Text()) > 60 {
			said[s.dir] = true
		}
	}
	for dir, path := range file {
		if !said[dir] {
			t.Errorf("%s: package has no comment that says what it is (e.g. in %s)", dir, path)
		}
	}
}

func TestNoRoomCalledUtil(t *testing.T) {
	vague := regexp.MustCompile(`(^|/)(utils?|common|helpers?|managers?|types|misc|base|shared)(/|$)`)
	for _, s := range sources(t) {
		if vague.MatchString(s.dir) {
			t.Errorf("%s: name the folder after what lives there", s.dir)
		}
	}
}

func TestNoTestIsSkipped(t *testing.T) {
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				switch sel.Sel.Name {
				case "Skip", "Skipf", "SkipNow":
					if x, ok := sel.X.(*ast.Ident); ok && (x.Name == "t" || x.Name == "b" || x.Name == "f") {
						t.Errorf("%s: a skipped test proves nothing; make it run or remove it", s.fset.Position(n.Pos()))
					}
				}
			}
			return true
		})
	}
}

// A link in a comment (a name, or a package's, in brackets) leads somewhere, and so does the
// name of a file in a DESIGN.md: who reads on is not sent to what was renamed or is gone.
func TestPointersLeadSomewhere(t *testing.T) {
	all := sources(t)
	declared := map[string]map[string]bool{} // by folder: Name, Type.Member
	files := map[string]bool{}               // by path, and by name alone
	for _, s := range all {
		if declared[s.dir] == nil {
			declared[s.dir] = map[string]bool{}
		}
		declare(s.file, declared[s.dir])
		files[s.path], files[s.path[strings.LastIndex(s.path, "/")+1:]] = true, true
	}
	for _, s := range all {
		imports := map[string]string{}
		for _, i := range s.file.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			name := path[strings.LastIndex(path, "/")+1:]
			if i.Name != nil {
				name = i.Name.Name
			}
			imports[name] = path
		}
		for _, c := range s.file.Comments {
			for _, m := range docLink.FindAllStringSubmatch(c.Text(), -1) {
				if !resolves(m[1], s.dir, imports, declared) {
					t.Errorf("%v: [%s] is nothing that is there", s.fset.Position(c.Pos()), m[1])
				}
			}
		}
	}
	for _, s := range all {
		path := filepath.Join("..", "..", s.dir, "DESIGN.md")
		text, err := os.ReadFile(path)
		if os.IsNotExist(err) || files[path] {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		files[path] = true // once
		for _, m := range designFile.FindAllStringSubmatch(string(text), -1) {
			name := m[1][strings.LastIndex(m[1], "/")+1:]
			if !files[name] {
				t.Errorf("%s/DESIGN.md names %s, which is not there", s.dir, m[1])
			}
		}
	}
}

var (
	// docLink is a link to something of Go's; [CODE] and [n] are not.
	docLink = regexp.MustCompile(`(?m)(?:^|[\s(])\[\*?([a-z]\w*\.[A-Z]\w*(?:\.\w+)?|[A-Za-z]\w*\.[A-Za-z]\w*|[A-Z]+[a-z]\w*)\]`)
	// designFile is a file in parentheses or backquotes, of a folder of this module if of any.
	designFile = regexp.MustCompile("[(`]((?:[a-z0-9]+/){0,2}[a-z0-9_]+\\.go)[`),]")
)

// declare notes what a file declares.
func declare(f *ast.File, into map[string]bool) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = strings.TrimLeft(typeName(d.Recv.List[0].Type), "*") + "." + name
			}
			into[name] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						into[name.Name] = true
					}
				case *ast.TypeSpec:
					into[spec.Name.Name] = true
					declareMembers(spec, into)
				}
			}
		}
	}
}

// declareMembers notes a type's fields, or its methods if it is an interface; "Type.*" where
// others are promoted from what it embeds.
func declareMembers(spec *ast.TypeSpec, into map[string]bool) {
	var members *ast.FieldList
	switch of := spec.Type.(type) {
	case *ast.StructType:
		members = of.Fields
	case *ast.InterfaceType:
		members = of.Methods
	default:
		return
	}
	for _, m := range members.List {
		if len(m.Names) == 0 {
			into[spec.Name.Name+".*"] = true
		}
		for _, name := range m.Names {
			into[spec.Name.Name+"."+name.Name] = true
		}
	}
}

// typeName is a receiver's type, without its parameters.
func typeName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return typeName(x.X)
	case *ast.IndexExpr:
		return typeName(x.X)
	case *ast.IndexListExpr:
		return typeName(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// resolves reports whether a link from a folder leads to something declared: there, in a
// package that is imported or, in the module, has the name; others are taken to have it.
func resolves(link, dir string, imports map[string]string, declared map[string]map[string]bool) bool {
	has := func(dir, name string) bool {
		of, _, _ := strings.Cut(name, ".")
		return declared[dir][name] || declared[dir][of] && declared[dir][of+".*"]
	}
	if has(dir, link) {
		return true
	}
	pkg, name, of := strings.Cut(link, ".")
	if !of {
		return false
	}
	if path, imported := imports[pkg]; imported {
		in, ours := strings.CutPrefix(path, "kviz/")
		return !ours || has(in, name)
	}
	for in := range declared {
		if in[strings.LastIndex(in, "/")+1:] == pkg && has(in, name) {
			return true
		}
	}
	return false
}

// What kviz writes is its user's alone, for a run holds what was typed and stored; so each call in cmd
// that makes a file for others too stands here, with the reason.
func TestWhatIsWrittenIsItsOwners(t *testing.T) {
	open := map[string]string{
		"cmd/kviz/bench.go":     "profiles of a benchmark, which has nobody's data",
		"cmd/kviz/cluster.go":   "the file clock, which holds a date",
		"cmd/kviz/lessonnew.go": "a draft, for the teacher to edit",
	}
	found := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || !strings.HasPrefix(s.path, "cmd/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			wide := false
			switch n := n.(type) {
			case *ast.BasicLit:
				mode, err := strconv.ParseUint(strings.TrimPrefix(n.Value, "0o"), 8, 32)
				wide = strings.HasPrefix(n.Value, "0o") && err == nil && mode > 0o100 && mode&0o077 != 0
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				wide = ok && x.Name == "os" && n.Sel.Name == "Create"
			}
			if wide && open[s.path] == "" {
				t.Errorf("%s: makes a file that others may read", s.fset.Position(n.Pos()))
			}
			found[s.path] = found[s.path] || wide
			return true
		})
	}
	for path, why := range open {
		if !found[path] {
			t.Errorf("%s makes nothing for others any more (%s)", path, why)
		}
	}
}

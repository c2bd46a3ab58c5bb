package inert_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// listed is what go list tells of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// reads are the fields of the API's types that the code of some folders of the cluster, and of
// those below them, reads: by folder, "PodSpec.HostAliases". They are found by their types: that
// a field of another type is called the same is not enough. What is only assigned to is not read.
func reads(t *testing.T, folders []string) map[string]map[string]bool {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}
	for _, f := range folders {
		args = append(args, "kviz/cluster/"+f+"/...")
	}
	list := exec.Command("go", args...)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := map[string]listed{}
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := in.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages[p.ImportPath] = p
	}
	files := token.NewFileSet()
	from := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(packages[path].Export) })
	fields := map[types.Object]string{}
	for path := range packages {
		if strings.HasPrefix(path, "k8s.io/api/") || strings.HasPrefix(path, "k8s.io/kubernetes/pkg/apis/") {
			pkg, err := from.Import(path)
			if err != nil {
				t.Fatal(err)
			}
			fieldsOf(pkg, fields)
		}
	}
	found := map[string]map[string]bool{}
	for _, f := range folders {
		found[f] = map[string]bool{}
	}
	for path, p := range packages {
		for _, f := range folders {
			if in := "kviz/cluster/" + f; path == in || strings.HasPrefix(path, in+"/") {
				readIn(t, files, from, p, fields, found[f])
			}
		}
	}
	return found
}

// fieldsOf enters the fields of a package's structs by their types' names and their own.
func fieldsOf(pkg *types.Package, fields map[types.Object]string) {
	for _, name := range pkg.Scope().Names() {
		if s, ok := pkg.Scope().Lookup(name).Type().Underlying().(*types.Struct); ok {
			for f := range s.Fields() {
				fields[f] = name + "." + f.Name()
			}
		}
	}
}

// readIn enters what of the fields a package reads.
func readIn(t *testing.T, files *token.FileSet, from types.Importer, p listed, fields map[types.Object]string, found map[string]bool) {
	t.Helper()
	var parsed []*ast.File
	assigned := map[ast.Expr]bool{}
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
		ast.Inspect(f, func(n ast.Node) bool {
			if a, ok := n.(*ast.AssignStmt); ok && a.Tok == token.ASSIGN {
				for _, to := range a.Lhs {
					assigned[to] = true
				}
			}
			return true
		})
	}
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
	if _, err := (&types.Config{Importer: from}).Check(p.ImportPath, files, parsed, info); err != nil {
		t.Fatal(err)
	}
	for at, s := range info.Selections {
		if name := fields[s.Obj()]; name != "" && !assigned[at] {
			found[name] = true
		}
	}
}

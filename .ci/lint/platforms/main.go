// Command platforms type-checks a module, its tests too, for every system that kviz is
// released for, without compiling: declarations of whatever it depends on, bodies of its
// own packages. Run it in the module's root:
//
//	platforms ./...
//
// It prints what does not type-check, and ends with 1 if there is any. A build of one
// system takes minutes of processor time, this some seconds; what is left to a real
// build is the linking.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

var targets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

func main() {
	var (
		files parsed
		wg    sync.WaitGroup
		bad   = make([]error, len(targets))
		slots = make(chan struct{}, 2) // one holds the declarations of two thousand packages
	)
	for i, target := range targets {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			began := time.Now()
			n, err := check(&files, target, os.Args[1:])
			fmt.Printf("%-14s %d packages, %.0f s\n", target, n, time.Since(began).Seconds())
			bad[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(bad...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// listed is a package as go list tells of it.
type listed struct {
	Dir, ImportPath, Name, ForTest string
	GoFiles                        []string
	ImportMap                      map[string]string
	DepOnly                        bool
	Error                          *struct{ Err string }
	Module                         *struct {
		Main      bool
		GoVersion string
	}
}

// ours reports whether a package is to be checked with its bodies: those of the module,
// and of what is compiled anew for a test only what that test is of.
func (p *listed) ours() bool {
	path, _, _ := strings.Cut(p.ImportPath, " ")
	return p.Module != nil && p.Module.Main && (p.ForTest == "" || strings.TrimSuffix(path, "_test") == p.ForTest)
}

// check type-checks for one target; it gives how many packages there are.
func check(files *parsed, target string, patterns []string) (n int, err error) {
	goos, arch, _ := strings.Cut(target, "/")
	list := exec.Command("go", append([]string{"list", "-e", "-deps", "-test", "-json=Dir,ImportPath,Name,ForTest,GoFiles,ImportMap,DepOnly,Error,Module"}, patterns...)...)
	list.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := list.Start(); err != nil {
		return 0, err
	}
	var bad []error
	done := map[string]*types.Package{"unsafe": types.Unsafe}
	for d := json.NewDecoder(out); ; { // what a package imports comes before it
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return n, errors.Join(err, list.Wait())
		}
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") { // a test's main is made by go test
			continue
		}
		n++
		if p.Error != nil {
			bad = append(bad, fmt.Errorf("%s: %s: %s", target, p.ImportPath, p.Error.Err))
		}
		var syntax []*ast.File
		for _, name := range p.GoFiles {
			f, err := files.parse(filepath.Join(p.Dir, name))
			if err != nil {
				bad = append(bad, fmt.Errorf("%s: %w", target, err))
				continue
			}
			syntax = append(syntax, f)
		}
		path, _, _ := strings.Cut(p.ImportPath, " ")
		conf := types.Config{
			Importer: importer{done, p.ImportMap}, FakeImportC: true, Sizes: types.SizesFor("gc", arch), IgnoreFuncBodies: !p.ours(),
			Error: func(err error) { bad = append(bad, fmt.Errorf("%s: %w", target, err)) },
		}
		if p.Module != nil && p.Module.GoVersion != "" {
			conf.GoVersion = "go" + p.Module.GoVersion
		}
		done[p.ImportPath], _ = conf.Check(path, files.set(), syntax, nil) // its errors are in bad
	}
	return n, errors.Join(append(bad, list.Wait())...)
}

// importer finds the packages that were checked before.
type importer struct {
	done  map[string]*types.Package
	names map[string]string // what an import of this package stands for, where that is another path
}

func (i importer) Import(path string) (*types.Package, error) {
	if to, ok := i.names[path]; ok {
		path = to
	}
	if p := i.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s is not there", path)
}

// parsed keeps syntax trees, which most targets have in common.
type parsed struct {
	once  sync.Once
	fset  *token.FileSet
	mu    sync.Mutex
	files map[string]*ast.File
}

func (p *parsed) set() *token.FileSet {
	p.once.Do(func() { p.fset, p.files = token.NewFileSet(), map[string]*ast.File{} })
	return p.fset
}

func (p *parsed) parse(path string) (*ast.File, error) {
	fset := p.set()
	p.mu.Lock()
	f := p.files[path]
	p.mu.Unlock()
	if f != nil {
		return f, nil
	}
	f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files[path] = f
	return f, nil
}

// Command templates makes smaller programs possible: it writes a text/template that looks
// only for methods whose names stand in a template of the program, and what go build
// -overlay needs to take it.
//
//	go build -overlay "$(templates -out DIR ./cmd/kviz)" ./cmd/kviz
//
// Go's templates look for a method by whatever name they meet, so that the linker keeps
// every exported method of every type in a program that has templates: a fifth of kviz,
// which has them for kubectl's help and for get -o go-template. With the names written
// out it keeps the methods that are called so. A template of kubectl's user has only maps,
// texts and numbers before it, which have no methods.
//
// Run it in the module's root, with the GOOS and GOARCH of the program.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/format"
	"go/scanner"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

func main() {
	out := flag.String("out", "", "the folder to write to")
	flag.Parse()
	overlay, err := run(*out, flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, "templates:", err)
		os.Exit(1)
	}
	fmt.Println(overlay)
}

type pkg struct {
	ImportPath          string
	Dir                 string
	GoFiles, EmbedFiles []string
}

func run(out, program string) (string, error) {
	packages, err := list(program)
	if err != nil {
		return "", err
	}
	names, upstream := map[string]bool{}, ""
	for _, p := range packages {
		if p.ImportPath == "text/template" {
			upstream = filepath.Join(p.Dir, "exec.go")
		}
		if err := p.collect(names); err != nil {
			return "", err
		}
	}
	source, err := os.ReadFile(upstream)
	if err != nil {
		return "", err
	}
	if source, err = withNames(source, slices.Sorted(maps.Keys(names))); err != nil {
		return "", fmt.Errorf("%s: %w", upstream, err)
	}
	ours, overlay := filepath.Join(out, "exec.go"), filepath.Join(out, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {upstream: ours}})
	if err != nil {
		return "", err
	}
	return overlay, errors.Join(os.MkdirAll(out, 0o755), os.WriteFile(ours, source, 0o644), os.WriteFile(overlay, replace, 0o644))
}

// list has the packages of which a program is made.
func list(program string) (packages []pkg, err error) {
	c := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,EmbedFiles", program)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

// collect takes the names in a package's templates, which are texts in its code or files
// that it embeds.
func (p pkg) collect(names map[string]bool) error {
	for _, f := range p.EmbedFiles {
		text, err := os.ReadFile(filepath.Join(p.Dir, f))
		if err != nil {
			return err
		}
		find(string(text), names)
	}
	for _, f := range p.GoFiles {
		code, err := os.ReadFile(filepath.Join(p.Dir, f))
		if err != nil {
			return err
		}
		if !bytes.Contains(code, []byte("{{")) && !bytes.Contains(code, []byte("}}")) {
			continue
		}
		var s scanner.Scanner
		s.Init(token.NewFileSet().AddFile(f, -1, len(code)), code, nil, 0)
		for {
			_, tok, lit := s.Scan()
			if tok == token.EOF {
				break
			}
			if tok == token.STRING {
				text, err := strconv.Unquote(lit)
				if err != nil {
					return fmt.Errorf("%s: %w", f, err)
				}
				find(text, names)
			}
		}
	}
	return nil
}

var field = regexp.MustCompile(`\.([A-Z]\w*)`)

// find takes all that may be a field or a method from what may be a template or a part of
// one. A name too much does no harm, but for reflect's own: where they may be called the
// linker keeps everything again.
func find(text string, names map[string]bool) {
	if !utf8.ValidString(text) || !strings.Contains(text, "{{") && !strings.Contains(text, "}}") {
		return
	}
	for _, m := range field.FindAllStringSubmatch(text, -1) {
		if m[1] != "Method" && m[1] != "MethodByName" {
			names[m[1]] = true
		}
	}
}

const search = "ptr.MethodByName(fieldName)"

// withNames is text/template's exec.go with the names for which it looks written out.
func withNames(source []byte, names []string) ([]byte, error) {
	if n := bytes.Count(source, []byte("MethodByName(")); n != 1 || !bytes.Contains(source, []byte(search)) {
		return nil, fmt.Errorf("it looks for methods in %d places; one was expected, %s", n, search)
	}
	b := bytes.NewBuffer(bytes.Replace(source, []byte(search), []byte("methodNamed(ptr, fieldName)"), 1))
	fmt.Fprintf(b, "\nfunc methodNamed(v reflect.Value, name string) reflect.Value {\nswitch name {\n")
	for _, name := range names {
		fmt.Fprintf(b, "case %q:\nreturn v.MethodByName(%[1]q)\n", name)
	}
	fmt.Fprint(b, "}\nreturn reflect.Value{}\n}\n")
	return format.Source(b.Bytes())
}

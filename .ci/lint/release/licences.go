package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// licence is how files are called that say under which terms a program may be passed on.
var licence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|unlicense)([.-].*)?$`)

// licences are those of every module that has a package in the program, and Go's. A
// module may hold code of others in folders with licences of their own.
func licences(goos, arch, program string) ([]file, error) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	list := exec.Command("go", "list", "-deps", "-json=Dir,Module", program)
	list.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := list.Start(); err != nil {
		return nil, err
	}
	found := map[string]file{}
	modules := map[string]bool{} // with a licence or without
	for d := json.NewDecoder(out); ; {
		var p struct {
			Dir    string
			Module *struct {
				Path, Version, Dir string
				Main               bool
			}
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, errors.Join(err, list.Wait())
		}
		root, name := strings.TrimSpace(string(goroot)), "go"
		switch {
		case p.Module != nil && p.Module.Main:
			continue // its own stands beside the program
		case p.Module != nil:
			root, name = p.Module.Dir, p.Module.Path+"@"+p.Module.Version
		}
		modules[name] = modules[name] || false
		for dir := p.Dir; ; dir = filepath.Dir(dir) {
			if err := collect(found, root, dir, name); err != nil {
				return nil, errors.Join(err, list.Wait())
			}
			if dir == root || len(dir) <= len(root) {
				break
			}
		}
	}
	if err := list.Wait(); err != nil {
		return nil, err
	}
	var files []file
	for _, f := range found {
		files = append(files, f)
		for name := range modules {
			if strings.HasPrefix(f.name, "licences/"+name+"/") {
				modules[name] = true
			}
		}
	}
	var bad []error
	for name, has := range modules {
		if !has {
			bad = append(bad, fmt.Errorf("%s says nowhere under which terms it may be passed on", name))
		}
	}
	return files, errors.Join(bad...)
}

// collect takes what a folder of a module says of licences.
func collect(into map[string]file, root, dir, module string) error {
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join("licences", module, filepath.ToSlash(rel), e.Name())
		if _, seen := into[name]; seen || e.IsDir() || !licence.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		into[name] = file{name: name, text: text}
	}
	return nil
}

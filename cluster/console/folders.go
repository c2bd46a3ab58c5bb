package console

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"kviz/cluster/console/tools"
)

// runTool runs a text tool; known is false where there is none of the name.
func runTool(inv *Invocation) (exit int, known bool) {
	return tools.Run(&tools.Use{Args: inv.Args, In: inv.In, Out: inv.Out, Err: inv.Err, Files: folders{inv}})
}

// folders are where the names lead that a tool is given: to the files of an API server's
// machine, to the disk, and to the embedded manifests.
type folders struct{ inv *Invocation }

// onDisk takes a name from the console's folder on.
func (f folders) onDisk(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(f.inv.Dir, name)
}

// Open is tools.Files.
func (f folders) Open(name string) (io.ReadCloser, error) {
	if b, ok := f.planeFile(name); ok {
		return io.NopCloser(bytes.NewReader(b)), nil
	}
	if f.inv.machine != nil {
		return nil, fs.ErrNotExist
	}
	file, err := os.Open(f.onDisk(name))
	if err == nil {
		return file, nil
	}
	if m := f.inv.Console.cfg.Manifests; m != nil {
		if e, merr := m.Open(filepath.ToSlash(filepath.Clean(name))); merr == nil {
			return e, nil
		}
	}
	return nil, err
}

// read is all of a file, or of the standard input for "-".
func (f folders) read(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(f.inv.In)
	}
	r, err := f.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: no such file", name)
	}
	defer r.Close()
	return io.ReadAll(r)
}

// List is tools.Files.
func (f folders) List(dir string) ([]string, error) {
	if _, planes := f.planeFile(dir); planes {
		return []string{dir}, nil
	}
	at := f.onDisk(dir)
	if info, err := os.Stat(at); err == nil && !info.IsDir() {
		return []string{dir}, nil
	}
	found, err := os.ReadDir(at)
	if m := f.inv.Console.cfg.Manifests; m != nil && !filepath.IsAbs(dir) {
		name := filepath.ToSlash(filepath.Clean(dir))
		if info, ferr := fs.Stat(m, name); ferr == nil && !info.IsDir() {
			return []string{dir}, nil
		}
		if more, merr := fs.ReadDir(m, name); merr == nil {
			found, err = append(found, more...), nil
		}
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range found {
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// planeFile is what a file of the control plane's machine holds: the audit log, and what
// the API server is configured with. Of several machines it is the first one's, unless
// the tool runs on another.
func (f folders) planeFile(name string) ([]byte, bool) {
	plane := f.inv.Console.cfg.ControlPlane
	if plane == nil || !path.IsAbs(name) {
		return nil, false
	}
	var b []byte
	err := fs.ErrNotExist
	if f.inv.Console.cfg.Kernel.Do(func() {
		machine := f.inv.machine
		if machine == nil {
			first, noServer := plane.Servers.At("")
			if noServer != nil {
				return
			}
			machine = first.Machine
		}
		b, err = machine.ReadFile(path.Clean(name))
	}) != nil {
		return nil, false // the simulation has stopped
	}
	return b, err == nil
}

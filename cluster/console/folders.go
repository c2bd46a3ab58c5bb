package console

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"kviz/cluster/console/command"
	"kviz/cluster/console/tools"
	"kviz/cluster/console/verbs"
)

// runTool runs a text tool.
func runTool(ctx context.Context, inv *command.Invocation) int {
	now := func() (at time.Time) {
		_ = inv.Kernel.Do(func() { at = inv.Kernel.Now() })
		return at
	}
	exit, _ := tools.Run(tools.Use{Context: ctx, Args: inv.Args, In: inv.In, Out: inv.Out, Err: inv.Err, Files: inv.Files, Now: now, Columns: inv.Columns})
	return exit
}

// folders are where the names lead that a command is given: to the files of an API
// server's machine, to the disk, and to the embedded manifests.
type folders struct {
	c      *Console
	dir    string       // where the session stands
	within *confinement // nil: every file
}

// onDisk takes a name from the console's folder on; a confined session's leads into its folder only.
func (f folders) onDisk(name string) (string, error) {
	switch {
	case f.within != nil:
		return f.within.reach(f.dir, name)
	case filepath.IsAbs(name):
		return name, nil
	}
	return filepath.Join(f.dir, name), nil
}

// Open is command.Files.
func (f folders) Open(name string) (io.ReadCloser, error) {
	if r, err := f.machine(name).Open(name); err == nil {
		return r, nil
	}
	at, err := f.onDisk(name)
	if err == nil {
		var file *os.File
		if file, err = os.Open(at); err == nil {
			return file, nil
		}
	}
	if m := f.c.cfg.Manifests; m != nil {
		if e, merr := m.Open(filepath.ToSlash(filepath.Clean(name))); merr == nil {
			return e, nil
		}
	}
	return nil, err
}

// Create is command.Files: a file on the disk, in a confined session one of its folder.
func (f folders) Create(name string, atEnd bool) (io.WriteCloser, error) {
	how := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if atEnd {
		how = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	switch {
	case name == os.DevNull:
		return os.OpenFile(name, how, 0)
	case f.within != nil:
		return f.within.create(f.dir, name, how)
	}
	at, err := f.onDisk(name)
	if err != nil {
		return nil, err
	}
	return os.OpenFile(at, how, 0o666)
}

// List is command.Files.
func (f folders) List(dir string) ([]string, error) {
	if found, err := f.machine(dir).List(dir); err == nil {
		return found, nil
	}
	at, err := f.onDisk(dir)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(at); err == nil && !info.IsDir() {
		return []string{dir}, nil
	}
	found, err := os.ReadDir(at)
	if m := f.c.cfg.Manifests; m != nil && !filepath.IsAbs(dir) {
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

// machine is the disk of the first API server's machine, where a whole name may lead.
func (f folders) machine(name string) (files machineFiles) {
	plane := f.c.cfg.Verbs.ControlPlane
	if plane == nil || !path.IsAbs(name) {
		return machineFiles{}
	}
	files.kernel = f.c.kernel
	_ = f.c.kernel.Do(func() {
		if first, err := plane.Servers.At(""); err == nil {
			files.Machine = first.Machine
		}
	})
	return files
}

// machineFiles are those of an API server's machine: the audit log, and what the API
// server is configured with.
type machineFiles struct {
	kernel *command.Kernel
	verbs.Machine
}

// Open is command.Files.
func (m machineFiles) Open(name string) (io.ReadCloser, error) {
	if m.Machine == nil || !path.IsAbs(name) {
		return nil, fs.ErrNotExist
	}
	var b []byte
	err := fs.ErrNotExist
	if stopped := m.kernel.Do(func() { b, err = m.ReadFile(path.Clean(name)) }); stopped != nil {
		return nil, stopped
	}
	if err != nil {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

// Create is command.Files: the components write these files, nobody else.
func (machineFiles) Create(name string, _ bool) (io.WriteCloser, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
}

// List is command.Files: the name of a file itself, for a machine has no folders.
func (m machineFiles) List(name string) ([]string, error) {
	r, err := m.Open(name)
	if err != nil {
		return nil, err
	}
	return []string{name}, r.Close()
}

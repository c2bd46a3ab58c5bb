package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"kviz/raftstore/host"
)

// A kviz has folders of its own: in the runtime directory one for what it serves
// (kubeconfig, certificates, where it is reached), and one for temporary files, the logs
// of a store without --data-dir among them. Each carries in its name the process that it
// is of, so that what a kviz left behind that was killed is removed by the next one.

// runtimeDir is where the folders of serving kviz are.
func runtimeDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		return filepath.Join(dir, "kviz")
	}
	if os.Getuid() < 0 { // Windows, where the user's folder of temporary files is the user's own
		return filepath.Join(temporary, "kviz-run")
	}
	return filepath.Join(temporary, "kviz-"+strconv.Itoa(os.Getuid()))
}

// temporary is the machine's folder for temporary files, as it was before this process
// took one of its own.
var temporary = os.TempDir()

// trusted says why what stands in the runtime directory is not trusted; nil if it is, or if there
// is nothing. What is read there says which programs to start, so nobody else may have written it.
func trusted(path string) error {
	err := host.Private(path)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("runtime directory: %w; kviz trusts only what you own and nobody else may write: remove it, or set XDG_RUNTIME_DIR to a folder of your own", err)
}

// servedDir makes this process's folder in the runtime directory.
func servedDir() (string, error) {
	dir := runtimeDir()
	if err := trusted(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("runtime directory: %w", err)
	}
	// In a folder for everybody somebody else may have made it a moment before.
	if err := trusted(dir); err != nil {
		return "", err
	}
	removeLeft(dir, "")
	own := filepath.Join(dir, owner())
	if err := errors.Join(os.RemoveAll(own), os.Mkdir(own, 0o700)); err != nil {
		return "", fmt.Errorf("runtime directory: %w", err)
	}
	return own, nil
}

// scratchPrefix begins the name of a process's folder for temporary files.
const scratchPrefix = "kviz-tmp-"

// scratch has this process put its temporary files into a folder of its own, until the
// function it returns removes it.
func scratch() (remove func(), err error) {
	removeLeft(temporary, scratchPrefix)
	dir, err := os.MkdirTemp(temporary, scratchPrefix+owner()+"-")
	if err != nil {
		return nil, err
	}
	restore := map[string]func(){}
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} { // the last two on Windows
		restore[name] = func() { os.Unsetenv(name) }
		if value, was := os.LookupEnv(name); was {
			restore[name] = func() { os.Setenv(name, value) }
		}
		os.Setenv(name, dir)
	}
	return func() {
		for _, back := range restore {
			back()
		}
		os.RemoveAll(dir) // what cannot be removed is left to the next kviz
	}, nil
}

// owner is this process in the name of a folder: its number, and in which namespace of
// process numbers that holds: containers may share a folder.
func owner() string { return strconv.Itoa(os.Getpid()) + "." + namespace() }

func namespace() string {
	link, err := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	if err != nil {
		return "0"
	}
	return strings.Trim(strings.TrimPrefix(link, "pid:"), "[]")
}

// ownerOf is the process that a folder is of; false where nobody here can know.
func ownerOf(name, prefix string) (pid int, known bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	rest, _, _ = strings.Cut(rest, "-")
	number, ns, _ := strings.Cut(rest, ".")
	pid, err := strconv.Atoi(number)
	return pid, ok && err == nil && ns == namespace()
}

// removeLeft removes this user's folders of processes that are gone.
func removeLeft(dir, prefix string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if pid, known := ownerOf(e.Name(), prefix); known && e.IsDir() && !host.Alive(pid) && host.Private(path) == nil {
			os.RemoveAll(path)
		}
	}
}

//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// What is served until a signal ends it: testdata/unix/*.txtar. Windows cannot send one to
// another process.
func TestServingEndsInOrder(t *testing.T) {
	runScripts(t, "testdata/unix", map[string]func(*testscript.TestScript, bool, []string){"terminate": terminate, "signalled": signalled})
}

// terminate sends SIGTERM to the kviz that is being served.
func terminate(ts *testscript.TestScript, _ bool, _ []string) {
	files, err := filepath.Glob(ts.MkAbs("kviz/*/endpoints.json"))
	ts.Check(err)
	if len(files) != 1 {
		ts.Fatalf("not one kviz is being served, but %q", files)
	}
	var s served
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(files[0])), &s))
	p, err := os.FindProcess(s.PID)
	ts.Check(err)
	ts.Check(p.Signal(syscall.SIGTERM))
}

// signalled SIGNAL PATTERN ARGUMENTS runs kviz, sends it the signal when a line of its output
// matches, and fails if that does not end it.
func signalled(ts *testscript.TestScript, _ bool, args []string) {
	sent := map[string]os.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT}[args[0]]
	path, err := exec.LookPath("kviz")
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), patience(ts))
	defer cancel()
	c := exec.CommandContext(ctx, path, args[2:]...)
	for _, name := range []string{"XDG_RUNTIME_DIR", "HOME", "TMPDIR"} {
		c.Env = append(c.Env, name+"="+ts.Getenv(name))
	}
	out, err := c.StdoutPipe()
	ts.Check(err)
	ts.Check(c.Start())
	lines, line := bufio.NewScanner(out), regexp.MustCompile(args[1])
	for lines.Scan() && !line.MatchString(lines.Text()) {
	}
	ts.Check(c.Process.Signal(sent))
	_ = c.Wait() // by the signal, or in its own way
	if ctx.Err() != nil {
		ts.Fatalf("%q did not end by SIG%s", args[2:], args[0])
	}
}

// What kviz env prints is run by a shell, so it is taken only from a folder that the user owns and
// nobody else may write, with XDG_RUNTIME_DIR and without; and nothing is served from another.
func TestOnlyOnesOwnRuntimeFolder(t *testing.T) {
	const somebody = 65534
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// plant makes a runtime directory as a kviz that serves leaves it.
	plant := func(t *testing.T, dir string) (own, file string) {
		own = filepath.Join(dir, owner())
		file = filepath.Join(own, endpointsFile)
		must(os.MkdirAll(own, 0o700))
		must(os.WriteFile(file, []byte(`{"APIServer":"https://127.0.0.1:1","Kubeconfig":"/planted"}`), 0o600))
		return own, file
	}
	open := func(mode os.FileMode) func(string) { return func(path string) { must(os.Chmod(path, mode)) } }
	given := func(path string) { must(os.Chown(path, somebody, somebody)) }
	linked := func(path string) {
		must(os.Rename(path, path+".real"))
		must(os.Symlink(path+".real", path))
	}
	for _, c := range []struct {
		name     string
		do       func(string)
		root     bool // only the administrator can set it up
		readable bool
	}{
		{name: "one's own", do: func(string) {}, readable: true},
		{name: "readable", do: open(0o755), readable: true},
		{name: "writable by the group", do: open(0o720)},
		{name: "writable by all", do: open(0o777)},
		{name: "another user's", do: given, root: true},
		{name: "a link", do: linked},
	} {
		if c.root && os.Geteuid() != 0 {
			continue
		}
		for _, which := range []string{"runtime directory", "folder of a process", "file"} {
			for _, xdg := range []bool{false, true} {
				t.Run(c.name+"/"+which, func(t *testing.T) {
					shared := t.TempDir()
					must(os.Chmod(shared, 0o777|os.ModeSticky))
					was := temporary
					temporary = shared
					defer func() { temporary = was }()
					t.Setenv("XDG_RUNTIME_DIR", "")
					if xdg {
						t.Setenv("XDG_RUNTIME_DIR", shared)
					}
					dir := runtimeDir()
					own, file := plant(t, dir)
					c.do(map[string]string{"runtime directory": dir, "folder of a process": own, "file": file}[which])
					var out, errs bytes.Buffer
					exit := dispatch(t.Context(), streams{strings.NewReader(""), &out, &errs}, []string{"env"})
					if c.readable && (exit != 0 || out.String() != "export KUBECONFIG=/planted\n") {
						t.Errorf("kviz env: exit %d, %q, %s", exit, out.String(), errs.String())
					}
					if !c.readable && (exit == 0 || out.Len() > 0 || !strings.Contains(errs.String(), "set XDG_RUNTIME_DIR to a folder of your own")) {
						t.Errorf("kviz env trusts it: exit %d, %q, %s", exit, out.String(), errs.String())
					}
					if which != "runtime directory" {
						return
					}
					made, err := servedDir()
					if c.readable != (err == nil) {
						t.Errorf("to serve from it: %q, %v", made, err)
					}
					if _, err := os.Stat(filepath.Join(dir, owner(), endpointsFile)); !c.readable && err != nil {
						t.Errorf("refused, it is not as it was: %v", err)
					}
				})
			}
		}
	}
	if os.Geteuid() == 0 { // XDG_RUNTIME_DIR itself is another user's, as after su
		theirs := filepath.Join(t.TempDir(), "run")
		must(os.Mkdir(theirs, 0o700))
		given(theirs)
		t.Setenv("XDG_RUNTIME_DIR", theirs)
		if made, err := servedDir(); err == nil || !strings.Contains(err.Error(), "belongs to user 65534") {
			t.Errorf("served from %q: %v", made, err)
		}
		if left, _ := os.ReadDir(theirs); len(left) > 0 {
			t.Errorf("refused, it left %v there", left)
		}
	}
}

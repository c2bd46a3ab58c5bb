//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

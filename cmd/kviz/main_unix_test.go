//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// What is served until a signal ends it: testdata/unix/*.txtar. Windows cannot send one to
// another process.
func TestServingEndsInOrder(t *testing.T) {
	runScripts(t, "testdata/unix", map[string]func(*testscript.TestScript, bool, []string){"terminate": terminate})
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

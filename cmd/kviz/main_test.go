package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"kviz": func() { os.Exit(Main()) }})
}

// The command line as its users meet it: testdata/*.txtar.
func TestCommandLine(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata", UpdateScripts: os.Getenv("KVIZ_REWRITE") == "1",
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_RUNTIME_DIR", e.WorkDir)
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("TMPDIR", e.WorkDir)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"waitfor": waitFor, "findid": findID, "terminate": terminate,
			"breakoff": changed(func(b []byte) []byte { return b[:len(b)-6] }), // within the mark of its end
			"damage":   changed(func(b []byte) []byte { b[len(b)-40] ^= 0xff; return b }),
			"newer":    changed(func(b []byte) []byte { binary.LittleEndian.PutUint16(b[8:], 9); return b }),
		},
	})
}

// waitFor FILE waits until a program in the background has written a file.
func waitFor(ts *testscript.TestScript, _ bool, args []string) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 6000 {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		<-tick.C
	}
	ts.Fatalf("%s was not written within 30 s", args[0])
}

// findID PATTERN NAME puts the number of the last event on standard output
// that the pattern matches into an environment variable.
func findID(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile(`(?m)^#(\S+) .*`+args[0]).FindAllStringSubmatch(ts.ReadFile("stdout"), -1)
	if len(found) == 0 {
		ts.Fatalf("no event matches %s", args[0])
	}
	ts.Setenv(args[1], found[len(found)-1][1])
}

// changed is a command FROM TO that writes a changed copy of a file.
func changed(how func([]byte) []byte) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		b := bytes.Clone([]byte(ts.ReadFile(args[0])))
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), how(b), 0o600))
	}
}

// terminate sends SIGTERM to the kviz that is being served.
func terminate(ts *testscript.TestScript, _ bool, _ []string) {
	var s served
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("kviz/endpoints.json")), &s))
	ts.Check(syscall.Kill(s.PID, syscall.SIGTERM))
}

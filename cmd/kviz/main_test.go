package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"kviz": func() { os.Exit(Main()) }})
}

// The command line as its users meet it: testdata/*.txtar.
func TestCommandLine(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata", UpdateScripts: os.Getenv("KVIZ_REWRITE") == "1",
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_RUNTIME_DIR", e.WorkDir)
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("TMPDIR", e.WorkDir)
			return nil
		}})
}

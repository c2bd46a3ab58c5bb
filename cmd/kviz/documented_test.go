package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// documented OUT FILE HEADING [OLD NEW]… writes the commands that stand under a heading of a
// file of the repository into a file, with words replaced: so a document's commands
// are run as they are, except for addresses.
func documented(ts *testscript.TestScript, _ bool, args []string) {
	text, err := os.ReadFile(filepath.Join(repository, args[1]))
	ts.Check(err)
	var script []string
	here := false
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			here = strings.TrimSpace(strings.TrimLeft(line, "#")) == args[2]
		}
		if command, ok := strings.CutPrefix(line, "    "); ok && here {
			script = append(script, command)
		}
	}
	if len(script) == 0 {
		ts.Fatalf("%s has no commands under %q", args[1], args[2])
	}
	out := strings.NewReplacer(args[3:]...).Replace(strings.Join(script, ""))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(out), 0o600))
}

// repository is where the sources are.
var repository = func() string {
	dir, err := filepath.Abs("../..") // tests run in their package's folder
	if err != nil {
		panic(err)
	}
	return dir
}()

package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "k8s.io/apiserver/pkg/storage/etcd3" // its tests are built in this module
)

// etcd3 is the package whose tests run.
const etcd3 = "k8s.io/apiserver/pkg/storage/etcd3"

// cannot are the tests that do not pass here, with the reason.
var cannot = map[string]string{}

// TestStorageConformance runs every test of the API server's storage package
// against kviz' store. KVIZ_PEER=etcd runs them against real etcd instead, as
// they come.
func TestStorageConformance(t *testing.T) {
	args := []string{"test", "-json", "-count=1"}
	if os.Getenv("KVIZ_PEER") != "etcd" {
		args = append(args, "-modfile", modified(t))
	}
	results, logs := run(t, append(args, etcd3))
	// Some count requests, and see the storage's own polling too when the machine
	// is slow. What fails must fail a second time, with nothing before it.
	if again := failedTests(results); len(again) > 0 {
		t.Logf("once more: %v", again)
		second, said := run(t, append(args, "-run", "^("+strings.Join(again, "|")+")$", etcd3))
		maps.Copy(results, second)
		maps.Copy(logs, said)
	}
	passed := 0
	for _, name := range slices.Sorted(maps.Keys(results)) {
		why, known := cannot[name]
		switch ok := results[name] == "pass"; {
		case ok && known:
			t.Errorf("%s passes now: take it off the list of those that cannot (%s)", name, why)
		case ok:
			passed++
		case results[name] == "fail" && !known:
			t.Errorf("%s fails:\n%s", name, logs[name])
		}
	}
	for name, why := range cannot {
		if _, ok := results[name]; !ok {
			t.Errorf("%s, which cannot pass (%s), did not run", name, why)
		}
	}
	if passed < 50 {
		t.Errorf("only %d tests passed; did they run?", passed)
	}
	t.Logf("%d tests pass, %d cannot", passed, len(cannot))
}

// run is what became of each test, and what those that failed printed.
func run(t *testing.T, args []string) (results, logs map[string]string) {
	cmd := exec.CommandContext(t.Context(), "go", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	results, logs = outcome(t, out)
	if len(results) == 0 {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return results, logs
}

// failedTests are the whole tests that did not pass.
func failedTests(results map[string]string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(results)) {
		if results[name] == "fail" && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	return names
}

// modified is a go.mod with a copy of k8s.io/apiserver in which our testserver
// stands for the one that the tests import. Go refuses an -overlay over its
// module cache. The copy stays, so that Go finds next time what it has built.
func modified(t *testing.T) string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/apiserver").Output()
	if err != nil {
		t.Fatal(err)
	}
	theirs := strings.TrimSpace(string(out))
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(cache, "kviz-conformance")
	module := filepath.Join(root, filepath.Base(theirs))
	if _, err := os.Stat(module); err != nil {
		copyModule(t, theirs, root, module)
	}
	const server = "pkg/storage/etcd3/testserver/test_server.go"
	write(t, filepath.Join(module, server), read(t, "overlay/testserver.go"))
	mod := filepath.Join(root, "go.mod")
	write(t, filepath.Join(root, "go.sum"), read(t, "../go.sum"))
	write(t, mod, bytes.ReplaceAll(read(t, "../go.mod"), []byte("k8s.io/apiserver => k8s.io/apiserver v0.37.2"), []byte("k8s.io/apiserver => "+module)))
	return mod
}

func copyModule(t *testing.T, from, root, to string) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		t.Fatal(err)
	}
	part, err := os.MkdirTemp(root, "part-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(part, "m"), os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(part, "m"), to); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(part); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// write leaves a file alone that holds that text, so that Go need not look at it
// anew.
func write(t *testing.T, path string, text []byte) {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return
	}
	if err := os.Chmod(path, 0o600); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// outcome is what `go test -json` said: each test's last action, and what the
// failed ones printed.
func outcome(t *testing.T, out []byte) (results, logs map[string]string) {
	results, logs = map[string]string{}, map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e struct{ Action, Test, Output string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		switch e.Action {
		case "output":
			logs[e.Test] += e.Output
		case "pass", "fail", "skip":
			if e.Test != "" {
				results[e.Test] = e.Action
			}
		}
	}
	return results, logs
}

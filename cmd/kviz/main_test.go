package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

func TestMain(m *testing.M) {
	programs := fallers()
	programs["kviz"] = func() { os.Exit(Main()) }
	testscript.Main(m, programs)
}

// Why the tests that start kviz need the real machine.
const (
	aProcess  = "kviz is a process"
	aTerminal = "kviz is a process at a terminal"
)

// The command line as its users meet it: testdata/*.txtar.
func TestCommandLine(t *testing.T) { runScripts(t, "testdata", nil) }

// runScripts runs the scripts of a folder, which have more commands than all have.
func runScripts(t *testing.T, dir string, more map[string]func(*testscript.TestScript, bool, []string)) {
	steady.RealTime(t, aProcess)
	commands := map[string]func(*testscript.TestScript, bool, []string){
		"waitfor": waitFor, "waitready": waitReady, "findid": findID, "memberid": memberID, "freeports": freePorts, "etcdget": etcdGet, "empty": empty, "documented": documented,
		"breakoff": changed(func(b []byte) []byte { return b[:len(b)-6] }), // within the mark of its end
		"lengthen": changed(func(b []byte) []byte { return append(b, "more"...) }),
		"damage":   changed(func(b []byte) []byte { b[len(b)-40] ^= 0xff; return b }),
		"newer":    changed(func(b []byte) []byte { binary.LittleEndian.PutUint16(b[8:], 9); return b }),
	}
	maps.Copy(commands, more)
	testscript.Run(t, testscript.Params{
		Dir: dir, Cmds: commands, UpdateScripts: os.Getenv("KVIZ_REWRITE") == "1",
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_RUNTIME_DIR", e.WorkDir)
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("TMPDIR", e.WorkDir)
			e.Values[limit{}] = steady.Patience(t)
			return nil
		},
	})
}

// limit is the key of how long a script waits for one thing.
type limit struct{}

// patience is for how long a script waits for one thing.
func patience(ts *testscript.TestScript) time.Duration { return ts.Value(limit{}).(time.Duration) }

// until waits until something holds.
func until(ts *testscript.TestScript, what string, holds func() bool) {
	for end := time.Now().Add(patience(ts)); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("after %s still not: %s", patience(ts), what)
		}
	}
}

// waitFor FILES [PATTERN] waits until a program in the background has written a file
// that FILES matches, and something in it that the pattern matches.
func waitFor(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile(strings.Join(args[1:], ""))
	until(ts, strings.Join(args, ": ")+" is written", func() bool {
		files, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		return slices.ContainsFunc(files, func(path string) bool {
			b, err := os.ReadFile(path)
			return err == nil && pattern.Match(b)
		})
	})
}

// waitReady waits until the cluster that is being served answers: its ports are open, and
// written down, before it does.
func waitReady(ts *testscript.TestScript, neg bool, _ []string) {
	waitFor(ts, neg, []string{"kviz/*/endpoints.json"})
	until(ts, "what is served is ready", func() bool { return ts.Exec("kviz", "kubectl", "get", "--raw", "/readyz") == nil })
}

// memberID NAME puts the ID of the learner that etcdctl member list has just shown
// into an environment variable.
func memberID(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile(`(?m)^([0-9a-f]+), .*, true$`).FindStringSubmatch(ts.ReadFile("stdout"))
	if found == nil {
		ts.Fatalf("no learner is in the list")
	}
	ts.Setenv(args[0], found[1])
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

// empty DIRS… says that there is nothing in folders; with ! that there is something, or
// in its names a pattern.
func empty(ts *testscript.TestScript, neg bool, patterns []string) {
	for _, pattern := range patterns {
		files, err := filepath.Glob(ts.MkAbs(pattern) + "/*")
		ts.Check(err)
		if (len(files) == 0) == neg {
			ts.Fatalf("%s holds %q", pattern, files)
		}
	}
}

// freePorts NAME N puts the first of N free ports in a row into an environment
// variable.
func freePorts(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	for range 100 {
		if port, ok := portsInRow(n); ok {
			ts.Setenv(args[0], strconv.Itoa(port))
			return
		}
	}
	ts.Fatalf("no %d free ports in a row", n)
}

func portsInRow(n int) (first int, ok bool) {
	for i := range n {
		port := 0
		if i > 0 {
			port = first + i
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return 0, false
		}
		defer l.Close()
		if i == 0 {
			first = l.Addr().(*net.TCPAddr).Port
		}
	}
	return first, true
}

// etcdGet ADDRESS KEY asks a member for a key in etcd's own words, without TLS,
// and fails unless it is there; ! etcdGet fails if it is answered.
func etcdGet(ts *testscript.TestScript, neg bool, args []string) {
	conn, err := grpc.NewClient(args[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	ts.Check(err)
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience(ts))
	defer cancel()
	got, err := pb.NewKVClient(conn).Range(ctx, &pb.RangeRequest{Key: []byte(args[1])})
	if neg && err == nil {
		ts.Fatalf("%s answered", args[0])
	}
	if neg {
		return
	}
	ts.Check(err)
	if got.Count != 1 {
		ts.Fatalf("%s has %d of %s", args[0], got.Count, args[1])
	}
}

// Every subcommand's help has an example, which is a use of that subcommand.
func TestEveryCommandHasAnExample(t *testing.T) {
	for _, c := range commands() {
		for _, args := range [][]string{{"help", c.name}, {c.name, "--help"}} {
			var out, errs bytes.Buffer
			if exit := dispatch(t.Context(), streams{strings.NewReader(""), &out, &errs}, args); exit != 0 || errs.Len() > 0 {
				t.Errorf("kviz %s: exit %d %s", strings.Join(args, " "), exit, errs.String())
			}
			_, example, found := strings.Cut(out.String(), "\nExample:\n")
			if !found || !strings.Contains(example, "kviz "+c.name) {
				t.Errorf("kviz %s shows no example of its use:\n%s", strings.Join(args, " "), out.String())
			}
			if !strings.Contains(out.String(), "Usage: kviz "+c.name) {
				t.Errorf("kviz %s shows no usage", strings.Join(args, " "))
			}
		}
	}
}

// Who reads --plain through a pipe may stop reading: then kviz ends, in order.
func TestPlainEndsWhenNobodyReads(t *testing.T) {
	steady.RealTime(t, aProcess)
	home := t.TempDir()
	for _, args := range [][]string{{"explore", "--plain", "--all", "--trace", "out.kvrun"}, {"replay", "--plain", "--all", "out.kvrun"}, {"replay", "--plain", "out.kvrun"}, {"trace", "out.kvrun"}} {
		kviz := exec.Command("kviz", args...)
		kviz.Dir = home
		kviz.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home, "XDG_RUNTIME_DIR="+home, "XDG_STATE_HOME="+home)
		var errs bytes.Buffer
		kviz.Stderr = &errs
		out, err := kviz.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := kviz.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(io.LimitReader(out, 40)).ReadString(' ')
		begins := "#1 "
		switch {
		case slices.Contains(args, "--all"): // it tells of the members that came up before
			begins = "* "
		case slices.Contains(args, "--plain"):
			begins = "0:00.000 "
		}
		if err != nil || line != begins {
			t.Errorf("it began with %q (%v)", line, err)
		}
		out.Close()
		if err := kviz.Wait(); err != nil || errs.Len() > 0 {
			t.Errorf("kviz %s: %v\n%s", strings.Join(args, " "), err, errs.String())
		}
	}
	if _, events, err := trace.ReadAll(filepath.Join(home, "out.kvrun")); err != nil || len(events) < 3 {
		t.Errorf("the recording has %d events: %v", len(events), err)
	}
	left, err := filepath.Glob(filepath.Join(home, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range left {
		if name := filepath.Base(path); name != "out.kvrun" && name != "kviz" {
			t.Errorf("%s was left behind", name)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(home, "kviz", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"
	gossh "golang.org/x/crypto/ssh"

	"kviz/raftstore/steady"
)

// ran runs kviz to its end, in a folder that is its home.
func ran(t *testing.T, home string, args ...string) string {
	t.Helper()
	cmd := exec.Command("kviz", args...)
	cmd.Dir, cmd.Env = home, homeOf(home)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kviz %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func homeOf(home string) []string {
	return append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_RUNTIME_DIR="+home, "TMPDIR="+home)
}

// holds opens a class without a screen, and gives its process and the port at which students come in, if they can. The process
// is a child of the test, so none is left where a test fails.
func holds(t *testing.T, home string, args ...string) (class *exec.Cmd, port string) {
	t.Helper()
	cmd := exec.Command("kviz", append(args, "--no-screen")...)
	cmd.Dir, cmd.Env, cmd.Stderr = home, homeOf(home), os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended in a test that went well
		_ = cmd.Wait()
	})
	line := regexp.MustCompile(`ssh -p (\d+) 127`)
	if args[0] == "present" {
		line = regexp.MustCompile(`the class of (.*) is open`)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := line.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return cmd, m[1]
		}
	}
	t.Fatalf("kviz %q does not say how to come in", args)
	return nil, ""
}

// comes is a student who comes into the class by ssh.
func comes(t *testing.T, port string) *terminal {
	t.Helper()
	conn, err := gossh.Dial("tcp", "127.0.0.1:"+port, &gossh.ClientConfig{User: "mira", HostKeyCallback: gossh.InsecureIgnoreHostKey()})
	if err != nil {
		t.Fatal(err)
	}
	s := &terminal{t: t, emu: vt.NewSafeEmulator(100, 30), done: make(chan error, 1)}
	keys, tty, err := os.Pipe() // what is pressed
	if err != nil {
		t.Fatal(err)
	}
	s.tty = tty
	session, err := conn.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	session.Stdin, session.Stdout = keys, s.emu
	if err := session.RequestPty("xterm-256color", 30, 100, gossh.TerminalModes{}); err != nil {
		t.Fatal(err)
	}
	if err := session.Shell(); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, s.emu) }() // what a terminal answers to queries
	t.Cleanup(func() {
		_ = conn.Close()
		_ = tty.Close()
		_ = keys.Close()
	})
	return s
}

// TestAWalkThroughARecording: a run is recorded and marked; its class sees the first mark, then the second; a student follows, and
// goes on in a cluster of their own; and a class whose process ends goes on at its mark.
func TestAWalkThroughARecording(t *testing.T) {
	steady.RealTime(t, aTerminal)
	home := t.TempDir()
	ran(t, home, "sh", "--store", "mvcc", "--nodes", "1", "--speed", "max", "--trace", "run.kvrun", "-c", "kubectl create deployment web --image=nginx; kviz wait 'object(\"deployments\",\"default\",\"web\").status.readyReplicas == 1'")
	said := regexp.MustCompile(`(?m)^#(\d+) .*Deployment default/web`).FindAllStringSubmatch(ran(t, home, "trace", "run.kvrun"), -1)
	if len(said) < 10 {
		t.Fatalf("the trace has %d events of the Deployment", len(said))
	}
	first, second := said[0][1], said[len(said)-1][1]
	ran(t, home, "mark", "run.kvrun#"+second, "--show", "map", "--big", "READY", "The pod runs.")
	ran(t, home, "mark", "run.kvrun#"+first, "--show", "api", "--note", "Ask: who asks whom?", "Somebody asks for a **Deployment**.")
	if list := ran(t, home, "mark", "run.kvrun"); !strings.Contains(list, "1  #"+first) || !strings.Contains(list, "2  #"+second) {
		t.Fatalf("the marks are\n%s", list)
	}
	class, port := holds(t, home, "class", "run.kvrun", "--listen", "127.0.0.1:0")
	teacher := begin(t, home, 80, 24, "present")
	teacher.sees("Somebody asks for a Deployment.", "mark 1 of 2")
	student := comes(t, port)
	student.sees("Somebody asks for a Deployment.", "mark 1 of 2", "following")
	notes := begin(t, home, 80, 24, "notes")
	notes.sees("Ask: who asks whom?", "next: 2  READY")
	teacher.press("pgdown").sees("The pod runs.", "mark 2 of 2")
	student.sees("The pod runs.", "mark 2 of 2")
	student.press("F").sees("a cluster of your own", "PAUSED").press("space").press(":").command("kubectl get deployments").sees("AVAILABLE", "web")
	if err := class.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = class.Wait() // it was killed
	<-teacher.done
	<-notes.done
	class, port = holds(t, home, "class", "run.kvrun", "--listen", "127.0.0.1:0")
	again := begin(t, home, 80, 24, "present")
	again.sees("The pod runs.", "mark 2 of 2")
	comes(t, port).sees("The pod runs.")
	again.press(",").sees("after mark 1 of 2").press("m").sees("mark, in words").press("Here.", "enter").sees("Here.", "mark 2 of 3")
	again.press("q").sees("end the class").press("E").ends(0)
	if err := class.Wait(); err != nil {
		t.Errorf("the class ends with %v", err)
	}
	if kept, err := os.ReadFile(filepath.Join(home, "run.kvrun.marks")); err != nil || !strings.Contains(string(kept), "say: Here.") {
		t.Errorf("the marks are %s, %v", kept, err)
	}
	if left, _ := filepath.Glob(filepath.Join(home, "kviz", "class", "*.jsonl")); len(left) > 0 {
		t.Errorf("a class that was closed leaves %q", left)
	}
}

// TestAWalkThroughALiveCluster: without a lesson a cluster is booted, and what is typed happens in it.
func TestAWalkThroughALiveCluster(t *testing.T) {
	steady.RealTime(t, aTerminal)
	home := t.TempDir()
	holds(t, home, "present", "--store", "mvcc", "--nodes", "1", "--trace", "run.kvrun")
	s := begin(t, home, 100, 30, "present")
	s.sees("now").press("m").sees("mark, in words").press("Before.", "enter").sees("a mark is set here")
	s.press(":").command("kubectl create deployment web --image=nginx").sees("web created")
	s.press("k", "pgdown").sees("this is the newest event")
	s.press(",").sees("after mark 1 of 1").press("\x1b[5~").sees("Before.", "mark 1 of 1")
	s.press("q").sees("end the class").press("E").ends(0)
	if kept, err := os.ReadFile(filepath.Join(home, "run.kvrun.marks")); err != nil || !strings.Contains(string(kept), "say: Before.") {
		t.Errorf("the marks are %s, %v", kept, err)
	}
}

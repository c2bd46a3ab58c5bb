//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"kviz/raftstore/steady"
)

// terminal is kviz itself on a terminal of its own, driven by keys, and looked at
// as a person does.
type terminal struct {
	t    *testing.T
	tty  *os.File
	emu  *vt.SafeEmulator
	mu   sync.Mutex
	raw  bytes.Buffer
	done chan error

	process *os.Process
}

// begin starts kviz in a directory that is its home.
func begin(t *testing.T, home string, w, h int, args ...string) *terminal {
	t.Helper()
	return beginAs(t, "kviz", home, w, h, args...)
}

// beginAs starts another program of this test instead.
func beginAs(t *testing.T, program, home string, w, h int, args ...string) *terminal {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_RUNTIME_DIR="+home, "TMPDIR="+home,
		"TERM=xterm-256color", "COLORTERM=truecolor", "NO_COLOR=", "SSH_TTY=")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)})
	if err != nil {
		t.Fatal(err)
	}
	s := &terminal{t: t, tty: tty, emu: vt.NewSafeEmulator(w, h), done: make(chan error, 1), process: cmd.Process}
	go func() { _, _ = io.Copy(tty, s.emu) }() // what a terminal answers to queries
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 1<<16)
		for {
			n, err := tty.Read(buf)
			s.mu.Lock()
			s.raw.Write(buf[:n])
			_, _ = s.emu.Write(buf[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() {
		err := cmd.Wait()
		<-read // to the last byte it wrote
		s.done <- err
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended in a test that went well
		_ = tty.Close()
	})
	return s
}

// sequences are what a terminal sends for keys. Escape is sent as terminals with the
// kitty keyboard protocol do: the byte that others send begins every sequence, and what
// follows it too soon, on a busy machine, is taken for one with it.
var sequences = map[string]string{
	"enter": "\r", "esc": "\x1b[27u", "tab": "\t", "space": " ", "up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D",
	"home": "\x1b[H", "end": "\x1b[F", "pgdown": "\x1b[6~",
}

// press presses keys, one after another.
func (s *terminal) press(keys ...string) *terminal {
	s.t.Helper()
	for _, k := range keys {
		seq, ok := sequences[k]
		if letter, ctrl := strings.CutPrefix(k, "ctrl+"); ctrl {
			seq, ok = string(rune(letter[0]&0x1f)), true
		}
		if !ok {
			seq = k
		}
		if _, err := s.tty.WriteString(seq); err != nil {
			s.t.Fatal(err)
		}
	}
	return s
}

// command types a line into the console.
func (s *terminal) command(line string) *terminal {
	s.t.Helper()
	return s.press(line, "enter")
}

func (s *terminal) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.emu.String()
}

// sees waits until everything is on the screen at once.
func (s *terminal) sees(what ...string) *terminal {
	s.t.Helper()
	s.until("the screen never showed", func(text string) bool {
		for _, w := range what {
			if !strings.Contains(text, w) {
				return false
			}
		}
		return true
	}, what)
	return s
}

// misses waits until something is not on the screen any more.
func (s *terminal) misses(what string) *terminal {
	s.t.Helper()
	s.until("the screen still shows", func(text string) bool { return !strings.Contains(text, what) }, []string{what})
	return s
}

func (s *terminal) until(wrong string, ok func(string) bool, what []string) {
	s.t.Helper()
	end := time.After(steady.Patience(s.t))
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for !ok(s.text()) {
		select {
		case err := <-s.done:
			s.t.Fatalf("kviz ended (%v); %s %q:\n%s", err, wrong, what, s.all())
		case <-end:
			screen := s.text()
			s.t.Fatalf("%s %q:\n%s\n%s", wrong, what, screen, s.goroutines())
		case <-poll.C:
		}
	}
}

// goroutines ends kviz and is what it was doing.
func (s *terminal) goroutines() string {
	if s.process == nil { // it is elsewhere
		return ""
	}
	told := len(s.all())
	if err := s.process.Signal(syscall.SIGQUIT); err != nil {
		return err.Error()
	}
	select {
	case <-s.done:
	case <-time.After(steady.Patience(s.t)):
	}
	return s.all()[told:]
}

func (s *terminal) resize(w, h int) *terminal {
	s.t.Helper()
	s.mu.Lock()
	s.emu.Resize(w, h)
	s.mu.Unlock()
	if err := pty.Setsize(s.tty, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)}); err != nil {
		s.t.Fatal(err)
	}
	return s
}

func (s *terminal) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

// ends waits for the end and holds that the terminal is as it was: the
// alternate screen left, the cursor shown, the mouse let go.
func (s *terminal) ends(exit int) string {
	s.t.Helper()
	var err error
	select {
	case err = <-s.done:
	case <-time.After(steady.Patience(s.t)):
		s.t.Fatalf("kviz did not end:\n%s", s.text())
	}
	code := 0
	if bad := (*exec.ExitError)(nil); errors.As(err, &bad) {
		code = bad.ExitCode()
	}
	all := s.all()
	if code != exit {
		s.t.Errorf("kviz ended with status %d, want %d:\n%s", code, exit, s.text())
	}
	for on, off := range map[string]string{"\x1b[?1049h": "\x1b[?1049l", "\x1b[?1002h": "\x1b[?1002l", "\x1b[?25l": "\x1b[?25h"} {
		if strings.LastIndex(all, on) > strings.LastIndex(all, off) {
			s.t.Errorf("the terminal is left with %q", on)
		}
	}
	return all
}

// A first visitor reads in one line each what there is, can
// look into everything, and come back.
func TestTheFirstVisit(t *testing.T) {
	steady.RealTime(t, aTerminal)
	s := begin(t, t.TempDir(), 80, 24)
	s.sees("Explore", "Lessons", "Scenarios", "Recording", "Declarative", "Convergence", "Distributed", "3/3 quorum")
	s.press("down", "down").sees("▸ Lessons").press("enter").sees("From apply to running", "The request pipeline").press("\x1b").sees("Explore") // as most terminals send escape
	s.press("down").sees("one scene, then yours").press("enter").sees("an image cannot be pulled").press("esc").sees("Explore")
	s.press("down").sees("▸ Recording").press("enter").sees("Open a recording").press("esc").sees("Explore")
	s.press("up", "up", "up", "enter").misses("Convergence").sees("1 Cluster")
	s.press("q").ends(0)
}

// From apply to the rule in the kernel, why it is there, and back to then.
func TestWhyIsThisRuleHere(t *testing.T) {
	steady.RealTime(t, aTerminal)
	s := begin(t, t.TempDir(), 120, 40, "explore", "--speed", "5")
	s.sees("RUNNING").press(":").command("kubectl apply -f manifests/hello.yaml").sees("service/hello-svc created")
	s.press("esc", "esc").misses("Console").press("8", "z").sees("Network", "DNAT 10.244")
	s.press("space").sees("PAUSED").press("/").sees("Filter").press("DNAT 10.244", "enter").misses("Filter Network")
	explained := regexp.MustCompile(`(?m)^ ▸ (.*)`)
	for range 30 { // the cursor goes down to the rule, past what leads there
		at := explained.FindString(s.text())
		if strings.Contains(at, "-j DNAT") {
			break
		}
		s.press("down")
		s.until("the cursor does not move from", func(text string) bool { return explained.FindString(text) != at }, []string{at})
	}
	s.press("w").sees("Why #", "EndpointSlice demo/hello-svc", "goes to node-", "you typed: kubectl apply -f manifests/hello.yaml")
	s.press("up", "up", "enter").sees("PAST").misses("Why #")
	s.press(",").press("end").sees("PAUSED").press("space").sees("RUNNING")
	s.press("q").sees("Leave kviz?").press("q").ends(0)
}

// Two of three members stop: nothing can be written, the pods run on, and all
// comes back; what was seen can be gone back to.
func TestWithoutAQuorum(t *testing.T) {
	steady.RealTime(t, aTerminal)
	s := begin(t, t.TempDir(), 120, 40, "explore", "--speed", "5")
	s.sees("RUNNING").press(":").command("kubectl create deployment web --image=nginx:stable --replicas=2").sees("web created")
	s.command("kubectl rollout status deployment/web").sees("successfully rolled out").press("esc", "2")
	s.press("f").sees("Break or mend").press("esc") // something is under the cursor
	stop := func(member string) {
		s.press("ctrl+p").sees("Do anything").press("break it", "enter").sees("Break or mend")
		if !strings.Contains(s.text(), "Break or mend what?") {
			s.press("end", "enter") // the last line: something else
		}
		s.sees("Break or mend what?").press("member "+member, "enter").sees("Break or mend member " + member)
	}
	stop("b")
	s.sees("Stop it in an orderly way").press("enter").sees("2/3")
	stop("c")
	s.press("enter").sees("1/3 NO")
	s.press(":").command("kubectl scale deployment/web --replicas=4").sees("etcdserver: request timed out")
	s.press("esc")
	stop("c")
	s.sees("Broken since", "Start it again").press("enter").sees("2/3 quorum")
	s.press("{").sees("PAST")
	for range 5 { // the election that follows may be a mark already
		at := s.text()
		if strings.Contains(at, "mended: start member/c") {
			break
		}
		s.press("{").until("the mark does not change from", func(text string) bool { return text != at }, []string{at})
	}
	s.sees("mended: start member/c").press(",").sees("1/3 NO").press("end").sees("RUNNING", "2/3 quorum")
	s.press("q").sees("Leave kviz?").press("q").ends(0)
}

// A lesson in beats, on the smallest screen: what is offered is run, changed before it is run, or typed
// by hand; the explorer is a key away; leaving in the middle loses nothing, on whatever cluster there is then.
func TestLessonInBeatsByKeys(t *testing.T) {
	steady.RealTime(t, aTerminal)
	home := t.TempDir()
	s := begin(t, home, 80, 24, "lesson", "start", "L02", "--speed", "10")
	s.sees("beat 1 of").misses("Setting the scene")
	s.goesOn("kubectl apply -f manifests/pod.yaml")
	s.press(" ").sees("this beat is not over yet")
	s.press("?").sees("Hint: The pod must be called")
	s.press("x").sees("L comes back", "PAST", "9 Object").press("L").sees("Enter runs it")
	s.press("\t").sees("Console", "$ kubectl apply -f manifests/pod.yaml").press("\x1b").sees("Enter runs it")
	s.press(":").command("kubectl create -f manifests/pod.yaml").sees("pod/hello-pod created").press("\x1b").misses("Console").sees("All of it is done")
	s.goesOn("Which is set first")
	left := beatNumber.FindString(s.text())
	s.press("q").sees("Leave kviz?").press("q").ends(0)

	s = begin(t, home, 80, 24, "lesson", "start", "L02", "--speed", "20")
	s.sees(left).misses("Setting the scene") // where it was left
	s.goesOn("done ✓")
	s.press(":").command("kubectl get pods -n demo").sees("STATUS", "Running").press("\x1b").misses("Console")
	s.press("q").sees("Leave kviz?").press("q").ends(0)

	out, err := exec.Command("cat", filepath.Join(home, "kviz", "progress.json")).Output()
	if err != nil || !strings.Contains(string(out), `"done": true`) {
		t.Fatalf("the progress says %s (%v)", out, err)
	}
}

// Questions of a lesson that is done come back: on a new run, up to what answers them.
func TestRecallByKeys(t *testing.T) {
	steady.RealTime(t, aTerminal)
	home := t.TempDir()
	lesson := filepath.Join(home, "L50-my-topic")
	if out, err := exec.Command("kviz", "lesson", "new", lesson).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	done := `{"version": 2, "lessons": {"L50": {"done": true}}, "recall": [
		{"lesson": "L50", "beat": "guess", "due": "2026-01-01", "streak": 0}, {"lesson": "L50", "beat": "gone", "due": "2026-01-01", "streak": 0}]}`
	if err := os.MkdirAll(filepath.Join(home, "kviz"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "kviz", "progress.json"), []byte(done), 0o600); err != nil {
		t.Fatal(err)
	}
	s := begin(t, home, 80, 24, "lesson", "recall", "--lessons", lesson, "--speed", "10")
	s.sees("recall 1 of 1", "answer")
	says := map[string]string{"As many as before": "Yes", "One": "No"}[s.matches(regexp.MustCompile(`“(As many as before|One)”: is that so`))]
	right := s.matches(regexp.MustCompile(`[12] ` + says))
	s.press(right[:1]).sees("How sure").press("2").sees("you think so").press(" ").sees("Enter runs it")
	s.press("enter").sees("answered by #", "space goes on").press(" ").sees("Recalled", "1 of 1 right", "due on 2")
	s.press("q").sees("Leave kviz?").press("q").ends(0)

	s = begin(t, home, 80, 24, "explore", "--lessons", lesson)
	s.sees("RUNNING").press("L").sees("1 of ", "done").press("/").press("topic").sees("L50 My topic", "You have done it").press("enter", "p").sees("Your progress", "1 question on 2")
	s.press("esc", "R").sees("no question is due before 2").press("q").ends(0)
}

var beatNumber = regexp.MustCompile(`beat \d+ of \d+`)

// A screen too small says so, and comes back when it is large enough again.
func TestTinyAndBack(t *testing.T) {
	steady.RealTime(t, aTerminal)
	s := begin(t, t.TempDir(), 100, 30, "explore")
	s.sees("RUNNING", "quorum").resize(40, 10).sees("kviz needs").resize(100, 30).sees("RUNNING", "1 Cluster")
	s.press("f").sees("Break or mend").resize(40, 10).sees("kviz needs").resize(80, 24).sees("Break or mend").press("esc").misses("Break or mend").press("q").ends(0)
}

// Whoever ends it from outside, or closes its terminal, leaves nothing behind
// but what is meant to be kept: no cluster's directory.
func TestEndedFromOutside(t *testing.T) {
	steady.RealTime(t, aTerminal)
	// Where the tests run under nohup, kviz would ignore the signal too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			home := t.TempDir()
			s := begin(t, home, 100, 30, "explore")
			s.sees("RUNNING", "3/3 quorum").press("?").sees("Help")
			if found, _ := filepath.Glob(filepath.Join(home, "kviz-tmp-*", "raftstore-*")); len(found) != 1 {
				t.Fatalf("the store's directory is not here: %q", found)
			}
			if err := s.process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			s.ends(0)
			if left, _ := filepath.Glob(filepath.Join(home, "kviz-tmp-*")); len(left) > 0 {
				t.Errorf("%q is left behind", left)
			}
		})
	}
}

// A watch goes behind, what it watches is made in front, and leaving ends it.
func TestACommandBehind(t *testing.T) {
	steady.RealTime(t, aTerminal)
	s := begin(t, t.TempDir(), 120, 40, "explore", "--speed", "5")
	s.sees("RUNNING", "3/3 quorum").press(":").command("x=1; kubectl get configmaps -w").sees("kube-root-ca.crt", "^z background").press("ctrl+z")
	s.sees("[1] runs in the background: x=1; kubectl get configmaps -w").command("kubectl create configmap made$x").sees("configmap/made created", "[1] made ")
	s.command("kubectl edit configmap made &").sees("the terminal cannot be lent now", "[2] exit status 1")
	s.command("kubectl get pods -A -w &").sees("[2] runs in the background").press("ctrl+c").sees("[2] ended").command("jobs").sees("│ [1] x=1; kubectl")
	s.press("esc").sees("f break it").press("q").sees("Leave kviz?").press("q").ends(0)
}

// From every state the way out is short, and asks nothing where nothing would be lost.
func TestLeavingFromEveryState(t *testing.T) {
	steady.RealTime(t, aTerminal)
	for name, keys := range map[string][]string{
		"starting": {"q"},
		"console":  {":", "ctrl+c", "ctrl+c"},
		"command":  {"RUNNING", ":", "kubectl get pods -A -w", "enter", "ctrl+c", "ctrl+c", "ctrl+c"},
		"palette":  {"RUNNING", "ctrl+p", "ctrl+c", "ctrl+c"},
		"prompt":   {"RUNNING", "u", "x", "ctrl+c", "ctrl+c"},
		"past":     {"RUNNING", "[", "q"},
		"paused":   {"RUNNING", "space", "PAUSED", "ctrl+c"},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, t.TempDir(), 100, 30, "explore")
			s.sees("1map") // the first frame; the cluster may still be starting
			for _, k := range keys {
				if strings.ToUpper(k) == k && len(k) > 1 {
					s.sees(k)
				} else {
					s.press(k)
				}
			}
			s.ends(0)
		})
	}
}

// A recording opens from the start screen; one that breaks off shows what it
// has and says so.
func TestRecordingsOpen(t *testing.T) {
	steady.RealTime(t, aTerminal)
	home := t.TempDir()
	script := filepath.Join(home, "hello.sh")
	if err := os.WriteFile(script, []byte("kubectl create namespace demo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command("kviz", "run", "--trace", "whole.kvrun", script)
	run.Dir = home
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	whole, err := os.ReadFile(filepath.Join(home, "whole.kvrun"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "cut.kvrun"), whole[:len(whole)*3/4], 0o600); err != nil {
		t.Fatal(err)
	}
	s := begin(t, home, 100, 30)
	s.sees("Explore").press("down", "down", "down", "down", "enter").sees("cut.kvrun", "whole.kvrun", "seed 1").press("whole", "enter")
	s.sees("recording whole.kvrun", "PAST").press("space").sees("of #").press("q").ends(0)

	s = begin(t, home, 100, 30, "replay", "cut.kvrun")
	s.sees("recording cut.kvrun", "the recording breaks off").press("f").sees("this is a recording").press("q").ends(0)
}

// Back to before the leader was killed, and this time it is cut off: nothing crashes, something
// else comes of it, and both are kept and compared.
func TestACutInsteadOfACrash(t *testing.T) {
	steady.RealTime(t, aTerminal)
	s := begin(t, t.TempDir(), 120, 40, "explore", "--speed", "5", "--seed", "3")
	s.sees("RUNNING", "3/3 quorum").press(":").command("kubectl create deployment web --image=nginx --replicas=2; kubectl rollout status deployment/web").sees("successfully rolled out")
	s.command("kviz fault crash member/a").sees("2/3").press("esc", "esc").misses("Console").press("space").sees("PAUSED")
	s.press("{").sees("PAST")
	for range 4 { // elections after the crash lie between
		if strings.Contains(s.text(), "broken: crash member/a") {
			break
		}
		at := s.text()
		s.press("{")
		s.until("the mark does not change from", func(text string) bool { return text != at }, []string{at})
	}
	s.sees("broken: crash member/a").press(",", ",").sees("3/3 quorum", "F fork")
	s.press("F").sees("first run is run again up to #", "What the store's members say").press("enter").sees("run 2 stands where first run was", "3/3 quorum")
	s.press("space").sees("RUNNING").press(":").command("kviz fault cut member/a b; kviz fault cut member/a c; kubectl create configmap meanwhile").sees("configmap/meanwhile created")
	s.press("esc", "esc").misses("Console").press("space").sees("PAUSED").press("2", "C").sees("first run Store", "≠")
	s.press("D").sees("the first that differs", "PAST").press("W").sees("What came of it", "The same up to #", "pods ready then", "longest without a write")
	s.press("esc").misses("What came of it").press("C").misses("first run Store").press("B").sees("● run 2", "○ first run").press("1").sees("PAST", "first run").misses("Runs")
	s.press("q").sees("The branches end").press("q").ends(0)
}

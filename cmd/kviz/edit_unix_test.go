//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kviz/raftstore/steady"
)

// editor writes a program into a folder that stands in for a person's editor: it says
// its first argument and what the terminal is like, reads a word, puts it where the file
// says blue, and leaves the terminal in disorder.
func editor(t *testing.T, home string) {
	t.Helper()
	const text = `#!/bin/sh
stty -a | grep -q -- '-icanon' && state=raw || state=sound
printf 'editor %s, the terminal is %s: ' "$1" "$state"
read word
sed -i "s/blue/$word/" "$2"
stty raw -echo
`
	if err := os.WriteFile(filepath.Join(home, "ed.sh"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// kubectl edit in the explorer: the screen steps aside for the editor, which has the
// terminal to itself, and is whole when it comes back, whatever the editor did to the
// terminal, and at another size too.
func TestEditInTheExplorer(t *testing.T) {
	steady.RealTime(t, aTerminal)
	home := t.TempDir()
	editor(t, home)
	s := begin(t, home, 120, 40, "explore", "--speed", "5")
	s.sees("RUNNING", "3/3 quorum").press(":").command("kubectl create configmap a --from-literal=colour=blue").sees("configmap/a created")
	s.command("KUBE_EDITOR='./ed.sh 1' kubectl edit configmap a").sees("editor 1, the terminal is sound").misses("1 Cluster")
	s.press("red", "enter").sees("configmap/a edited", "RUNNING", "1 Cluster", "3/3 quorum")
	s.command("kubectl get configmap a -o jsonpath='{.data.colour}!'").sees("red!")
	if left, _ := filepath.Glob(filepath.Join(home, "kubectl-edit-*")); len(left) > 0 {
		t.Errorf("%q is left behind", left)
	}

	s.command("clear").command("KUBE_EDITOR='./ed.sh 2' kubectl edit configmap a").sees("editor 2, the terminal is sound").resize(80, 24).press("green", "enter")
	s.sees("Edit cancelled, no changes made.", "back to the panes").misses("editor 2, the").resize(120, 40)
	s.sees("1 Cluster", "Edit cancelled, no changes made.")

	// Its ctrl+c is the editor's, not the explorer's.
	s.command("KUBE_EDITOR='./ed.sh 3' kubectl edit configmap a").sees("editor 3, the terminal is sound").press("ctrl+c")
	s.sees("there was a problem with the editor", "RUNNING", "1 Cluster").press("esc", "space").sees("PAUSED")

	// What has been drawn since is what would be drawn anew, once the members have
	// answered what was under way.
	came, looks := "", 0
	s.until("the screen does not come to rest", func(text string) bool {
		if text != came {
			came, looks = text, 0
		}
		looks++
		return looks == 100
	}, nil)
	s.resize(119, 40).until("the screen is still", func(text string) bool { return text != came }, nil)
	s.resize(120, 40).until("drawn anew, the screen differs from\n"+came, func(text string) bool { return text == came }, nil)

	// The request waits while the cluster stands; the person can let it go on.
	s.press(":").command("KUBE_EDITOR='./ed.sh 4' kubectl edit configmap a").sees("waits: the cluster stands").press("esc", "space")
	s.sees("editor 4, the terminal is sound").press("x", "enter").sees("RUNNING").press("q").sees("Leave kviz?").press("q").ends(0)
	s.sound()
}

// sound holds that the terminal's modes are those of a shell.
func (s *terminal) sound() {
	s.t.Helper()
	stty := exec.Command("stty", "-a")
	stty.Stdin = s.tty
	if out, err := stty.Output(); err != nil || strings.Contains(string(out), "-icanon") || strings.Contains(string(out), "-echo ") {
		s.t.Errorf("the terminal is left as %s (%v)", out, err)
	}
}

// A process that gets SIGTERM while an editor is open ends in order, and takes the editor along.
func TestEndedInTheEditor(t *testing.T) {
	steady.RealTime(t, aTerminal)
	home := t.TempDir()
	editor(t, home)
	s := begin(t, home, 80, 24, "explore")
	s.sees("RUNNING", "3/3 quorum").press(":").command("KUBE_EDITOR='./ed.sh 1' kubectl edit namespace default").sees("editor 1, the terminal is sound")
	if err := s.process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.ends(0)
	s.sound()
	if left, _ := filepath.Glob(filepath.Join(home, "raftstore-*")); len(left) > 0 {
		t.Errorf("%q is left behind", left)
	}
}

// kubectl edit in the console without the explorer, typed at it and as -c.
func TestEditAtThePrompt(t *testing.T) {
	steady.RealTime(t, aTerminal)
	home := t.TempDir()
	editor(t, home)
	s := begin(t, home, 100, 30, "sh")
	s.sees("kviz>").command("export EDITOR='./ed.sh 1' KUBE_EDITOR=").command("kubectl create configmap a --from-literal=colour=blue").sees("configmap/a created")
	s.command("kubectl edit configmap a").sees("editor 1, the terminal is sound").press("red", "enter").sees("configmap/a edited")
	s.command("kubectl get configmap a -o jsonpath='{.data.colour}!'").sees("red!")
	s.command("KUBE_EDITOR='./ed.sh 2' kubectl edit configmap a").sees("editor 2, the terminal is sound").press("ctrl+c")
	s.sees("there was a problem with the editor \"./ed.sh 2\"\nkviz>").command("echo still here").sees("\nstill here")
	s.command("exit").ends(0)

	s = begin(t, home, 100, 30, "sh", "-c", "kubectl create configmap a --from-literal=colour=blue && KUBE_EDITOR='./ed.sh 3' kubectl edit configmap a")
	s.sees("editor 3").press("red", "enter")
	if all := s.ends(0); !strings.Contains(all, "configmap/a edited") {
		t.Errorf("kviz sh -c said\n%s", all)
	}
}

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/charmbracelet/x/vt"
	gossh "golang.org/x/crypto/ssh"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/lessons"
	"kviz/raftstore/steady"
	"kviz/tui/panes"
)

// terminalAt is a student's terminal.
type terminalAt struct {
	mu   sync.Mutex
	emu  *vt.Emulator
	keys io.Writer
}

func (d *terminalAt) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.emu.Write(p)
}

func (d *terminalAt) sees(t *testing.T, text string) {
	t.Helper()
	steady.Await(t, fmt.Sprintf("%q on the screen", text), func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if s := d.emu.String(); !strings.Contains(s, text) {
			return fmt.Errorf("it shows\n%s", s)
		}
		return nil
	})
}

func (d *terminalAt) types(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(d.keys, keys); err != nil {
		t.Fatal(err)
	}
}

// sitsAt comes in at an address.
func sitsAt(t *testing.T, addr, name string) *terminalAt {
	t.Helper()
	conn, err := gossh.Dial("tcp", addr, &gossh.ClientConfig{User: name, HostKeyCallback: gossh.InsecureIgnoreHostKey()})
	if err != nil {
		t.Fatal(err)
	}
	session, err := conn.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	d := &terminalAt{emu: vt.NewEmulator(100, 30)}
	if d.keys, err = session.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	session.Stdout = d
	if err := session.RequestPty("xterm-256color", 30, 100, gossh.TerminalModes{}); err != nil {
		t.Fatal(err)
	}
	if err := session.Shell(); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() { // what the terminal itself answers is read by nobody
		defer close(over)
		_, _ = io.Copy(io.Discard, d.emu)
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		_ = d.emu.Close()
		<-over
	})
	return d
}

// TestAResumedClassHasClusters: a class goes on from its journal in another process, on a cluster whose first events have left
// memory, so that its run cannot be run again. A student who presses F has a cluster of their own all the same, in which the
// lesson's recipe has set the scene of the beat.
func TestAResumedClassHasClusters(t *testing.T) {
	steady.RealTime(t, "SSH over sockets")
	home := t.TempDir()
	t.Setenv("XDG_STATE_HOME", home)
	t.Setenv("XDG_RUNTIME_DIR", home)
	if err := os.MkdirAll(runtimeDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../tui/class/own/testdata/lesson.md")
	if err != nil {
		t.Fatal(err)
	}
	all, err := lessons.Load(fstest.MapFS{"L51/lesson.md": {Data: text}}, panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := classFolder()
	if err != nil {
		t.Fatal(err)
	}
	journal := `{"t":"opened","at":"2026-01-01T12:00:00Z","lesson":"L51@1"}` + "\n" + `{"t":"at","at":"2026-01-01T12:10:00Z","beat":"free"}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "L51.jsonl"), []byte(journal), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := cluster.Config{Seed: 5, Bare: true, Nodes: 1, Speed: 1}
	c, err := cluster.Boot(t.Context(), cfg)
	if err == nil {
		err = c.WaitReady(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	room := &classroom{lesson: all[0], teacher: "ada", listen: "127.0.0.1:0", scene: cfg}
	if err := room.open(c, all, 5, "", screensOf); err != nil {
		t.Fatal(err)
	}
	open, closed := make(chan net.Addr, 1), make(chan error, 1)
	go func() { closed <- room.serve(context.Background(), func() { open <- room.address }) }()
	addr := <-open
	steady.Until(t, "the beat at which the class was cut off", func() bool {
		b := room.lead.Scene().Stand.Look.Beat
		return b != nil && b.ID == "free" && b.Acts
	})
	if err := c.Resume(); err != nil {
		t.Fatal(err)
	}
	c.Trace().SetLimit(100)
	steady.Until(t, "that the first events have left memory", func() bool {
		if exit := execIn(c, "kubectl create configmap later --dry-run=server; kubectl get nodes"); exit != 0 {
			t.Fatalf("exit %d", exit)
		}
		return c.Trace().Oldest() > 0
	})
	mira := sitsAt(t, addr.String(), "mira")
	mira.sees(t, "following ada")
	mira.types(t, "F")
	mira.sees(t, "so the scene was set by the lesson")
	mira.types(t, ":kubectl get configmap mine -o name\r") // which the beat before makes
	mira.sees(t, "configmap/mine")
	room.end()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// execIn runs a line in a cluster.
func execIn(c *cluster.Cluster, line string) int {
	return c.Exec(context.Background(), line, control.Streams{Out: io.Discard, Err: io.Discard, Source: "console"})
}

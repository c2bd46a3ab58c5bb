//go:build unix

package background_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"kviz/raftstore/steady"
	"kviz/tui/class/background"
)

// doing says what this test binary does when it is started as a program.
const doing = "KVIZ_TEST_BACKGROUND"

func TestMain(m *testing.M) {
	switch os.Getenv(doing) {
	case "listen":
		listen(os.Args[1])
	case "fail":
		fmt.Println("one line")
		fmt.Fprintf(os.Stderr, "kviz: 127.0.0.1:2222 is in use\n\n")
		os.Exit(1)
	case "end":
		os.Exit(0)
	case "hang":
		select {}
	case "start":
		p := program("listen", os.Args[2], os.Args[1])
		if err := p.Start(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	default:
		os.Exit(m.Run())
	}
}

// listen says to each caller which process and session this is, until one says end.
func listen(socket string) {
	fmt.Println("listening")
	l, err := net.Listen("unix", socket)
	if err != nil {
		panic(err)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		sid, err := unix.Getsid(0)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(c, "%d %d %d\n", os.Getpid(), sid, os.Getppid())
		said, _ := io.ReadAll(c)
		c.Close()
		if string(said) == "end" {
			os.Exit(0)
		}
	}
}

// program is this binary doing something, with a socket to wait for.
func program(what, log, socket string) background.Program {
	os.Setenv(doing, what)
	return background.Program{Path: os.Args[0], Args: []string{socket}, Log: log, Ready: func() error {
		c, err := net.Dial("unix", socket)
		if err == nil {
			c.Close()
		}
		return err
	}}
}

func places(t *testing.T) (log, socket string) {
	t.Setenv(doing, "")
	return filepath.Join(t.TempDir(), "state", "class.log"), filepath.Join(t.TempDir(), "s")
}

// said asks a program that listens who it is.
func said(t *testing.T, socket, word string) (pid, session int) {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, word)
	c.(*net.UnixConn).CloseWrite()
	text, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text))
	if len(fields) != 3 {
		t.Fatalf("it says %q", text)
	}
	pid, err1 := strconv.Atoi(fields[0])
	session, err2 := strconv.Atoi(fields[1])
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return pid, session
}

// A program is waited for until it is ready, is the first of its own session, and writes to its log, which is its owner's.
func TestAProgramIsStarted(t *testing.T) {
	log, socket := places(t)
	if err := program("listen", log, socket).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	pid, session := said(t, socket, "end")
	if pid != session || pid == os.Getpid() {
		t.Errorf("the process %d is in the session %d", pid, session)
	}
	text, err := os.ReadFile(log)
	if err != nil || string(text) != "listening\n" {
		t.Errorf("the log holds %q, %v", text, err)
	}
	if info, err := os.Stat(log); err != nil || info.Mode() != 0o600 {
		t.Errorf("the log is %v, %v", info, err)
	}
}

// It outlives the process that started it.
func TestItOutlivesTheOneThatStartedIt(t *testing.T) {
	log, socket := places(t)
	starter := exec.Command(os.Args[0], socket, log)
	starter.Env = append(os.Environ(), doing+"=start")
	if out, err := starter.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pid, _ := said(t, socket, "")
	if err := syscall.Kill(pid, 0); err != nil {
		t.Error(err)
	}
	said(t, socket, "end")
	steady.Until(t, "the program ends when it is asked to", func() bool { return syscall.Kill(pid, 0) != nil || orphan(pid) })
}

// orphan reports whether a process has ended, and nobody has asked how: in a container nobody may ever.
func orphan(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(text), ") Z ")
}

// Of one that ends before it is ready the error is its last line, or how it ended.
func TestAProgramThatFails(t *testing.T) {
	for what, says := range map[string]string{"fail": "kviz: 127.0.0.1:2222 is in use", "end": "it ended at once"} {
		log, socket := places(t)
		if err := program(what, log, socket).Start(t.Context()); err == nil || !strings.HasSuffix(err.Error(), says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	log, socket := places(t)
	p := program("listen", log, socket)
	p.Path = filepath.Join(t.TempDir(), "none")
	if err := p.Start(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
}

// When nobody wants to wait any more the program is ended. A log that is a link is not followed.
func TestWaitingEnds(t *testing.T) {
	log, socket := places(t)
	victim := filepath.Join(t.TempDir(), "victim")
	if err := errors.Join(os.MkdirAll(filepath.Dir(log), 0o700), os.WriteFile(victim, []byte("mine"), 0o600), os.Symlink(victim, log)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p := program("hang", log, socket)
	looked := 0
	p.Ready = func() error {
		if looked++; looked == 3 {
			cancel()
		}
		return errors.New("not yet")
	}
	if err := p.Start(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "mine" {
		t.Errorf("the file that the log was a link to holds %q, %v", text, err)
	}
}

//go:build unix

package attach_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
	gossh "golang.org/x/crypto/ssh"
	"golang.org/x/term"

	"kviz/raftstore/steady"
	"kviz/tui/class/attach"
	"kviz/tui/class/door"
)

type host func(context.Context, *door.Visit) error

func (h host) Receive(ctx context.Context, v *door.Visit) error { return h(ctx, v) }

// screen says its role and size, each new size, and each key; on ! it fails, on q it ends.
func screen(ctx context.Context, v *door.Visit) error {
	io.WriteString(v.Out, "\x1b[?1049h\x1b[?25l\x1b[?1003h")
	w, h := v.Size()
	fmt.Fprintf(v.Out, "%s %dx%d\n", v.Role, w, h)
	keys := make(chan byte)
	go func() {
		defer close(keys)
		in := v.Input(ctx)
		for p := make([]byte, 1); ; {
			if _, err := in.Read(p); err != nil {
				return
			}
			keys <- p[0]
		}
	}()
	defer func() {
		for range keys { // until the reader has ended, with ctx
		}
	}()
	for {
		select {
		case <-v.Resized():
			w, h := v.Size()
			fmt.Fprintf(v.Out, "now %dx%d\n", w, h)
		case k, typed := <-keys:
			switch {
			case !typed:
				return nil
			case k == '!':
				v.End("That was one key too many.")
			case k == 'q':
				v.End("")
			default:
				fmt.Fprintf(v.Out, "key %d\n", k)
			}
		}
	}
}

// served is a process with a socket; the terminal is a pty.
type served struct {
	t        *testing.T
	door     *door.Door
	socket   string
	listener *cutter
	keyboard *os.File // the other end of the terminal
	tty      *os.File
	before   *term.State

	mu    sync.Mutex
	shown strings.Builder
	done  chan struct{} // nothing more is shown
}

// cutter keeps the connections of a listener, to cut them as the death of the process does.
type cutter struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func (c *cutter) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns = append(c.conns, conn)
	return conn, err
}

func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		conn.Close()
	}
}

func serve(t *testing.T) *served {
	t.Helper()
	key, err := gossh.NewSignerFromKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	d, err := door.Open(door.Config{Host: host(screen), Key: key})
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, door: d, socket: filepath.Join(t.TempDir(), "class"), done: make(chan struct{})}
	l, err := door.ListenOwner(s.socket)
	if err != nil {
		t.Fatal(err)
	}
	s.listener = &cutter{Listener: l}
	if err := d.ServeOwner(s.listener); err != nil {
		t.Fatal(err)
	}
	if s.keyboard, s.tty, err = pty.Open(); err != nil {
		t.Fatal(err)
	}
	s.resize(100, 30)
	if s.before, err = term.GetState(int(s.tty.Fd())); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.done)
		p := make([]byte, 4096)
		for {
			n, err := s.keyboard.Read(p)
			s.mu.Lock()
			s.shown.Write(p[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		s.tty.Close()
		<-s.done
		s.keyboard.Close()
	})
	return s
}

func (s *served) resize(w, h uint16) {
	s.t.Helper()
	if err := pty.Setsize(s.tty, &pty.Winsize{Cols: w, Rows: h}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *served) show(ctx context.Context, role string) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- attach.Screen(ctx, s.socket, role, s.tty, s.tty) }()
	return ended
}

func (s *served) types(keys string) {
	s.t.Helper()
	if _, err := s.keyboard.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

func (s *served) sees(text string) {
	s.t.Helper()
	steady.Await(s.t, fmt.Sprintf("the terminal shows %q", text), func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !strings.Contains(s.shown.String(), text) {
			return fmt.Errorf("it shows %q", s.shown.String())
		}
		return nil
	})
}

// atRest fails the test unless the terminal is as it was, for its driver and for what draws it.
func (s *served) atRest() {
	s.t.Helper()
	now, err := term.GetState(int(s.tty.Fd()))
	if err != nil || !reflect.DeepEqual(now, s.before) {
		s.t.Errorf("the terminal's driver is %+v, and was %+v (%v)", now, s.before, err)
	}
	for _, mode := range []string{"\x1b[?1049l", "\x1b[?25h", "\x1b[?1003l"} {
		s.sees(mode)
	}
}

// A screen of another process is shown at the size of this terminal and follows it, and gets each key as it is typed;
// at the end the terminal is as it was, and the next key is the shell's.
func TestAScreenIsShown(t *testing.T) {
	s := serve(t)
	ended := s.show(t.Context(), "notes")
	s.sees("notes 100x30")
	s.types("a\x03") // no signal: the terminal is raw
	s.sees("key 97")
	s.sees("key 3")
	s.resize(70, 20)
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		t.Fatal(err)
	}
	s.sees("now 70x20")
	s.types("q")
	if err := <-ended; err != nil {
		var left *attach.Left
		if !errors.As(err, &left) {
			t.Errorf("ended with %v", err)
		}
	}
	s.atRest()
	s.types("ls\n")
	p := make([]byte, 10)
	if n, err := s.tty.Read(p); err != nil || string(p[:n]) != "ls\n" {
		t.Errorf("the shell reads %q, %v", p[:n], err)
	}
}

// The last words are on the screen, the status in the error.
func TestAScreenIsEnded(t *testing.T) {
	s := serve(t)
	ended := s.show(t.Context(), "present")
	s.sees("present 100x30")
	s.types("!")
	s.sees("That was one key too many.\r\n")
	var left *attach.Left
	if err := <-ended; !errors.As(err, &left) || left.Status != 1 {
		t.Errorf("ended with %v", err)
	}
	s.atRest()
}

// When the process that draws dies, or this one is to end, the terminal is as it was all the same.
func TestTheTerminalIsGivenBack(t *testing.T) {
	t.Run("the other process dies", func(t *testing.T) {
		s := serve(t)
		ended := s.show(t.Context(), "present")
		s.sees("present 100x30")
		s.listener.cut()
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "the process that drew this screen has ended") {
			t.Errorf("ended with %v", err)
		}
		s.atRest()
	})
	t.Run("this one is to end", func(t *testing.T) {
		s := serve(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := s.show(ctx, "present")
		s.sees("present 100x30")
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("ended with %v", err)
		}
		s.atRest()
	})
}

// Where nobody listens the answer says so, and the terminal is not touched; nor where there is none.
func TestNobodyListens(t *testing.T) {
	s := serve(t)
	if err := attach.Screen(t.Context(), s.socket+"-none", "notes", s.tty, s.tty); !errors.Is(err, attach.ErrNotRunning) {
		t.Errorf("nobody listens: %v", err)
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := attach.Screen(t.Context(), s.socket, "notes", f, s.tty); err == nil || !strings.Contains(err.Error(), "there is no terminal here") {
		t.Errorf("no terminal: %v", err)
	}
	if now, err := term.GetState(int(s.tty.Fd())); err != nil || !reflect.DeepEqual(now, s.before) {
		t.Errorf("the terminal was touched: %v", err)
	}
}

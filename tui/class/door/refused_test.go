package door_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	gossh "golang.org/x/crypto/ssh"

	"kviz/raftstore/steady"
	"kviz/tui/class/door"
)

// A command and a subsystem are refused in a sentence, and nothing is received.
func TestNoCommandAndNoFiles(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{})
		for ask, said := range map[string]string{"exec": "it runs no commands", "subsystem": "it has no files to copy"} {
			conn, err := c.dial(as{user: "mira"})
			if err != nil {
				t.Fatal(err)
			}
			s, err := conn.NewSession()
			if err != nil {
				t.Fatal(err)
			}
			stderr, err := s.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := s.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if ask == "exec" {
				err = s.Start("cat /etc/passwd")
			} else {
				err = s.RequestSubsystem("sftp")
			}
			words, err2 := io.ReadAll(stderr)
			received, err3 := io.ReadAll(stdout)
			if err := errors.Join(err, err2, err3); err != nil || len(received) > 0 || !strings.Contains(string(words), said) {
				t.Errorf("%s: the client reads %q and receives %q: %v", ask, words, received, err)
			}
			var exit *gossh.ExitError
			if ask == "exec" {
				if err := s.Wait(); !errors.As(err, &exit) || exit.ExitStatus() != 1 {
					t.Errorf("%s ended with %v", ask, err)
				}
			}
			conn.Close()
		}
		c.mustTell("asked for a command")
		c.mustTell("asked for file transfer")
		c.close()
	})
}

// What is forwarded elsewhere is refused here, in words: to a host, from a port, of a display, of an agent; the
// client has a terminal all the same.
func TestNothingIsForwarded(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{})
		conn, err := c.dial(as{user: "mira"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = conn.Dial("tcp", "10.0.0.1:22")
		var refused *gossh.OpenChannelError
		if !errors.As(err, &refused) || refused.Reason != gossh.Prohibited || refused.Message != "This is a class: it forwards nothing." {
			t.Errorf("direct-tcpip: %v", err)
		}
		if ok, _, err := conn.SendRequest("tcpip-forward", true, gossh.Marshal(struct {
			Addr string
			Port uint32
		}{"0.0.0.0", 8080})); ok || err != nil {
			t.Errorf("tcpip-forward: %v %v", ok, err)
		}
		s, err := conn.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		out := newScreen()
		s.Stdout, s.Stderr = out, out
		for _, ask := range []string{"x11-req", "auth-agent-req@openssh.com"} {
			if ok, err := s.SendRequest(ask, true, nil); ok || err != nil {
				t.Errorf("%s: %v %v", ask, ok, err)
			}
		}
		if err := errors.Join(s.RequestPty("xterm", 24, 80, nil), s.Shell()); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"it forwards no X11.", "it has no use for your agent.", "it forwards nothing.", "hello mira"} {
			if !out.has(text) {
				t.Errorf("the client reads %q, without %q", out, text)
			}
		}
		for _, what := range []string{"direct-tcpip", "tcpip-forward", "x11-req", "auth-agent-req"} {
			c.mustTell("asked for forwarding (" + what)
		}
		conn.Close()
		c.close()
	})
}

// One connection has one terminal; for a shell without one there is a sentence.
func TestOneTerminalAConnection(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{})
		k := c.enter(as{user: "mira"})
		k.sees("hello")
		if err := k.session.RequestPty("xterm", 24, 80, nil); err == nil {
			t.Error("a second terminal for one session")
		}
		var refused *gossh.OpenChannelError
		if _, err := k.ssh.NewSession(); !errors.As(err, &refused) || !strings.Contains(refused.Message, "One terminal a connection") {
			t.Errorf("a second session: %v", err)
		}
		k.leaves()

		conn, err := c.dial(as{user: "bo"})
		if err != nil {
			t.Fatal(err)
		}
		s, err := conn.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		out := newScreen()
		s.Stderr = out
		if err := s.Shell(); err != nil {
			t.Fatal(err)
		}
		if !out.has("it needs a terminal") {
			t.Errorf("the client reads %q", out)
		}
		c.close()
	})
}

// Of the environment there is what says how a terminal is drawn on, and nothing that means something to anybody else.
func TestTheEnvironmentIsSmall(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		environ := make(chan []string, 1)
		c := open(t, door.Config{Host: host(func(_ ctx, v *door.Visit) error { environ <- v.Environ; return nil })})
		conn, err := c.dial(as{user: "mira"})
		if err != nil {
			t.Fatal(err)
		}
		s, err := conn.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"LANG": "de_DE.UTF-8", "COLORTERM": "true\x1b[31m color\n", "LD_PRELOAD": "/tmp/x.so", "PATH": "/tmp", "NO_COLOR": strings.Repeat("1", 1<<17)} {
			s.Setenv(name, value)
		}
		if err := errors.Join(s.RequestPty("xterm\n\x1b]0;x\a"+strings.Repeat("y", 100), 24, 80, nil), s.Shell()); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, e := range <-environ {
			name, value, _ := strings.Cut(e, "=")
			got[name] = value
		}
		want := map[string]string{"LANG": "de_DE.UTF-8", "COLORTERM": "true[31mcolor", "NO_COLOR": strings.Repeat("1", 64), "TERM": "xterm]0;x" + strings.Repeat("y", 52)}
		if len(got) != len(want) {
			t.Errorf("the environment is %q", got)
		}
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s is %q, not %q", name, got[name], value)
			}
		}
		conn.Close()
		c.close()
	})
}

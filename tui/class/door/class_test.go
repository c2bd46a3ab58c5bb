package door_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	gossh "golang.org/x/crypto/ssh"

	"kviz/tui/class/door"
)

type ctx = context.Context

// host is a [door.Host] that is a function.
type host func(context.Context, *door.Visit) error

func (h host) Receive(ctx context.Context, v *door.Visit) error { return h(ctx, v) }

// echo greets a visitor, and says back each line that is typed, until one says bye.
func echo(ctx context.Context, v *door.Visit) error {
	w, h := v.Size()
	fmt.Fprintf(v.Out, "hello %s %dx%d\n", v.Name, w, h)
	in, line := v.Input(ctx), []byte{}
	for {
		b := make([]byte, 1)
		if _, err := in.Read(b); err != nil {
			return nil
		}
		if b[0] != '\r' {
			line = append(line, b[0])
			continue
		}
		if string(line) == "bye" {
			return nil
		}
		if string(line) == "panic" {
			panic("upside down")
		}
		fmt.Fprintf(v.Out, "%s\n", line)
		line = line[:0]
	}
}

// signer is the same for the same number.
func signer(t testing.TB, n byte) gossh.Signer {
	t.Helper()
	s, err := gossh.NewSignerFromKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// class is a door with a network in front.
type class struct {
	*door.Door
	t   testing.TB
	net *network
}

func open(t testing.TB, cfg door.Config) *class {
	t.Helper()
	if cfg.Key == nil {
		cfg.Key = signer(t, 1)
	}
	if cfg.Host == nil {
		cfg.Host = host(echo)
	}
	d, err := door.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c := &class{Door: d, t: t, net: newNetwork()}
	if err := d.Serve(c.net); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *class) close() {
	c.t.Helper()
	if err := c.Close(); err != nil {
		c.t.Error(err)
	}
}

// told reports whether the teacher was told something.
func (c *class) told(what string) bool {
	return slices.ContainsFunc(c.Refusals(), func(r door.Refusal) bool { return strings.Contains(r.What, what) })
}

func (c *class) mustTell(what string) {
	c.t.Helper()
	if !c.told(what) {
		c.t.Errorf("the teacher was not told %q, but %+v", what, c.Refusals())
	}
}

// as is how somebody comes in.
type as struct {
	user   string
	from   string // an address
	key    gossh.Signer
	answer func(question string) string // at a door with a code
	banner *strings.Builder             // takes what is said before one is in
}

func (c *class) dial(a as) (*gossh.Client, error) {
	c.t.Helper()
	if a.from == "" {
		a.from = "127.0.0.1"
	}
	conn, err := c.net.dial(a.from)
	if err != nil {
		return nil, err
	}
	return handshake(conn, a)
}

func handshake(conn net.Conn, a as) (*gossh.Client, error) {
	config := &gossh.ClientConfig{User: a.user, HostKeyCallback: gossh.InsecureIgnoreHostKey()}
	if a.banner != nil {
		config.BannerCallback = func(text string) error { a.banner.WriteString(text); return nil }
	}
	if a.key != nil {
		config.Auth = append(config.Auth, gossh.PublicKeys(a.key))
	}
	if a.answer != nil {
		config.Auth = append(config.Auth, gossh.KeyboardInteractive(func(_, _ string, questions []string, _ []bool) (answers []string, err error) {
			for _, q := range questions {
				answers = append(answers, a.answer(q))
			}
			return answers, nil
		}))
	}
	cc, chans, reqs, err := gossh.NewClientConn(conn, "class", config)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return gossh.NewClient(cc, chans, reqs), nil
}

// client is a terminal that came in.
type client struct {
	t       testing.TB
	ssh     *gossh.Client
	session *gossh.Session
	in      io.WriteCloser
	out     *screen
	ended   chan error
}

// screen keeps what a client was sent.
type screen struct {
	mu      sync.Mutex
	changed *sync.Cond
	text    strings.Builder
	over    bool
}

func newScreen() *screen { s := &screen{}; s.changed = sync.NewCond(&s.mu); return s }

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed.Broadcast()
	return s.text.Write(p)
}

func (s *screen) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.changed.Broadcast()
}

// has waits until a text has come, and reports whether it has; it has not if the connection ends before.
func (s *screen) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !strings.Contains(s.text.String(), text) {
		if s.over {
			return false
		}
		s.changed.Wait()
	}
	return true
}

func (s *screen) String() string { s.mu.Lock(); defer s.mu.Unlock(); return s.text.String() }

// enter comes in with a terminal.
func (c *class) enter(a as) *client {
	c.t.Helper()
	conn, err := c.dial(a)
	if err != nil {
		c.t.Fatalf("%s: %v", a.user, err)
	}
	return terminal(c.t, conn, 80, 24)
}

func terminal(t testing.TB, conn *gossh.Client, width, height int) *client {
	t.Helper()
	session, err := conn.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	k := &client{t: t, ssh: conn, session: session, out: newScreen(), ended: make(chan error, 1)}
	k.in, err = session.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	session.Stdout, session.Stderr = k.out, k.out
	if err := session.RequestPty("xterm-256color", height, width, gossh.TerminalModes{}); err != nil {
		t.Fatal(err)
	}
	if err := session.Shell(); err != nil {
		t.Fatal(err)
	}
	go func() {
		k.ended <- session.Wait()
		k.out.end()
	}()
	return k
}

func (k *client) typed(text string) {
	k.t.Helper()
	if _, err := io.WriteString(k.in, text); err != nil {
		k.t.Fatal(err)
	}
}

func (k *client) sees(text string) {
	k.t.Helper()
	if !k.out.has(text) {
		k.t.Fatalf("never saw %q, but %q", text, k.out)
	}
}

// leaves ends the visit, and gives the exit status of ssh.
func (k *client) leaves() int {
	k.t.Helper()
	k.typed("bye\r")
	return k.over()
}

// over waits for the end, and gives the exit status of ssh; -1 if there was none.
func (k *client) over() int {
	err := <-k.ended
	k.ssh.Close()
	var exit *gossh.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitStatus()
	}
	return -1
}

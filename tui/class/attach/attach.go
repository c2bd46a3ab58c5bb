// Package attach shows on this terminal a screen that another process of the same user draws: the teacher's
// screens live in the process that has the run, so that a terminal may be closed and opened again without losing it.
//
// It is an SSH client over a Unix socket (door.ListenOwner listens there); only the owner may open the socket's file, so
// neither side asks for anything more.
//
// Start reading at [Screen].
package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/muesli/cancelreader"
	gossh "golang.org/x/crypto/ssh"
	"golang.org/x/term"

	"kviz/tui/safe"
)

// ErrNotRunning is the answer where nobody listens at the socket.
var ErrNotRunning = errors.New("nothing runs there")

// Left is a screen that ended with more than a goodbye; its words were shown by then.
type Left struct{ Status int }

func (l *Left) Error() string { return fmt.Sprintf("the screen ended with status %d", l.Status) }

// Screen shows the screen of a role ("present", "notes") on a terminal, until it ends or ctx does. Whatever happens, the terminal is
// then as it was.
func Screen(ctx context.Context, socket, role string, in, out *os.File) (err error) {
	if !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return errors.New("there is no terminal here (input or output is not a TTY)")
	}
	client, err := dial(ctx, socket, role)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = client.Close() })
	defer stop()
	defer client.Close()
	session, err := client.NewSession()
	if err != nil {
		return fmt.Errorf("attach: %w", err)
	}
	t, err := takeTerminal(in, out)
	if err != nil {
		return fmt.Errorf("attach: %w", err)
	}
	defer func() { err = errors.Join(err, t.giveBack()) }()
	return t.show(ctx, session)
}

func dial(ctx context.Context, socket, role string) (*gossh.Client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	// The file system has said already who is at the other end.
	c, channels, requests, err := gossh.NewClientConn(conn, socket, &gossh.ClientConfig{User: role, HostKeyCallback: gossh.InsecureIgnoreHostKey()})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("attach: %w", err), conn.Close())
	}
	return gossh.NewClient(c, channels, requests), nil
}

// terminal is this terminal while another process draws on it.
type terminal struct {
	in, out *os.File
	was     *term.State
}

func takeTerminal(in, out *os.File) (*terminal, error) {
	was, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	return &terminal{in: in, out: out, was: was}, nil
}

// atRest are the modes of a terminal on which no program draws. The other process brings the terminal back itself, unless
// it was killed; then nobody knows what it had set.
const atRest = "\x18\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?2004l\x1b[?2026l\x1b[0m\x1b[?1049l\x1b[?25h"

func (t *terminal) giveBack() error { return term.Restore(int(t.in.Fd()), t.was) }

// show connects the terminal with the session until that ends.
func (t *terminal) show(ctx context.Context, session *gossh.Session) error {
	keys, err := session.StdinPipe()
	if err != nil {
		return fmt.Errorf("attach: %w", err)
	}
	session.Stdout, session.Stderr = t.out, t.out
	for _, name := range []string{"COLORTERM", "LANG", "NO_COLOR"} {
		if value, is := os.LookupEnv(name); is {
			_ = session.Setenv(name, value)
		}
	}
	width, height, err := term.GetSize(int(t.out.Fd()))
	if err != nil {
		return fmt.Errorf("attach: %w", err)
	}
	if err := session.RequestPty(os.Getenv("TERM"), height, width, gossh.TerminalModes{}); err != nil {
		return fmt.Errorf("attach: %w", err)
	}
	if err := session.Shell(); err != nil {
		return fmt.Errorf("attach: %w", err)
	}
	beside, end := context.WithCancel(ctx)
	group := safe.NewGroup(func() { _ = session.Close() })
	typed, err := cancelreader.NewReader(t.in)
	if err != nil {
		end()
		return fmt.Errorf("attach: %w", err)
	}
	group.Go(func() { _, _ = io.Copy(keys, typed) })
	group.Go(func() {
		resizes(beside, func() {
			if w, h, err := term.GetSize(int(t.out.Fd())); err == nil {
				_ = session.WindowChange(h, w)
			}
		})
	})
	err = session.Wait()
	end()
	typed.Cancel()
	group.Wait()
	_ = typed.Close() // not before its reader has ended: it would wait for good
	var exit *gossh.ExitError
	switch crash := group.Crash(); {
	case crash != nil:
		err = crash
	case errors.As(err, &exit):
		return &Left{exit.ExitStatus()}
	case ctx.Err() != nil:
		err = nil
	case err != nil:
		err = fmt.Errorf("the process that drew this screen has ended: %w", err)
	default:
		return nil
	}
	_, _ = io.WriteString(t.out, atRest)
	return err
}

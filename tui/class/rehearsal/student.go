// Package rehearsal is a class without people: students who come in over SSH as people do, each with a terminal of their own
// that they read. They join, follow, answer polls, go into a cluster of their own, are cut off and come again, or stop
// reading. They see only what stands on their screen, so what they report is what people would have seen, and when.
//
// It measures a class ([Measure]), says beforehand whether a machine bears one, and its students are the clients of the
// tests of everything above the door. Simplified: they do not think; a reading of their screens takes them no time, and they
// type without mistakes.
//
// Start reading at [Join].
package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"kviz/tui/safe"
)

// Sizes are those of terminals that people have.
var Sizes = [8][2]int{{80, 24}, {120, 40}, {60, 18}, {200, 60}, {100, 30}, {40, 12}, {132, 43}, {80, 50}}

// As is how somebody comes in.
type As struct {
	Name   string
	Word   string // that an earlier first screen showed; "" for none
	Code   string // of the class
	Key    gossh.Signer
	Width  int
	Height int
	Rate   int // bytes a second that the line carries; 0: as they come
}

// Student is somebody at a terminal.
type Student struct {
	As

	line   *Line
	conn   *gossh.Client
	typed  io.Writer
	screen *screen
	group  *safe.Group
	ended  chan struct{} // closed once the terminal is
	err    error         // how ssh ended
	drop   sync.Once
}

// Join comes in over a connection, with a terminal. The connection is the student's from then on, also where they are not let in.
func Join(ctx context.Context, conn net.Conn, as As) (*Student, error) {
	line := NewLine(conn)
	line.Slow(as.Rate)
	stop := context.AfterFunc(ctx, func() { _ = line.Close() })
	defer stop()
	s, err := join(line, as)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", as.Name, err), ctx.Err(), closed(line.Close()))
	}
	return s, nil
}

// closed is an error of a close, unless it says that this was done already.
func closed(err error) error {
	if errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func join(line *Line, as As) (*Student, error) {
	user := as.Name
	if as.Word != "" {
		user += "+" + as.Word
	}
	config := &gossh.ClientConfig{User: user, HostKeyCallback: gossh.InsecureIgnoreHostKey()} // on this machine
	if as.Key != nil {
		config.Auth = append(config.Auth, gossh.PublicKeys(as.Key))
	}
	config.Auth = append(config.Auth, gossh.KeyboardInteractive(as.answer))
	cc, channels, requests, err := gossh.NewClientConn(line, "class", config)
	if err != nil {
		return nil, err
	}
	s := &Student{
		As: as, line: line, conn: gossh.NewClient(cc, channels, requests), screen: newScreen(line, as.Width, as.Height), ended: make(chan struct{}),
	}
	s.group = safe.NewGroup(func() { _ = line.Close() })
	if err := s.open(); err != nil {
		return nil, errors.Join(err, closed(s.conn.Close()))
	}
	return s, nil
}

// answer is the dialogue at the door.
func (a As) answer(_, _ string, questions []string, _ []bool) (answers []string, err error) {
	for _, q := range questions {
		switch {
		case strings.HasPrefix(q, "Name"):
			answers = append(answers, a.Name)
		case strings.HasPrefix(q, "Code"):
			answers = append(answers, a.Code)
		default: // whether they are the one who is in already
			answers = append(answers, a.Word)
		}
	}
	return answers, nil
}

// open opens the terminal.
func (s *Student) open() error {
	session, err := s.conn.NewSession()
	if err != nil {
		return err
	}
	typed, err := session.StdinPipe()
	if err != nil {
		return err
	}
	s.typed = typed
	session.Stdout, session.Stderr = s.screen, s.screen
	for name, value := range map[string]string{"COLORTERM": "truecolor", "LANG": "C.UTF-8"} {
		if err := session.Setenv(name, value); err != nil {
			return err
		}
	}
	if err := session.RequestPty("xterm-256color", s.Height, s.Width, gossh.TerminalModes{}); err != nil {
		return err
	}
	if err := session.Shell(); err != nil {
		return err
	}
	// What a terminal answers to what programs ask, as long as its emulator lives: it waits to be read.
	s.group.Go(func() { _, _ = io.Copy(forgiving{typed}, s.screen.emulator) })
	s.group.Go(func() {
		defer close(s.ended)
		s.err = session.Wait()
		s.screen.end()
		_ = s.conn.Close()
		_ = s.screen.emulator.Close()
	})
	return nil
}

// forgiving is a writer to a line that may be cut.
type forgiving struct{ to io.Writer }

func (f forgiving) Write(p []byte) (int, error) {
	_, _ = f.to.Write(p)
	return len(p), nil
}

// Screen is what stands on the terminal.
func (s *Student) Screen() string { return s.screen.text() }

// Received is how many bytes have come, and when the newest did.
func (s *Student) Received() (bytes int64, newest time.Time) { return s.screen.received() }

// errEnded is what is told of somebody whose terminal has ended.
var errEnded = errors.New("the terminal has ended")

// Until waits until a screen's text is as it is wanted, and gives when the bytes arrived that made it so.
func (s *Student) Until(ctx context.Context, what string, holds func(text string) bool) (time.Time, error) {
	w := s.screen.until(holds)
	var why error
	select {
	case at, ok := <-w.done:
		if ok {
			return at, nil
		}
		why = errEnded
	case <-ctx.Done():
		s.screen.forget(w)
		why = ctx.Err()
	}
	return time.Time{}, fmt.Errorf("%s never saw %s: %w; %dx%d shows\n%s", s.Name, what, why, s.Width, s.Height, s.Screen())
}

// Sees waits until all the texts stand on the screen at once, wherever lines are broken.
func (s *Student) Sees(ctx context.Context, texts ...string) (time.Time, error) {
	return s.Until(ctx, fmt.Sprintf("%q", texts), func(text string) bool { return hasAll(said(text), texts) })
}

func hasAll(text string, want []string) bool {
	for _, w := range want {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// Type types keys.
func (s *Student) Type(keys string) error {
	if _, err := io.WriteString(s.typed, keys); err != nil {
		return fmt.Errorf("%s types %q: %w", s.Name, keys, err)
	}
	return nil
}

// Stops has the student read nothing any more.
func (s *Student) Stops() { s.line.Deafen() }

// Drop cuts the line, and waits until nothing of the student is left.
func (s *Student) Drop() {
	s.drop.Do(func() { _ = s.line.Close() })
	<-s.ended
	s.group.Wait()
}

// Ended waits until the terminal is closed from the other side, and gives the exit status of ssh; -1 where there was none.
func (s *Student) Ended(ctx context.Context) (int, error) {
	select {
	case <-s.ended:
	case <-ctx.Done():
		return 0, fmt.Errorf("%s is in still: %w; the screen shows\n%s", s.Name, ctx.Err(), s.Screen())
	}
	s.Drop()
	var exit *gossh.ExitError
	switch {
	case s.err == nil:
		return 0, nil
	case errors.As(s.err, &exit):
		return exit.ExitStatus(), nil
	}
	return -1, nil
}

var toldWord = regexp.MustCompile(`come again with the word ([a-z]+-\d+)`)

// ReadWord is the word that the first screen shows; "" where it shows none, as on a small one.
func (s *Student) ReadWord() string {
	if m := toldWord.FindStringSubmatch(said(s.Screen())); m != nil {
		return m[1]
	}
	return ""
}

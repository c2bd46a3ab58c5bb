package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"kviz/raftstore/host"
	"kviz/tui/class/rehearsal"
	"kviz/tui/safe"
)

// classServer is a class in a process and a folder of its own, which is rehearsed: so that what it takes is measured apart
// from its students, and nothing of another class is touched.
type classServer struct {
	rehearsal.Class
	folder string // of its state and its socket
	cmd    *exec.Cmd
	group  *safe.Group
	ended  chan error // how the process ended
	said   said       // to standard error
}

// said keeps the end of what is written.
type said struct {
	mu   sync.Mutex
	text []byte
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, p...)
	if over := len(s.text) - 4<<10; over > 0 {
		s.text = s.text[over:]
	}
	return len(p), nil
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimSpace(string(s.text))
}

// rehearsalCode is the code of a class that is rehearsed; nobody else can come in there.
const rehearsalCode = "plum-fern-42"

// rehearsed are the flags of a class that is rehearsed.
func rehearsed(lesson string, private, viewers int) []string {
	return []string{
		"class", lesson, "--no-screen", "--teacher", "ada", "--listen", "127.0.0.1:0", "--code", rehearsalCode,
		fmt.Sprint("--private=", private), fmt.Sprint("--viewers=", viewers),
	}
}

// startClass starts a class by a program that is kviz, in a folder that the caller made and removes.
func startClass(ctx context.Context, program, folder string, args ...string) (*classServer, error) {
	s := &classServer{folder: folder, ended: make(chan error, 1)}
	s.cmd = exec.CommandContext(ctx, program, args...)
	s.cmd.Dir = folder
	s.cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+folder, "XDG_RUNTIME_DIR="+folder, "TMPDIR="+folder, "TMP="+folder, "TEMP="+folder)
	s.cmd.Stderr = &s.said
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the class: %w", err)
	}
	s.group = safe.NewGroup(func() { _ = s.cmd.Process.Kill() })
	found := make(chan rehearsal.Class, 1)
	s.group.Go(func() {
		defer close(found)
		if c, ok := readJoin(out); ok {
			found <- c
		}
		_, _ = io.Copy(io.Discard, out)
		s.ended <- s.cmd.Wait() // after all of it was read
	})
	c, ok := <-found
	if !ok {
		return nil, s.failed(<-s.ended)
	}
	s.Class = c
	s.Socket = filepath.Join(folder, "kviz", "class.sock")
	return s, nil
}

var joinLine = regexp.MustCompile(`^students: ssh -p (\d+) (\S+)(?:   code (\S+))?`)

// readJoin reads what a class says first, up to how students come in.
func readJoin(r io.Reader) (c rehearsal.Class, ok bool) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if m := joinLine.FindStringSubmatch(lines.Text()); m != nil {
			return rehearsal.Class{Address: net.JoinHostPort(m[2], m[1]), Code: m[3]}, true
		}
	}
	return c, false
}

// failed is why the class ended before its time.
func (s *classServer) failed(err error) error {
	if text := s.said.String(); text != "" {
		return errors.Join(errors.New(strings.TrimPrefix(text, "kviz: ")), err)
	}
	return errors.Join(errors.New("the class ended at once"), err)
}

// Spent is what the process has taken.
func (s *classServer) Spent() (rehearsal.Spent, error) {
	m, err := host.MemoryOf(s.cmd.Process.Pid)
	if err != nil {
		return rehearsal.Spent{}, err
	}
	p, err := host.ProcessorTime(s.cmd.Process.Pid)
	return rehearsal.Spent{Memory: m.Own, Processor: p}, err
}

// kill ends the process without a word, and waits for its end.
func (s *classServer) kill() {
	_ = s.cmd.Process.Kill() // it may have ended
	<-s.ended
	s.group.Wait()
}

// over waits until the process ends by itself.
func (s *classServer) over(ctx context.Context) error {
	select {
	case err := <-s.ended:
		s.group.Wait()
		if err != nil {
			return s.failed(err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the class has not ended: %w", ctx.Err())
	}
}

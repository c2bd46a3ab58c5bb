package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"kviz/raftstore/host"
)

// Server is three members that are measured, in one or more processes.
type Server struct {
	Name      string
	Endpoints []string

	processes func() []int
	kill      func(context.Context) error // the leader
	restart   func(context.Context) error
	stop      func() error
}

// Kill kills the leader.
func (s *Server) Kill(ctx context.Context) error { return s.kill(ctx) }

// Restart starts the killed member again.
func (s *Server) Restart(ctx context.Context) error { return s.restart(ctx) }

// Close ends the server's processes.
func (s *Server) Close() error { return s.stop() }

// Start runs a command that serves as [Serve] does, and waits until it is
// ready.
func Start(ctx context.Context, name string, argv ...string) (*Server, error) {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	lines := bufio.NewReader(out)
	stop := func() error {
		// It ends when its input does.
		err := in.Close()
		return errors.Join(err, c.Wait())
	}
	first, err := lines.ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s did not say where it serves: %w", name, err), stop())
	}
	ask := func(word string) error {
		if _, err := fmt.Fprintln(in, word); err != nil {
			return fmt.Errorf("%s: %s: %w", name, word, err)
		}
		answer, err := lines.ReadString('\n')
		if answer = strings.TrimSpace(answer); err == nil && answer != "ok" {
			err = errors.New(answer)
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", name, word, err)
		}
		return nil
	}
	return &Server{
		Name: name, Endpoints: strings.Split(strings.TrimSpace(first), ","),
		processes: func() []int { return []int{c.Process.Pid} },
		kill:      func(context.Context) error { return ask("kill") },
		restart:   func(context.Context) error { return ask("restart") },
		stop:      stop,
	}, nil
}

// Serve is the other end of [Start]: it says where the members are, then does
// what each line of in asks for, and returns when in ends.
func Serve(in io.Reader, out io.Writer, endpoints []string, kill, restart func() error) error {
	if _, err := fmt.Fprintln(out, strings.Join(endpoints, ",")); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		err := fmt.Errorf("unknown request %q", lines.Text())
		switch lines.Text() {
		case "kill":
			err = kill()
		case "restart":
			err = restart()
		}
		answer := "ok"
		if err != nil {
			answer = strings.ReplaceAll(err.Error(), "\n", "; ")
		}
		if _, err := fmt.Fprintln(out, answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

// Resident is the server's resident memory in MiB.
func (s *Server) Resident() (float64, error) { return Resident(s.processes()...) }

// Resident is the resident memory of processes in MiB.
func Resident(pids ...int) (float64, error) {
	sum := 0.0
	for _, pid := range pids {
		m, err := host.MemoryOf(pid)
		if err != nil {
			return 0, err
		}
		sum += float64(m.Resident) / (1 << 20)
	}
	return sum, nil
}

// Processor is the processor time that the server has taken.
func (s *Server) Processor() (time.Duration, error) {
	var sum time.Duration
	for _, pid := range s.processes() {
		took, err := host.ProcessorTime(pid)
		if err != nil {
			return 0, err
		}
		sum += took
	}
	return sum, nil
}

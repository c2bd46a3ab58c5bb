package hostile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"k8s.io/client-go/tools/clientcmd"
)

// Server is kviz serve in a process of its own.
type Server struct {
	URL, Token string
	PID        int

	process *exec.Cmd
	out     io.Reader
	log     *tail
}

// Start starts a kviz binary's API server on a kind of store (mvcc, raft), with nodes and its data in
// dir, and waits until it serves.
func Start(ctx context.Context, binary, store, dir string) (*Server, error) {
	kubeconfig := filepath.Join(dir, "kubeconfig")
	c := exec.CommandContext(ctx, binary, "serve", "--store", store, "--speed", "1", "--kubeconfig", kubeconfig)
	// Where it announces itself, and keeps the store's data.
	c.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir, "TMPDIR="+dir, "XDG_STATE_HOME="+dir)
	s := &Server{process: c, log: &tail{}}
	c.Stderr = s.log
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(out)
	s.out, s.PID = lines, c.Process.Pid
	// It says where it serves once its control plane is ready.
	if _, err := lines.ReadString('\n'); err != nil {
		return nil, errors.Join(fmt.Errorf("kviz serve: %w\n%s", err, s.log), s.Stop())
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	s.URL, s.Token = config.Host, config.BearerToken
	return s, nil
}

// Stop ends the server.
func (s *Server) Stop() error {
	if runtime.GOOS == "windows" {
		_ = s.process.Process.Kill() // it knows no gentler signal
	} else {
		_ = s.process.Process.Signal(os.Interrupt) // it may be gone
	}
	_, _ = io.Copy(io.Discard, s.out) // until it ends
	_ = s.process.Wait()              // its code says that it was ended
	return nil
}

// Log is the last of what the server printed.
func (s *Server) Log() string { return s.log.String() }

// tail keeps the last bytes that are written to it.
type tail struct{ last []byte }

const tailBytes = 8 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.last = append(t.last, b...)
	t.last = t.last[max(0, len(t.last)-tailBytes):]
	return len(b), nil
}

func (t *tail) String() string { return string(t.last) }

// Kviz attacks each kind of store's server of a kviz binary, one after the other, with its data in dir;
// tell is given each report as it is known.
func Kviz(ctx context.Context, binary, dir string, o Options, tell func(name string, r *Report)) error {
	for _, store := range o.Stores {
		if err := kvizOn(ctx, binary, store, dir, o, tell); err != nil {
			return fmt.Errorf("kviz on the %s store: %w", store, err)
		}
	}
	return nil
}

func kvizOn(ctx context.Context, binary, store, dir string, o Options, tell func(name string, r *Report)) (err error) {
	data, err := os.MkdirTemp(dir, store+"-")
	if err != nil {
		return err
	}
	s, err := Start(ctx, binary, store, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	t, err := Prepare(ctx, s.URL, s.Token)
	if err != nil {
		return err
	}
	o.PIDs = []int{s.PID}
	report, err := Attack(ctx, t, o)
	if report != nil {
		tell("kviz, "+store, report)
	}
	if err != nil {
		return fmt.Errorf("%w\nit printed\n%s", err, s.Log())
	}
	return nil
}

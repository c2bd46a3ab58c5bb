//go:build unix

package host

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

var (
	nobodyReads = []error{syscall.EPIPE}
	inUse       = []error{syscall.EADDRINUSE}
	notEmpty    = []error{syscall.ENOTEMPTY}
)

// alive sends no signal, only asks whether one could be sent; to the process of another
// user it cannot.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// ownProcessorTime is that of this process.
func ownProcessorTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, os.NewSyscallError("getrusage", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// parentFile is the first file that a program gets beside its three streams: a pipe
// into which nobody ever writes.
const parentFile = 3

func start(cmd *exec.Cmd) (ended func() error, err error) {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.ExtraFiles = []*os.File{theirs}
	if err := errors.Join(cmd.Start(), theirs.Close()); err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	return ours.Close, nil
}

func awaitParent() error { return awaitEnd(os.NewFile(parentFile, "parent")) }

func awaitEnd(f *os.File) error {
	var b [1]byte
	if _, err := f.Read(b[:]); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

func interrupted(status any) bool {
	s, ok := status.(syscall.WaitStatus)
	return ok && s.Signaled() && s.Signal() == syscall.SIGINT
}

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

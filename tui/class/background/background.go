// Package background starts a program that outlives this terminal: the process that has the teacher's run goes on
// when the terminal in which the class was begun is closed.
//
// Start reading at [Program.Start].
package background

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"kviz/tui/safe"
)

// Program is one to be started.
type Program struct {
	Path  string   // of the executable; as a rule this one, see [os.Executable]
	Args  []string // without its name
	Log   string   // the file that takes what it writes; what was there before is lost
	Ready func() error
}

// Start starts the program in a session of its own, so that neither the end of this terminal nor its Ctrl-C reaches it, and waits
// until Ready gives nil. If the program ends before that, the error is the last line it wrote. If ctx ends before, the program
// is ended.
func (p Program) Start(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(p.Log), 0o700); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	// A file of somebody else's, or a link, would be written to: it is replaced.
	if err := os.Remove(p.Log); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("log: %w", err)
	}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Stdout, cmd.Stderr = log, log
	apart(cmd)
	if err := errors.Join(cmd.Start(), log.Close()); err != nil {
		return fmt.Errorf("start %s: %w", p.Path, err)
	}
	return p.await(ctx, cmd)
}

// lookAgain is the time between two looks at whether the program is ready.
const lookAgain = 10 * time.Millisecond

func (p Program) await(ctx context.Context, cmd *exec.Cmd) error {
	ended := make(chan error, 1)
	group := safe.NewGroup(nil)
	group.Go(func() { ended <- cmd.Wait() }) // lasts as long as both programs do
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		if p.Ready() == nil {
			return nil
		}
		select {
		case <-tick.C:
		case err := <-ended:
			return p.failed(err)
		case <-ctx.Done():
			_ = cmd.Process.Kill()
			<-ended
			return ctx.Err()
		}
	}
}

// failed is why the program ended before it was ready.
func (p Program) failed(err error) error {
	line, readErr := lastLine(p.Log)
	switch {
	case line != "":
		return errors.New(line)
	case err == nil:
		err = errors.New("it ended at once")
	}
	return errors.Join(fmt.Errorf("%s: %w", filepath.Base(p.Path), err), readErr)
}

// longestTail is how much of a log is looked at.
const longestTail = 4 << 10

// lastLine is the last line of a file that is not empty.
func lastLine(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	tail := make([]byte, min(info.Size(), longestTail))
	if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	lines := bytes.Split(bytes.TrimSpace(tail), []byte("\n"))
	return strings.TrimSpace(string(lines[len(lines)-1])), nil
}

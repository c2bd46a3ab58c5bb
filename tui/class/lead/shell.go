package lead

import (
	"strings"
	"sync"

	"kviz/cluster/control"
	"kviz/tui/stage"
)

// shell is the teacher's console: one command at a time, and the end of what it printed.
type shell struct {
	mu  sync.Mutex
	now stage.Command
}

// tail keeps the last bytes that were written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// mostSaid is how much of a command's output is kept: the stage shows a few lines.
const mostSaid = 4096

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - mostSaid; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimRight(string(t.text), "\n")
}

func (s *shell) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.Running
}

// last is the newest command.
func (s *shell) last() stage.Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// exec runs a line beside the run's clock.
func (l *Lead) exec(line string) {
	s := &l.shell
	if c, ok := l.cfg.Player.(Commander); ok {
		if err := c.Command(line); err != nil {
			l.notice = err.Error()
			return
		}
	}
	s.mu.Lock()
	if s.now.Running {
		s.mu.Unlock()
		l.notice = "a command runs still: " + s.now.Line
		return
	}
	s.now = stage.Command{Line: line, Running: true}
	s.mu.Unlock()
	l.group.Go(func() {
		out := &tail{}
		exit := l.cfg.Cluster.Exec(l.ctx, line, control.Streams{Out: out, Err: out})
		s.mu.Lock()
		s.now = stage.Command{Line: line, Exit: exit, Said: out.String()}
		s.mu.Unlock()
		_ = l.in(func() {}) // a look at what came of it
	})
}

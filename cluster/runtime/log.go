package runtime

import (
	"io"
	"strings"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/stdio"
)

// LogLine is one line a container wrote, as the CRI log file keeps it.
type LogLine struct {
	At     time.Time
	Stream string // stdout, stderr
	Text   string // without the newline
}

// logLines is how many lines of a container are kept; a real runtime rotates its
// files.
const logLines = 2000

// logBytes is how much of a container's output is kept (the kubelet's containerLogMaxSize), and
// lineBytes how long a line gets.
const (
	logBytes  = 10 << 20
	lineBytes = 1 << 20
)

type log struct {
	lines   []LogLine
	rotated int // lines that are not kept any more
	bytes   int // of lines
	part    [2]string
	news    sim.Cond // a line was written, or nothing more will be
	viewers []*stdio.Streams
}

func (l *log) write(at time.Time, s string, stderr bool) {
	i, stream := 0, "stdout"
	if stderr {
		i, stream = 1, "stderr"
	}
	for _, v := range l.viewers {
		out, errw := v.Writers()
		if stderr {
			out = errw
		}
		_, _ = io.WriteString(out, s)
	}
	for text := l.part[i] + s; ; {
		line, rest, ok := strings.Cut(text, "\n")
		switch {
		case len(line) > lineBytes:
			line, rest = text[:lineBytes], text[lineBytes:]
		case !ok:
			l.part[i] = text
			return
		}
		text = rest
		l.lines = append(l.lines, LogLine{at, stream, line})
		l.bytes += len(line)
		if len(l.lines) > logLines || l.bytes > logBytes {
			l.rotate()
		}
		l.news.Broadcast()
	}
}

// rotate keeps the newer half of what may be kept.
func (l *log) rotate() {
	from, bytes := len(l.lines), 0
	for from > 0 && len(l.lines)-from < logLines/2 && bytes+len(l.lines[from-1].Text) <= logBytes/2 {
		from--
		bytes += len(l.lines[from].Text)
	}
	l.rotated += from
	l.lines, l.bytes = append([]LogLine(nil), l.lines[from:]...), bytes
}

func (l *log) tail(lines, bytes int) string {
	from := max(0, len(l.lines)-lines)
	var b strings.Builder
	for _, line := range l.lines[from:] {
		b.WriteString(line.Text + "\n")
	}
	s := b.String()
	return s[max(0, len(s)-bytes):]
}

// Logs are the lines a container has written, oldest first. The slice is shared.
func (r *Runtime) Logs(containerID string) ([]LogLine, error) {
	c, _, err := r.find(containerID)
	if err != nil {
		return nil, err
	}
	return c.log.lines, nil
}

// LogReader stands at a place in a container's log.
type LogReader struct {
	c      *Container
	next   int // number of the next line, counted from the container's first
	closed bool
	over   sim.Cond // closed
}

// OpenLog gives a reader at the beginning of a container's log.
func (r *Runtime) OpenLog(containerID string) (*LogReader, error) {
	c, _, err := r.find(containerID)
	if err != nil {
		return nil, err
	}
	return &LogReader{c: c}, nil
}

// Take gives what has been written since the last call. The slice is shared.
func (l *LogReader) Take() []LogLine {
	log := l.c.log
	from := max(0, l.next-log.rotated)
	l.next = log.rotated + len(log.lines)
	return log.lines[from:]
}

// Wait waits until there is something to take; false means that there never will be:
// the container has ended, or the reader was closed.
func (l *LogReader) Wait(t *sim.Task) bool {
	for !l.closed {
		if log := l.c.log; l.next < log.rotated+len(log.lines) {
			return true
		}
		if l.c.State == Exited {
			return false
		}
		l.c.log.news.Wait(t)
	}
	return false
}

// Close ends a Wait.
func (l *LogReader) Close() {
	l.closed = true
	l.c.log.news.Broadcast()
	l.over.Broadcast()
}

// WaitClosed waits until nobody reads any more.
func (l *LogReader) WaitClosed(t *sim.Task) {
	for !l.closed {
		l.over.Wait(t)
	}
}

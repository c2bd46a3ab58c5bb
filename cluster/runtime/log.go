package runtime

import (
	"strings"
	"time"
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

type log struct {
	lines []LogLine
	part  [2]string
}

func (l *log) write(at time.Time, s string, stderr bool) {
	i, stream := 0, "stdout"
	if stderr {
		i, stream = 1, "stderr"
	}
	l.part[i] += s
	for {
		line, rest, ok := strings.Cut(l.part[i], "\n")
		if !ok {
			return
		}
		l.part[i] = rest
		l.lines = append(l.lines, LogLine{at, stream, line})
		if len(l.lines) > logLines {
			l.lines = append([]LogLine(nil), l.lines[len(l.lines)-logLines/2:]...)
		}
	}
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

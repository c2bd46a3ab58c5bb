package remote

import (
	"fmt"
	"io"
	"sync"
)

// printer prints lines in order. Whoever reads them may be slow, and events come while
// the member keeps their order with a lock: so nobody waits for a line.
type printer struct {
	spawn func(string, func())

	mu    sync.Mutex
	lines []printed // the first is being printed
}

// printed is a line on its way to a writer.
type printed struct {
	to   io.Writer
	line string
}

// print has a line printed after those before it; nowhere if w is nil.
func (p *printer) print(w io.Writer, line string) {
	if w == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, printed{w, line})
	if len(p.lines) == 1 {
		p.spawn("printing", p.run)
	}
}

// run prints until nothing is left.
func (p *printer) run() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.lines) > 0 {
		next := p.lines[0]
		p.mu.Unlock()
		fmt.Fprintln(next.to, next.line)
		p.mu.Lock()
		p.lines = p.lines[1:]
	}
}

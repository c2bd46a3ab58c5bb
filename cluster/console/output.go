package console

import (
	"bytes"
	"io"
	"sync"
)

// mostHeld is how much of what is printed is held back.
const mostHeld = 1 << 20

// output is where a part of a script prints. While several take turns, what one prints is held until its
// turn ends, so that it comes out in the order of the turns; a job's, line by line.
type output struct {
	to [2]io.Writer // standard output and error

	mu    sync.Mutex
	held  bool
	parts []printed
	begun [2][]byte // lines that have no end yet
	size  int
}

// printed is a piece of what was printed.
type printed struct {
	of int // 0 or 1, as to has them
	b  []byte
}

// stream is the standard output or error of a part.
type stream struct {
	*output
	of int
}

// Write is [io.Writer].
func (s *stream) Write(p []byte) (int, error) {
	o := s.output
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.held {
		return o.to[s.of].Write(p)
	}
	if n := len(o.parts); n > 0 && o.parts[n-1].of == s.of {
		o.parts[n-1].b = append(o.parts[n-1].b, p...)
	} else {
		o.parts = append(o.parts, printed{s.of, bytes.Clone(p)})
	}
	if o.size += len(p); o.size > mostHeld {
		return len(p), o.show(true)
	}
	return len(p), nil
}

// hold begins to hold back, or ends it.
func (o *output) hold(on bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = on
	_ = o.show(true) // nobody is there to say it to
}

// flush shows what was held back: all of it, or the lines that have ended.
func (o *output) flush(all bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = o.show(all) // likewise
}

// show is flush; the lock is held.
func (o *output) show(all bool) (failed error) {
	write := func(of int, b []byte) {
		if len(b) == 0 {
			return
		}
		if _, err := o.to[of].Write(b); err != nil {
			failed = err
		}
	}
	o.size = 0
	for _, p := range o.parts {
		b := append(o.begun[p.of], p.b...)
		end := bytes.LastIndexByte(b, '\n') + 1
		if all {
			end = len(b)
		}
		write(p.of, b[:end])
		o.begun[p.of] = b[end:]
	}
	o.parts = nil
	for of, b := range o.begun {
		if all {
			write(of, b)
			o.begun[of] = nil
		}
		o.size += len(o.begun[of])
	}
	return failed
}

// below is what is written to in the end.
func below(w io.Writer) io.Writer {
	for {
		s, ok := w.(*stream)
		if !ok {
			return w
		}
		w = s.to[s.of]
	}
}

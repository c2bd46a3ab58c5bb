// Package stdio is the standard streams of a process in a container, between the process
// and its observer: the client of exec or attach, at the other end of a connection. In
// Kubernetes they are pipes, or a pseudo-terminal, that the container runtime opens; the
// kernel's line discipline (Linux drivers/tty/n_tty.c) is [Terminal].
//
// Everything here belongs to the kernel's goroutine: whoever reads from a connection posts
// what arrived. Simplified: what is typed at a terminal is passed on line by line when
// Enter is pressed; there is no raw mode, no job control except the interrupt, and the
// process does not learn the terminal's size. Start reading at [Streams].
package stdio

import (
	"bytes"
	"io"

	"kviz/cluster/sim"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Nodes, How: simulated.Simplified,
	What: "a terminal of exec -it and attach passes whole lines to the command and knows ctrl+C and ctrl+D; there is no raw mode, so there are no full-screen programs, and no job control",
})

// Streams are what a process reads and writes. The writers are called by tasks and must
// not block; nil where nobody reads.
type Streams struct {
	In       *Input // nil: there is nothing to read
	Out, Err io.Writer
	TTY      bool // In are the keys of a terminal, Out is its screen

	closed  bool
	onClose []func()
}

// Close is the end of the connection.
func (s *Streams) Close() {
	if s.closed {
		return
	}
	s.closed = true
	for _, fn := range s.onClose {
		fn()
	}
}

// Closed reports whether nobody is there any more.
func (s *Streams) Closed() bool { return s.closed }

// OnClose has fn called when the connection ends.
func (s *Streams) OnClose(fn func()) { s.onClose = append(s.onClose, fn) }

// Writers are Out and Err, which can be written to.
func (s *Streams) Writers() (out, err io.Writer) { return orDiscard(s.Out), orDiscard(s.Err) }

func orDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}

// Input is bytes on their way to a process.
type Input struct {
	first func() // begins to feed it; nil: somebody does anyway
	to    func(b []byte, ended bool)
	text  []byte
	ended bool
	err   error
	news  sim.Cond
}

// NewInput makes an input. first, if not nil, is called when somebody begins to read, and
// sees to it that it is fed.
func NewInput(first func()) *Input { return &Input{first: first} }

// Feed adds what was read of the connection.
func (in *Input) Feed(b []byte) {
	if in.to != nil {
		in.to(b, false)
		return
	}
	in.text = append(in.text, b...)
	in.news.Broadcast()
}

// End says that nothing follows, because of an error or of none.
func (in *Input) End(err error) {
	if in.ended {
		return
	}
	in.ended, in.err = true, err
	if in.to != nil {
		in.to(nil, true)
	}
	in.news.Broadcast()
}

// Err is why it ended; nil for its end.
func (in *Input) Err() error {
	if in == nil {
		return nil
	}
	return in.err
}

// To hands everything on from here, what waits first. ended comes once.
func (in *Input) To(fn func(b []byte, ended bool)) {
	in.begin()
	in.to = fn
	if len(in.text) > 0 {
		text := in.text
		in.text = nil
		fn(text, false)
	}
	if in.ended {
		fn(nil, true)
	}
}

// Rest reads to the end; of what ended with an error, nothing.
func (in *Input) Rest(t *sim.Task) string {
	in.begin()
	for !in.ended {
		in.news.Wait(t)
	}
	text := in.text
	in.text = nil
	if in.err != nil {
		return ""
	}
	return string(text)
}

// Line reads a line without its end; false where there is none any more.
func (in *Input) Line(t *sim.Task) (line string, ok bool) {
	in.begin()
	for {
		if line, rest, whole := bytes.Cut(in.text, []byte("\n")); whole {
			in.text = rest
			return string(line), true
		}
		if in.ended {
			line := string(in.text)
			in.text = nil
			return line, line != ""
		}
		in.news.Wait(t)
	}
}

func (in *Input) begin() {
	if first := in.first; first != nil {
		in.first = nil
		first()
	}
}

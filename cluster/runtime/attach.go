package runtime

import (
	"fmt"
	"io"
	"slices"

	"kviz/cluster/sim"
	"kviz/cluster/stdio"
	"kviz/cluster/trace"
)

// openStreams opens the standard streams of a container that starts.
func (r *Runtime) openStreams(c *Container) {
	run := c.run
	if c.TTY {
		run.term = stdio.NewTerminal(logWriter{c, r, false})
		run.term.Interrupt = func() { // no default handler of PID 1: see signal
			if c.run == run && run.trap == "" {
				r.signal(c, []trace.ID{c.StartedBy})
			}
		}
		run.in = run.term.Lines
	} else {
		run.in = stdio.NewInput(nil)
	}
	if !c.Stdin {
		run.in.End(nil)
	}
}

// Attach is the CRI call: it connects a client's streams to those of a container, until
// the container ends or the client leaves. The client sees what is written from now on.
func (r *Runtime) Attach(t *sim.Task, containerID string, streams *stdio.Streams) error {
	c, s, err := r.find(containerID)
	if err != nil {
		return err
	}
	_, err = r.call(t, trace.RuntimeCall{Pod: s.key(), Container: c.Name, Call: "Attach"}, 0, func() (string, error) {
		run := c.run
		if c.State != Running {
			return "", &Error{Code: "Unknown", Desc: fmt.Sprintf("container is in %s state", c.State)}
		}
		c.log.viewers = append(c.log.viewers, streams)
		defer func() {
			c.log.viewers = slices.DeleteFunc(c.log.viewers, func(o *stdio.Streams) bool { return o == streams })
		}()
		if in := streams.In; in != nil && c.Stdin {
			in.To(func(b []byte, ended bool) { run.take(c, b, ended) })
		}
		streams.OnClose(run.news.Broadcast)
		for c.run == run && !streams.Closed() {
			run.news.Wait(t)
		}
		if streams.Closed() {
			run.take(c, nil, true)
			return "left", nil
		}
		return "the container ended", nil
	})
	return err
}

// take gives a container what was typed for it.
func (run *running) take(c *Container, b []byte, ended bool) {
	switch {
	case c.run != run:
		return
	case run.term != nil:
		run.term.Type(b)
	case len(b) > 0:
		run.in.Feed(b)
	}
	if ended && c.StdinOnce {
		run.in.End(nil)
	}
}

// String is the CRI's word.
func (s State) String() string {
	switch s {
	case Created:
		return "CONTAINER_CREATED"
	case Running:
		return "CONTAINER_RUNNING"
	}
	return "CONTAINER_EXITED"
}

// prompt is busybox's, of root in the root folder.
const prompt = "/ # "

// interact is a shell with a terminal: it runs a line after another, until the input
// ends. ctrl+C ends the line that runs, or what was typed of one.
func (sh *shell) interact() int {
	outer := sh.term.Interrupt
	defer func() { sh.term.Interrupt = outer }()
	for !sh.exited {
		sh.term.Interrupt = func() { sh.term.Lines.Feed([]byte("\n")) }
		_, _ = io.WriteString(sh.out, prompt)
		line, open := sh.in.line(sh.t)
		if !open {
			break
		}
		sh.foreground(line)
	}
	return sh.last
}

// foreground runs a line as a process of its own, which the terminal can interrupt.
func (sh *shell) foreground(line string) {
	var over sim.Cond
	done := false
	p := sh.t.Process().Child(sh.r.lane)
	end := func() {
		done = true
		over.Broadcast()
	}
	sh.term.Interrupt = func() {
		sh.last = interrupted
		p.Kill()
		end()
	}
	task := p.Go("line", func(t *sim.Task) {
		t.SetCauses(sh.t.Causes()...)
		child := *sh
		child.t = t
		code := child.script(line)
		sh.last, sh.exited = code, child.exited
	})
	task.OnEnd(end)
	for !done {
		over.Wait(sh.t)
	}
}

// line reads a line of the input.
func (in *input) line(t *sim.Task) (string, bool) {
	if in.later == nil {
		return "", false
	}
	return in.later.Line(t)
}

package console

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"kviz/cluster/console/command"
	"kviz/cluster/trace"
)

// perform runs a command of the console between two events in the trace:
// console.command, which is the cause of its requests, and console.done.
func (c *Console) perform(ctx context.Context, inv *command.Invocation, run command.Func) int {
	line := quoteAll(inv.Args)
	with, err := c.given(inv)
	if err != nil {
		fmt.Fprintf(inv.Err, "%s: reading its input: %v\n", inv.Args[0], err)
		return 1
	}
	id, err := c.emit(ctx, trace.Event{Kind: trace.CommandStart, Payload: &trace.Command{Line: line, Source: inv.Source}}, with)
	if err != nil {
		fmt.Fprintf(inv.Err, "%s: %v\n", inv.Args[0], err)
		return 1
	}
	inv.Cause = id
	head := &headWriter{}
	inv.Out = io.MultiWriter(inv.Out, head)
	inv.Err = io.MultiWriter(inv.Err, head)
	exit := run(ctx, inv)
	if killed := session(ctx).killed(); killed != 0 {
		exit = 128 + int(killed)
	}
	output := head.String()
	if inv.Untold {
		output = ""
	}
	_, _ = c.emit(context.WithoutCancel(ctx), trace.Event{
		Kind: trace.CommandEnd, Causes: []trace.ID{id},
		Payload: &trace.Command{Line: line, Source: inv.Source, Exit: exit, Output: output},
	}, nil)
	return exit
}

// emit puts an event of the console into the trace. While the cluster moves it
// enters as work from outside (in a script: when nothing is ready); while it
// stands, at once, for a person's keys are not part of what stands.
//
// with is what is needed to give the command of a console.command again.
func (c *Console) emit(ctx context.Context, e trace.Event, with *given) (trace.ID, error) {
	e.Lane = c.kernel.Process.Lane
	k := c.kernel
	done := make(chan trace.ID, 1)
	once := func() {
		select {
		case done <- c.enter(e, with):
		default:
		}
	}
	paused := false
	if err := k.Do(func() {
		if paused = k.Paused(); paused {
			once()
		}
	}); err != nil {
		return trace.ID{}, command.ErrStopped
	}
	if paused {
		return <-done, nil
	}
	entered := false // on the kernel's goroutine
	if !k.Post(func() {
		if !entered {
			entered = true
			once()
		}
	}) {
		return trace.ID{}, command.ErrStopped
	}
	for {
		select {
		case id := <-done:
			return id, nil
		case <-ctx.Done():
			return trace.ID{}, ctx.Err()
		case <-time.After(50 * time.Millisecond): // of real time: a cluster that stands has no other
			// Perhaps the cluster came to stand in between.
			if err := k.Do(func() {
				if !entered && k.Paused() {
					entered = true
					once()
				}
			}); err != nil {
				return trace.ID{}, command.ErrStopped
			}
		}
	}
}

func (c *Console) lastEvent() trace.ID {
	var id trace.ID
	_ = c.kernel.Do(func() { id = c.kernel.Last() })
	return id
}

// headWriter keeps the first lines of a command's output for the trace.
type headWriter struct{ b []byte }

const headSize = 512

func (h *headWriter) Write(p []byte) (int, error) {
	if room := headSize - len(h.b); room > 0 {
		h.b = append(h.b, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

func (h *headWriter) String() string { return strings.ToValidUTF8(string(h.b), "") }

// quoteAll is a command as it could be typed.
func quoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		q, err := syntax.Quote(w, syntax.LangBash)
		if err != nil {
			q = fmt.Sprintf("%q", w)
		}
		quoted[i] = q
	}
	return strings.Join(quoted, " ")
}

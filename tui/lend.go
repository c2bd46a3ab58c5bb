package tui

import (
	"context"
	"io"
)

// lend is what a command of the console that needs the terminal calls, from its own
// goroutine: the program gives the screen back to the shell it came from, the other
// program runs, and the explorer comes back as it was. The cluster goes on meanwhile,
// and so does its history; only the screen waits.
func (m *Explorer) lend(ctx context.Context, dir string, argv []string) error {
	done := make(chan error, 1)
	m.send(lendMsg{done: done, run: func() error {
		if err := ctx.Err(); err != nil { // interrupted before its turn came
			return err
		}
		return m.cfg.Lend(ctx, dir, argv)
	}})
	select {
	case err := <-done:
		return err
	case <-m.ctx.Done(): // the explorer has gone, and takes no more messages
		return m.ctx.Err()
	}
}

// aside is what the program steps aside for. It is a tea.ExecCommand that finds the
// terminal by itself.
type aside func() error

func (a aside) Run() error        { return a() }
func (aside) SetStdin(io.Reader)  {}
func (aside) SetStdout(io.Writer) {}
func (aside) SetStderr(io.Writer) {}

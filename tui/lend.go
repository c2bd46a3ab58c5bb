package tui

import (
	"context"
	"io"

	tea "charm.land/bubbletea/v2"
)

type (
	// lendMsg asks for the terminal for a program.
	lendMsg struct {
		run  func() error
		done chan<- error // for one error
	}
	lentMsg struct{} // the terminal is back
)

// exec gives the terminal to the program.
func (l lendMsg) exec() tea.Cmd {
	return tea.Exec(program(l.run), func(err error) tea.Msg {
		l.done <- err
		return lentMsg{}
	})
}

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

// program is a tea.ExecCommand that finds the terminal by itself.
type program func() error

func (p program) Run() error        { return p() }
func (program) SetStdin(io.Reader)  {}
func (program) SetStdout(io.Writer) {}
func (program) SetStderr(io.Writer) {}

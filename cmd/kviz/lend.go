package main

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/term"

	"kviz/cluster/control"
	"kviz/raftstore/host"
)

// interrupts tells whose the interrupts are that the terminal's ctrl+c sends to every
// program on it.
var interrupts keys

type keys struct {
	mu   sync.Mutex
	lent int  // programs that have the terminal
	came bool // one since the terminal was lent
	owed bool // the program ended by one that has not come to us yet
}

// others reports whether an interrupt that has come is for a program that has, or had,
// the terminal.
func (k *keys) others() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lent > 0 {
		k.came = true
		return true
	}
	owed := k.owed
	k.owed = false
	return owed
}

func (k *keys) lend() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lent++
	k.came, k.owed = false, false
}

// back takes the terminal back from a program that ended in this state.
func (k *keys) back(p *os.ProcessState) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lent--
	if p == nil || k.came {
		return
	}
	k.owed = host.Interrupted(p)
}

// lend lends the terminal that the streams are; nil where they are none.
func (s streams) lend() control.Lend {
	in, ok := s.in.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return nil
	}
	out, ok := s.out.(*os.File)
	if !ok || !term.IsTerminal(int(out.Fd())) {
		return nil
	}
	return func(ctx context.Context, dir string, argv []string) error {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, in, out, s.err
		// An editor that is asked to end puts the terminal in order, and what it was
		// set aside; one that does not listen is killed.
		cmd.Cancel = func() error { return host.Terminate(cmd) }
		cmd.WaitDelay = 2 * time.Second
		before, err := term.GetState(int(in.Fd()))
		if err != nil {
			return err
		}
		defer func() { _ = term.Restore(int(in.Fd()), before) }() // whatever the program has left; it fails when the terminal has gone
		interrupts.lend()
		err = cmd.Run()
		interrupts.back(cmd.ProcessState)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"kviz/cluster"
	"kviz/cluster/console"
	"kviz/cluster/control"
	"kviz/cluster/trace"
)

func forkCommand() *command {
	b := &branching{}
	return &command{
		name: "fork", usage: "FILE --at N [flags]",
		short: "repeat a recorded run up to an event, and go on differently, without a screen",
		long: `kviz boots the cluster again and replays what entered it from outside (requests, commands, faults) at the same places,
as fast as the machine can. It compares every control-plane event on the way with the recorded one. At event N the branch
goes on by itself: with the commands of a script, or without input, for as long as --for says. What was running at N (a
command, a watch) is gone. --trace writes the branch's own recording, which you can open, compare (kviz compare) or fork
again. kviz help forks says more.`,
		example: "kviz fork out.kvrun --at 3120 --script cut.sh --trace branch.kvrun",
		flags: func(f *pflag.FlagSet) {
			b.register(f)
			f.StringVar(&b.at, "at", "", "the `EVENT` after which the branch goes its own way, as kviz trace numbers them")
			f.StringVar(&b.script, "script", "", "the console script of what happens then")
			f.StringVar(&b.seed, "seed", "", "what decides every random choice from there on (default: what would have)")
			f.StringVar(&b.record, "trace", "", "write the branch's recording to this `FILE`")
		},
		run: func(ctx context.Context, io streams, args []string) error {
			if len(args) != 1 {
				return &usageError{text: "name one recording"}
			}
			return b.run(ctx, io, args[0])
		},
	}
}

// branching are the flags of kviz fork.
type branching struct {
	at, script, seed, record string
	store                    string
	after                    time.Duration
}

func (b *branching) register(f *pflag.FlagSet) {
	f.StringVar(&b.store, "store", "", "mvcc: without the members that the run had, where they do not matter")
	f.DurationVar(&b.after, "for", time.Minute, "how long the branch goes on, in virtual time; with --script: after it")
}

// bare reads --store.
func (b *branching) bare() (bool, error) {
	switch b.store {
	case "", "as it was":
		return false, nil
	case "mvcc":
		return true, nil
	}
	return false, &usageError{text: fmt.Sprintf("--store %q: want mvcc, or nothing for the store that the run had", b.store)}
}

func (b *branching) run(ctx context.Context, io streams, path string) error {
	if b.at == "" {
		return &usageError{text: "say with --at after which event the branch goes its own way (kviz trace " + path + " numbers them)"}
	}
	at, err := trace.ParseID(b.at)
	if err != nil {
		return &usageError{text: fmt.Sprintf("--at %s: %v", b.at, err)}
	}
	bare, err := b.bare()
	if err != nil {
		return err
	}
	f := cluster.ForkConfig{Parent: filepath.Base(path), At: at, Bare: bare, Demand: true, Version: version(), Progress: progressOn(io.err)}
	if b.seed != "" {
		var seed uint64
		if _, err := fmt.Sscanf(b.seed, "%d", &seed); err != nil {
			return &usageError{text: fmt.Sprintf("--seed %q: want a number", b.seed)}
		}
		f.Seed = &seed
	}
	if b.script != "" {
		if err := mustExist(b.script); err != nil {
			return err
		}
	}
	past, err := pastOf(io, path)
	if err != nil {
		return err
	}
	return b.branch(ctx, io, past, f)
}

// pastOf reads a run that is to be run again.
func pastOf(io streams, path string) ([]*trace.Event, error) {
	if err := mustExist(path); err != nil {
		return nil, err
	}
	events, _, err := readRecording(io, path) // what came before damage can be run again
	return events, err
}

// branch forks, and goes on.
func (b *branching) branch(ctx context.Context, io streams, past []*trace.Event, f cluster.ForkConfig) (err error) {
	remove, err := scratch()
	if err != nil {
		return err
	}
	defer remove()
	f.Limit = roomFor(past)
	began := time.Now()
	c, err := cluster.Fork(ctx, past, f)
	if err != nil {
		return err
	}
	defer func() {
		endErr := c.Close()
		broken(io.err, c, endErr)
		err = errors.Join(err, endErr)
	}()
	fmt.Fprintf(io.out, "forked at #%s, %s after the start: every control-plane event up to there is what it was\n", f.At, c.Clock().Elapsed.Round(time.Microsecond))
	if was, is := cluster.LeaderAt(past, f.At), c.Leader(); !f.Bare && was != is {
		fmt.Fprintf(io.out, "of the members %s: elections do not repeat\n", control.OtherLeader(was, is))
	}
	fmt.Fprintf(io.err, "that took %s\n", time.Since(began).Round(time.Millisecond))
	if b.record != "" {
		stop, err := b.recordBranch(c, f)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	if err := c.Resume(); err != nil {
		return err
	}
	streams := control.Streams{In: io.in, Out: io.out, Err: io.err}
	if b.script != "" {
		err = c.Console().RunFile(ctx, b.script, streams)
	}
	if err == nil && b.after > 0 {
		err = c.Console().RunScript(ctx, "kviz fork", fmt.Sprintf("sleep %g\n", b.after.Seconds()), streams)
	}
	var failed *console.ScriptError
	if errors.As(err, &failed) {
		fmt.Fprintf(io.err, "kviz: %v\n", failed)
		return exitError(max(failed.Exit, 1))
	}
	return err
}

// recordBranch writes the branch's recording, from the run's beginning on.
func (b *branching) recordBranch(c *cluster.Cluster, f cluster.ForkConfig) (stop func() error, err error) {
	file, err := createRecording(b.record)
	if err != nil {
		return nil, fmt.Errorf("--trace: %w", err)
	}
	stop, err = record(c, file, branchHeader(c, f))
	if err != nil {
		file.Close()
		return nil, err
	}
	return stop, nil
}

// branchHeader is that of a recording of a branch.
func branchHeader(c *cluster.Cluster, f cluster.ForkConfig) trace.Header {
	h := trace.Header{Version: f.Version, Seed: c.Kernel().Seed(), Epoch: c.Kernel().Epoch(), Inputs: []string{fmt.Sprintf("fork %s --at %s", f.Parent, f.At)}}
	if e := c.Trace().Get(0); e != nil {
		if run, ok := e.Payload.(*trace.Run); ok {
			h.Store, h.Members, h.Nodes = run.Store, run.Members, run.Nodes
		}
	}
	return h
}

// progressOn draws how far a run has been run again, where there is a terminal.
func progressOn(w io.Writer) func(control.ForkProgress) {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	return func(p control.ForkProgress) {
		if p.Done == p.Of {
			fmt.Fprint(w, "\r\x1b[K")
			return
		}
		const cells = 30
		full := int(p.Done * cells / max(p.Of, 1))
		fmt.Fprintf(w, "\r\x1b[K%s%s %d of %d events, about %s more", strings.Repeat("━", full), strings.Repeat("─", cells-full), p.Done, p.Of, p.Left.Round(100*time.Millisecond))
	}
}

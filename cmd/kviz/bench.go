package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/creack/pty"
	"github.com/spf13/pflag"

	"kviz/cluster/bench"
)

func benchCommand() *command {
	var idle time.Duration
	var nodes, pods int
	var cpu, mem string
	store := &benchStore{}
	return &command{
		name: "bench", usage: "[small | large-raft | large-mvcc | frame | store]…",
		short: "what kviz takes on this machine, beside its budgets",
		long: `Each measurement runs in a process of its own; without a name, all but store, one after the other.
store measures kviz' store beside real etcd, through etcd's own client: give --etcd BINARY, have an etcd in the PATH, or
run it in the source tree.`,
		example: "kviz bench small frame\nkviz bench store --rounds 5",
		flags: func(f *pflag.FlagSet) {
			f.DurationVar(&idle, "idle", 10*time.Second, "how long to watch an idle cluster")
			f.IntVar(&nodes, "nodes", 1000, "nodes of the large cluster")
			f.IntVar(&pods, "pods", 5000, "pods of the large cluster")
			f.StringVar(&cpu, "cpuprofile", "", "write a processor profile of a single measurement to this `file`")
			f.StringVar(&mem, "memprofile", "", "write a profile of what a single measurement allocated to this `file`")
			store.flags(f)
		},
		run: func(ctx context.Context, io streams, args []string) error {
			if len(args) == 1 && args[0] == "store" {
				return store.run(ctx, io, idle)
			}
			measure := map[string]func() ([]bench.Result, error){
				"small":      func() ([]bench.Result, error) { return bench.Small(ctx, idle) },
				"large-raft": func() ([]bench.Result, error) { return bench.Large(ctx, false, nodes, pods) },
				"large-mvcc": func() ([]bench.Result, error) { return bench.Large(ctx, true, nodes, pods) },
				"frame":      func() ([]bench.Result, error) { return firstFrame(ctx) },
			}
			if len(args) == 1 && args[0] == benchStoreServer {
				_, err := profiled(cpu, mem, func() ([]bench.Result, error) { return nil, store.serve(ctx, io) })
				return err
			}
			if len(args) == 1 {
				one, ok := measure[args[0]]
				if !ok {
					return &usageError{text: fmt.Sprintf("unknown measurement %q: small, large-raft, large-mvcc, frame or store", args[0]), command: "bench"}
				}
				results, err := profiled(cpu, mem, one)
				printResults(io.out, results)
				return err
			}
			if len(args) == 0 {
				args = []string{"frame", "small", "large-mvcc", "large-raft"}
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			for _, name := range args {
				if name == "store" {
					if err := store.run(ctx, io, idle); err != nil {
						return fmt.Errorf("bench store: %w", err)
					}
					continue
				}
				c := exec.CommandContext(ctx, self, "bench", name, "--idle", idle.String(), fmt.Sprint("--nodes=", nodes), fmt.Sprint("--pods=", pods))
				c.Stdout, c.Stderr = io.out, io.err
				if err := c.Run(); err != nil {
					return fmt.Errorf("bench %s: %w", name, err)
				}
			}
			return nil
		},
	}
}

// profiled measures while it writes the profiles that are asked for.
func profiled(cpu, mem string, measure func() ([]bench.Result, error)) ([]bench.Result, error) {
	if cpu != "" {
		f, err := os.Create(cpu)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return nil, err
		}
		defer pprof.StopCPUProfile()
	}
	results, err := measure()
	if mem != "" {
		f, ferr := os.Create(mem)
		if ferr != nil {
			return results, errors.Join(err, ferr)
		}
		defer f.Close()
		err = errors.Join(err, pprof.Lookup("allocs").WriteTo(f, 0))
	}
	return results, err
}

func printResults(w io.Writer, results []bench.Result) {
	for _, r := range results {
		verdict := "ok"
		switch {
		case r.Budget == "":
			verdict = ""
		case !r.OK:
			verdict = "MISSED"
		}
		fmt.Fprintf(w, "%-64s %14s  %-15s %s\n", r.Name, r.Got, r.Budget, verdict)
	}
}

// firstFrame starts the explorer on a terminal of 120x40 and measures until its
// first frame is on it.
func firstFrame(ctx context.Context) ([]bench.Result, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	const tries = 5
	best := time.Hour
	for range tries {
		took, err := oneFrame(ctx, self)
		if err != nil {
			return nil, err
		}
		best = min(best, took)
	}
	budget := 200 * time.Millisecond
	return []bench.Result{{
		Name: fmt.Sprintf("start to the first frame (best of %d)", tries), Got: best.Round(time.Millisecond).String(),
		Budget: "under " + budget.String(), OK: best < budget,
	}}, nil
}

func oneFrame(ctx context.Context, self string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, self, "explore")
	c.Env = append(os.Environ(), "TERM=xterm-256color", "COLORTERM=truecolor")
	start := time.Now()
	tty, err := pty.StartWithSize(c, &pty.Winsize{Cols: 120, Rows: 40})
	if err != nil {
		return 0, fmt.Errorf("open a terminal: %w", err)
	}
	defer tty.Close()
	var seen []byte
	var took time.Duration
	buf := make([]byte, 1<<16)
	for took == 0 {
		n, err := tty.Read(buf)
		seen = append(seen, buf[:n]...)
		if bytes.Contains(seen, []byte("kviz")) && bytes.Contains(seen, []byte("map")) {
			took = time.Since(start)
		} else if err != nil {
			return 0, errors.Join(err, fmt.Errorf("no frame came; the terminal got %q", strings.ToValidUTF8(string(seen[:min(len(seen), 200)]), "?")))
		}
	}
	if _, err := tty.Write([]byte("q")); err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, tty) // ends with an error when the program has left its terminal
	_ = c.Wait()
	return took, nil
}

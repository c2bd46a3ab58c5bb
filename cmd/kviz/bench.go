package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
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
	var each, long time.Duration
	var bare bool
	store, hostile, class, scheduler := &benchStore{}, &benchHostile{}, &benchClass{}, &benchScheduler{}
	return &command{
		name: "bench", usage: "[small | large-raft | large-mvcc | frame | store | pace | idle | fork | class | hostile | scheduler]…",
		short: "measure kviz on this machine, beside its budgets",
		long: `Each measurement runs in a process of its own. Without a name kviz runs all but store, pace, idle, fork, class, hostile and scheduler, one by one.
pace counts virtual seconds in a real one at speed 1, under requests from other programs, watches and kubectl get -w.
idle measures the memory of an idle cluster over hours of virtual time.
fork repeats ten virtual minutes of a class' work, as kviz fork does.
class has simulated students take L09 over SSH, in a class of its own: --followers 100 --private 30. They run on the same machine, so
their screens take processor time too: what matters are ratios, and the class's own processor and memory.
hostile sends costly requests with a token that may do little, and measures how long another client waits meanwhile, beside a
real kube-apiserver in the source tree. Each request has a number: --first N --count 1 sends one again.
scheduler binds pods of four kinds to --nodes nodes, --pods of each where there is room, beside the real kube-scheduler in
the source tree: --rounds times, in turn.
store measures kviz' store beside real etcd, through etcd's own client: give --etcd BINARY, have an etcd in the PATH, or
run it in the source tree.`,
		example: "kviz bench small frame\nkviz bench store --rounds 5",
		flags: func(f *pflag.FlagSet) {
			f.DurationVar(&idle, "idle", 10*time.Second, "how long to watch an idle cluster")
			f.DurationVar(&each, "each", 6*time.Second, "how long to measure each pace")
			f.DurationVar(&long, "long", 4*time.Hour, "how long a cluster is idle, in virtual time")
			f.BoolVar(&bare, "mvcc", false, "on the mvcc store instead of the raft store: idle, fork")
			f.IntVar(&nodes, "nodes", 1000, "nodes of the large cluster, and for scheduler")
			f.IntVar(&pods, "pods", 5000, "pods of the large cluster, and for scheduler")
			f.StringVar(&cpu, "cpuprofile", "", "write a processor profile of a single measurement to this `file`")
			f.StringVar(&mem, "memprofile", "", "write a profile of what a single measurement allocated to this `file`")
			store.flags(f)
			hostile.flags(f)
			class.flags(f)
			scheduler.flags(f)
		},
		run: func(ctx context.Context, io streams, args []string) error {
			if len(args) == 1 && args[0] == "store" {
				return store.run(ctx, io, idle)
			}
			if len(args) == 1 && args[0] == "hostile" {
				return hostile.run(ctx, io)
			}
			scheduler.nodes, scheduler.pods = nodes, pods
			if len(args) == 1 && args[0] == "scheduler" {
				return scheduler.run(ctx, io, store.rounds)
			}
			measure := map[string]func() ([]bench.Result, error){
				"small":      func() ([]bench.Result, error) { return bench.Small(ctx, idle) },
				"large-raft": func() ([]bench.Result, error) { return bench.Large(ctx, false, nodes, pods) },
				"large-mvcc": func() ([]bench.Result, error) { return bench.Large(ctx, true, nodes, pods) },
				"frame":      func() ([]bench.Result, error) { return firstFrame(ctx) },
				"idle":       func() ([]bench.Result, error) { return nil, printIdle(ctx, io.out, bare, long) },
				"pace":       func() ([]bench.Result, error) { return nil, printPaces(ctx, io.out, each) },
				"fork":       func() ([]bench.Result, error) { return bench.Fork(ctx, bare) },
				"class":      func() ([]bench.Result, error) { return class.run(ctx, io.err) },
			}
			if len(args) == 1 && args[0] == benchStoreServer {
				_, err := profiled(cpu, mem, func() ([]bench.Result, error) { return nil, store.serve(ctx, io) })
				return err
			}
			if len(args) == 1 && args[0] == benchSchedulerSide {
				_, err := profiled(cpu, mem, func() ([]bench.Result, error) { return nil, scheduler.side(ctx, io.out) })
				return err
			}
			if len(args) == 1 {
				one, ok := measure[args[0]]
				if !ok {
					return &usageError{text: fmt.Sprintf("unknown measurement %q: small, large-raft, large-mvcc, frame, store, pace, idle, fork, class, hostile or scheduler", args[0]), command: "bench"}
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
				if name == "store" || name == "scheduler" {
					run := func() error { return store.run(ctx, io, idle) }
					if name == "scheduler" {
						run = func() error { return scheduler.run(ctx, io, store.rounds) }
					}
					if err := run(); err != nil {
						return fmt.Errorf("bench %s: %w", name, err)
					}
					continue
				}
				c := exec.CommandContext(ctx, self, "bench", name, "--idle", idle.String(), "--each", each.String(), "--long", long.String(), fmt.Sprint("--mvcc=", bare), fmt.Sprint("--nodes=", nodes), fmt.Sprint("--pods=", pods),
					fmt.Sprint("--followers=", class.followers), fmt.Sprint("--private=", class.private), "--watch", class.watch.String())
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

// printPaces measures how virtual time keeps its pace, and prints each row when it is
// known.
func printPaces(ctx context.Context, w io.Writer, each time.Duration) error {
	fmt.Fprintf(w, "%-5s  %-22s %10s %10s %8s %6s  %s\n", "store", "beside", "requests/s", "answered/s", "pace", "cores", "the header said")
	return bench.Pace(ctx, each, func(r bench.PaceRow) {
		fmt.Fprintf(w, "%-5s  %-22s %10d %10.1f %8.3f %6.2f  %s\n", r.Store, r.Beside, r.Rate, r.Made, r.Pace, r.Processor, r.Said)
	})
}

// printIdle prints what an idle cluster takes as virtual time flies.
func printIdle(ctx context.Context, w io.Writer, bare bool, long time.Duration) error {
	fmt.Fprintf(w, "%-5s  %9s %10s %10s %12s\n", "store", "after", "events", "heap", "own memory")
	return bench.Idle(ctx, bare, long, func(r bench.IdleRow) {
		fmt.Fprintf(w, "%-5s  %9v %10d %6.0f MiB %8.0f MiB\n", r.Store, r.After, r.Events, r.Heap, r.Own)
	})
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
		if errors.Is(err, pty.ErrUnsupported) {
			return []bench.Result{{Name: "start to the first frame", Got: "not known on " + runtime.GOOS, OK: true}}, nil
		}
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

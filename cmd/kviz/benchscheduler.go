package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"kviz/cluster/bench"
)

// benchSchedulerSide is the name under which one load is measured once, in a process of its own.
const benchSchedulerSide = "scheduler-side"

// benchScheduler is the measurement "scheduler".
type benchScheduler struct {
	nodes, pods int
	load, store string
}

func (b *benchScheduler) flags(f *pflag.FlagSet) {
	f.StringVar(&b.load, "load", "", "scheduler: only the loads whose name contains this")
	f.StringVar(&b.store, "scheduler-store", "mvcc", "scheduler: kviz' `store`, mvcc or raft")
}

// measured is one measurement of one load, as a process prints it.
type measured struct {
	Rate float64       // pods a second
	Each time.Duration // of the processor, for a pod
}

// run measures each load in turn, in the source tree beside the real kube-scheduler.
func (b *benchScheduler) run(ctx context.Context, io streams, rounds int) error {
	if b.store != "mvcc" && b.store != "raft" {
		return &usageError{text: fmt.Sprintf("unknown store %q: mvcc or raft", b.store), command: "bench"}
	}
	if b.nodes < 5 || b.pods < 1 {
		return &usageError{text: "the scheduler is measured with five nodes or more, and with a pod or more", command: "bench"}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if source := sourceOf("cluster", "scheduler", "proof"); source != "" {
		fmt.Fprintln(io.err, "Building the kube-scheduler to compare with …")
		c := exec.CommandContext(ctx, "go", "run", "-C", source, "./perf", "--kviz", self, "--store", b.store, "--load", b.load,
			"--nodes", strconv.Itoa(b.nodes), "--pods", strconv.Itoa(b.pods), "--rounds", strconv.Itoa(rounds))
		c.Stdout, c.Stderr = io.out, io.err
		return c.Run()
	}
	fmt.Fprintf(io.out, "%-26s %6s %6s %8s %14s\n", fmt.Sprintf("medians of %d, %s store", rounds, b.store), "nodes", "pods", "pods/s", "processor/pod")
	for _, l := range bench.SchedulerLoads(b.nodes, b.pods) {
		if !strings.Contains(l.Name, b.load) {
			continue
		}
		var got []measured
		for range max(rounds, 1) {
			one, err := b.once(ctx, self, l.Name)
			if err != nil {
				return fmt.Errorf("%s: %w", l.Name, err)
			}
			got = append(got, one)
		}
		slices.SortFunc(got, func(x, y measured) int { return int(x.Rate - y.Rate) })
		m := got[len(got)/2]
		fmt.Fprintf(io.out, "%-26s %6d %6d %8.0f %14s\n", l.Name, l.Nodes, l.Pods, m.Rate, m.Each.Round(time.Microsecond))
	}
	fmt.Fprintln(io.out, "Run this in kviz' source tree with Go at hand for a kube-scheduler to compare with.")
	return nil
}

// once measures one load in a process of its own.
func (b *benchScheduler) once(ctx context.Context, self, load string) (m measured, err error) {
	c := exec.CommandContext(ctx, self, "bench", benchSchedulerSide, "--load", load, "--scheduler-store", b.store,
		"--nodes", strconv.Itoa(b.nodes), "--pods", strconv.Itoa(b.pods))
	out, err := c.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(out, &m)
}

// side is that process.
func (b *benchScheduler) side(ctx context.Context, w io.Writer) error {
	for _, l := range bench.SchedulerLoads(b.nodes, b.pods) {
		if l.Name != b.load {
			continue
		}
		r, err := bench.Scheduler(ctx, b.store == "mvcc", l)
		if err != nil {
			return err
		}
		return json.NewEncoder(w).Encode(measured{r.Rate(), r.Each()})
	}
	return fmt.Errorf("no load %q", b.load)
}

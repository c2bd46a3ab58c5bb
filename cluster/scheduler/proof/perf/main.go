// Command perf measures how fast kviz' scheduler binds pods beside Kubernetes' own benchmark of its scheduler,
// scheduler_perf: the same loads, in one run, the sides taking turns. It prints medians and ratios.
//
//	go run -C cluster/scheduler/proof ./perf                  # the table
//	go run -C cluster/scheduler/proof ./perf --rounds 1 --nodes 100 --pods 1000
//
// The side of Kubernetes is scheduler_perf as it is, with its own test cases and templates, of which only the
// numbers of nodes and pods are changed: kube-scheduler and kube-apiserver in one process, and etcd, with its
// default settings, in another. kviz' side is a control plane in one process (kviz bench scheduler). Both
// schedulers may send 5,000 requests a second. A process measures one load, once.
//
// A rate is that of all pods, from the first request to the last binding. kviz passes in virtual time what a
// scheduler waits for, such as the back-off of a pod that makes room: its rate says what its work costs.
//
// Start reading at run, then upstream.go.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"kviz/cluster/bench"
)

type options struct {
	rounds, nodes, pods int
	kviz, store, load   string
}

func main() {
	if filepath.Base(os.Args[0]) == etcdName {
		runEtcd()
		return
	}
	if len(os.Args) > 1 && os.Args[1] == upstreamSide {
		runSchedulerPerf(os.Args[2:])
		return
	}
	var o options
	pflag.IntVar(&o.rounds, "rounds", 3, "measurements of each side, in turn; the table shows medians")
	pflag.IntVar(&o.nodes, "nodes", 1000, "nodes")
	pflag.IntVar(&o.pods, "pods", 5000, "pods, fewer where there is no room for so many")
	pflag.StringVar(&o.kviz, "kviz", "", "the kviz `binary` to measure (default: it is built)")
	pflag.StringVar(&o.store, "store", "mvcc", "kviz' `store`, mvcc or raft")
	pflag.StringVar(&o.load, "load", "", "only the loads whose name contains this")
	pflag.Parse()
	if err := run(context.Background(), os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "perf:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, o options) (err error) {
	dir, err := os.MkdirTemp("", "kviz-perf-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.kviz == "" {
		o.kviz = filepath.Join(dir, "kviz")
		if out, err := exec.CommandContext(ctx, "go", "build", "-C", "../../..", "-o", o.kviz, "./cmd/kviz").CombinedOutput(); err != nil {
			return fmt.Errorf("build kviz: %w\n%s", err, out)
		}
	}
	kubernetes, err := newKubernetes(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%-26s %6s %6s %15s %11s %6s\n", fmt.Sprintf("pods/s, medians of %d", o.rounds), "nodes", "pods", "kube-scheduler", "kviz, "+o.store, "ratio")
	for _, l := range bench.SchedulerLoads(o.nodes, o.pods) {
		if !strings.Contains(l.Name, o.load) {
			continue
		}
		var theirs, ours []float64
		for round := range max(o.rounds, 1) {
			sides := []func() error{
				func() error { return measure(&theirs, func() (float64, error) { return kubernetes.measure(ctx, l) }) },
				func() error { return measure(&ours, func() (float64, error) { return kviz(ctx, o, l) }) },
			}
			if round%2 == 1 { // what warms up or tires the machine meets both
				slices.Reverse(sides)
			}
			for _, side := range sides {
				if err := side(); err != nil {
					return fmt.Errorf("%s: %w", l.Name, err)
				}
			}
		}
		a, b := median(theirs), median(ours)
		fmt.Fprintf(w, "%-26s %6d %6d %15.0f %11.0f %6.2f\n", l.Name, l.Nodes, l.Pods, a, b, b/a)
	}
	fmt.Fprintln(w, "kube-scheduler v1.37.1, by scheduler_perf. Ratio: how much faster kviz is.")
	return nil
}

func measure(to *[]float64, f func() (float64, error)) error {
	x, err := f()
	*to = append(*to, x)
	return err
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

// kviz measures a load once.
func kviz(ctx context.Context, o options, l bench.SchedulerLoad) (float64, error) {
	out, err := output(exec.CommandContext(ctx, o.kviz, "bench", "scheduler-side", "--load", l.Name, "--scheduler-store", o.store,
		"--nodes", strconv.Itoa(o.nodes), "--pods", strconv.Itoa(o.pods)))
	if err != nil {
		return 0, err
	}
	var m struct{ Rate float64 }
	return m.Rate, json.Unmarshal(out, &m)
}

// output is what a command prints; where it fails, its last words are in the error.
func output(c *exec.Cmd) ([]byte, error) {
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		words := string(out) + said.String()
		err = fmt.Errorf("%s: %w: %s", filepath.Base(c.Path), err, words[max(0, len(words)-2000):])
	}
	return out, err
}

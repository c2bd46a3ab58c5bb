// Command conformance runs Kubernetes' own end-to-end tests against kviz serve and
// writes down which pass.
//
//	go run -C cluster/conformance .                        # everything in scope, and rewrites the table
//	go run -C cluster/conformance . -focus Watchers,Events # these focuses only; rewrites their rows
//	go run -C cluster/conformance . -beyond                # the other specs of workloads, autoscaling, scheduling and storage
//	go run -C cluster/conformance . -quick                 # fails if a spec fails that the table says passes
//
// Each focus, a container of specs, gets a cluster of its own. The tables are TABLE.md and, for -beyond, WORKLOADS.md,
// AUTOSCALING.md, SCHEDULING.md and STORAGE.md.
//
// Start reading at main, then TABLE.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var (
		p       programs
		only    = flag.String("focus", "", "run only these focuses (comma-separated; see focuses.go)")
		quick   = flag.Bool("quick", false, "run only what takes seconds, and compare with the table instead of writing it")
		at      = flag.Int("at-once", 1, "so many clusters at a time")
		others  = flag.Bool("beyond", false, "run the specs of workloads, autoscaling, scheduling and storage that are not Conformance")
		tables  = flag.String("tables", ".", "the folder of the tables")
		reports = flag.String("reports", "", "keep what the tests print in this folder")
	)
	flag.StringVar(&p.e2e, "e2e", "", "use this e2e.test instead of building it")
	flag.StringVar(&p.kviz, "kviz", "", "use this kviz instead of building it")
	flag.Parse()
	run := focuses
	if *others {
		run, p.beyond = beyond, true
	}
	chosen, err := choose(run, *only, *quick)
	if err != nil {
		return err
	}
	if err := p.build(ctx); err != nil {
		return err
	}
	dir := *reports
	if dir == "" {
		if dir, err = os.MkdirTemp("", "kviz-conformance-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	results, err := p.runAll(ctx, chosen, dir, *at)
	if *quick {
		rows, bad := readTable(filepath.Join(*tables, "TABLE.md"))
		return errors.Join(err, bad, compare(rows, results))
	}
	if !*others {
		return errors.Join(err, enter(filepath.Join(*tables, "TABLE.md"), head, func() ([]string, error) { return p.specs(ctx) }, run, results))
	}
	for _, group := range slices.Sorted(maps.Keys(beyondTables)) {
		if slices.ContainsFunc(chosen, func(f focus) bool { return f.sig == group }) {
			begins := strings.ReplaceAll(beyondHead, "SIG", group)
			err = errors.Join(err, enter(filepath.Join(*tables, beyondTables[group]), begins, func() ([]string, error) { return p.otherSpecs(ctx, group) }, run, results))
		}
	}
	return err
}

// enter writes what was found into a table: a row for each of the specs, of those focuses that could be run.
func enter(file, head string, specs func() ([]string, error), run []focus, results []result) error {
	all, err := specs()
	if err != nil {
		return err
	}
	all, said := aside(all)
	head += strings.ReplaceAll(said, "%", "%%")
	rows, err := readTable(file)
	if err != nil {
		return err
	}
	return writeTable(file, head, merge(run, all, rows, results))
}

// choose gives the focuses by name; without names those that are quick, or all.
func choose(focuses []focus, names string, quick bool) ([]focus, error) {
	if names == "" {
		return slices.DeleteFunc(slices.Clone(focuses), func(f focus) bool { return quick && !f.quick }), nil
	}
	var chosen []focus
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(focuses, func(f focus) bool { return f.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no focus %q", name)
		}
		chosen = append(chosen, focuses[i])
	}
	return chosen, nil
}

// runAll runs focuses, each against a cluster of its own.
func (p programs) runAll(ctx context.Context, chosen []focus, dir string, atOnce int) (results []result, err error) {
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		slots = make(chan struct{}, max(1, atOnce))
	)
	for _, f := range chosen {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			began := time.Now()
			got, failed := p.run(ctx, f, filepath.Join(dir, f.folder()))
			mu.Lock()
			defer mu.Unlock()
			if failed != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", f.name, failed))
			}
			results = append(results, got...)
			passed := 0
			for _, r := range got {
				if r.state == passes {
					passed++
				}
			}
			fmt.Printf("%-36s %2d of %2d pass, %.0f s\n", f.name, passed, len(got), time.Since(began).Seconds())
		})
	}
	wg.Wait()
	return results, err
}

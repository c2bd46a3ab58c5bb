// Command bench measures kviz' API server beside the real kube-apiserver, as
// their clients feel it: the same client-go over TLS on loopback, every server in
// processes of its own, in one run, the sides taking turns. It prints medians
// and ratios.
//
//	go run -C cluster/apiserver/proof ./bench                            # the table
//	go run -C cluster/apiserver/proof ./bench --rounds 1 --for 200ms     # the same in half a minute
//	go run -C cluster/apiserver/proof ./bench hostile --kviz BINARY      # under a hostile client: kviz bench hostile
//
// The sides are kube-apiserver over one member of etcd, two processes; `kviz serve` on
// the bare store; and `kviz serve` on three members of the replicated store. kviz'
// processes hold a whole control plane, whose controllers run meanwhile; kube-apiserver
// has none beside it. All run with their defaults, except that kviz has no nodes. Its
// virtual time keeps pace with the machine's clock, unless --speed says otherwise.
//
// Start reading at compare, then rows.go and side.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"kviz/raftstore/bench"
)

type options struct {
	rounds int
	length time.Duration
	speed  string
	only   string
	kviz   string // a binary
}

func main() {
	if len(os.Args) == 3 {
		if serve, ok := servers[os.Args[1]]; ok {
			if err := serve(os.Args[2]); err != nil {
				fmt.Fprintln(os.Stderr, "bench:", err)
				os.Exit(1)
			}
			return
		}
	}
	if len(os.Args) > 1 && os.Args[1] == "hostile" {
		if err := attack(context.Background(), os.Stdout, os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	var o options
	pflag.IntVar(&o.rounds, "rounds", 5, "measurements of each side, in turn; the table shows medians")
	pflag.DurationVar(&o.length, "for", 3*time.Second, "how long one measurement takes")
	pflag.StringVar(&o.speed, "speed", "1", "virtual seconds of kviz in a real one")
	pflag.StringVar(&o.only, "only", "", "only rows whose name contains this")
	pflag.StringVar(&o.kviz, "kviz", "", "the kviz `binary` to measure (default: it is built)")
	pflag.Parse()
	if err := run(context.Background(), os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, o options) (err error) {
	dir, err := os.MkdirTemp("", "kviz-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.kviz == "" {
		o.kviz = filepath.Join(dir, "kviz")
		c := exec.CommandContext(ctx, "go", "build", "-C", "../../..", "-o", o.kviz, "./cmd/kviz")
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("build kviz: %w\n%s", err, out)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	kinds := []start{upstream(self), kviz(o, "mvcc"), kviz(o, "raft")}
	fmt.Fprintf(w, "%-36s %14s %14s %6s %14s %6s\n", "medians of "+fmt.Sprint(o.rounds), "kube-apiserver", "kviz, mvcc", "ratio", "kviz, raft", "ratio")
	sides := make([]*side, len(kinds))
	defer func() {
		for _, s := range sides {
			if s != nil {
				err = errors.Join(err, s.stop())
			}
		}
	}()
	// Each is started again for each round, and the last of each stays.
	ready := row{name: "start to ready", unit: "ms", lower: true}
	got, err := turns(o.rounds, len(kinds), func(round, i int) (float64, error) {
		if sides[i] != nil {
			if err := sides[i].stop(); err != nil {
				return 0, err
			}
		}
		data, err := os.MkdirTemp(dir, "data-")
		if err != nil {
			return 0, err
		}
		begin := time.Now()
		if sides[i], err = kinds[i](ctx, data); err != nil {
			return 0, err
		}
		return float64(time.Since(begin).Milliseconds()), nil
	})
	if err != nil {
		return err
	}
	ready.print(w, got)
	if err := memory(w, "resident memory when ready", sides); err != nil {
		return err
	}
	if err := compare(ctx, w, o, sides); err != nil {
		return err
	}
	return memory(w, "resident memory after all this", sides)
}

// compare measures row by row.
func compare(ctx context.Context, w io.Writer, o options, sides []*side) error {
	for _, s := range sides {
		if err := s.fill(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	for _, r := range rows {
		if !r.wanted(o.only) {
			continue
		}
		got, err := turns(o.rounds, len(sides), func(_, i int) (float64, error) {
			x, err := r.measure(ctx, sides[i], o.length)
			if err != nil {
				err = fmt.Errorf("%s, %s: %w", sides[i].name, r.name, err)
			}
			return x, err
		})
		if err != nil {
			return err
		}
		r.print(w, got)
	}
	return nil
}

// turns measures n sides in rounds. Who comes first changes, so that what warms
// up or tires the machine meets all.
func turns(rounds, n int, measure func(round, side int) (float64, error)) ([][]float64, error) {
	got := make([][]float64, n)
	for round := range max(1, rounds) {
		order := make([]int, n)
		for i := range order {
			order[i] = (i + round) % n
		}
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, i := range order {
			x, err := measure(round, i)
			if err != nil {
				return nil, err
			}
			got[i] = append(got[i], x)
		}
	}
	return got, nil
}

// print writes the row: the first side is the one that the others are compared with.
func (r row) print(w io.Writer, got [][]float64) {
	base := bench.Median(got[0])
	fmt.Fprintf(w, "%-36s %14s", r.name, bench.Number(base, r.unit))
	for _, g := range got[1:] {
		x := bench.Median(g)
		ratio := x / base
		if r.lower {
			ratio = base / x
		}
		fmt.Fprintf(w, " %14s %6.2f", bench.Number(x, r.unit), ratio)
	}
	fmt.Fprintln(w)
}

// memory tells of the servers' processes; of kube-apiserver without its etcd and
// with it.
func memory(w io.Writer, name string, sides []*side) error {
	var alone, whole [][]float64
	for _, s := range sides {
		a, err := bench.Resident(s.pids[0])
		if err != nil {
			return err
		}
		b, err := bench.Resident(s.pids...)
		if err != nil {
			return err
		}
		alone, whole = append(alone, []float64{a}), append(whole, []float64{b})
	}
	row{name: name, unit: "MiB", lower: true}.print(w, alone)
	row{name: "  with etcd", unit: "MiB", lower: true}.print(w, whole)
	return nil
}

// Package bench measures a store from outside, as its clients feel it: the
// same clientv3 code against kviz' three members and against three members of
// real etcd, in one run, in alternating rounds, each server a process of its
// own on the same disk with real fsync. `kviz bench store` prints the table.
//
// Both run with their defaults: etcd with its timings, kviz with its own. The callers
// share one clientv3 per 16 of them; each clientv3 has one connection to every
// endpoint and takes them in turn. Plain TCP on loopback. The clients run in the
// measuring process, on the same processors as the servers.
//
// Start reading at [Compare], then the rows in rows.go.
package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// Options say how long to measure.
type Options struct {
	Rounds int           // of each side, alternating; the median counts
	For    time.Duration // each measurement of a rate
	Idle   time.Duration // how long to watch the servers idle
	Only   string        // measure only rows whose name contains this
}

// Row is one line of the table.
type Row struct {
	Name  string
	Unit  string
	Lower bool // less is better
	Kviz  []float64
	Etcd  []float64 // empty without a peer
}

// Ratio is how much better kviz is than etcd; 1 is as good. It compares medians.
func (r Row) Ratio() float64 {
	k, e := Median(r.Kviz), Median(r.Etcd)
	if r.Lower {
		return e / k
	}
	return k / e
}

// Median is the middle of measurements; 0 of none.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(x))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

// Compare measures kviz and, if it is not nil, etcd, and tells each row as soon
// as it has it.
func Compare(ctx context.Context, kviz, etcd *Server, opt Options, tell func(Row)) error {
	sides := []*Server{kviz}
	if etcd != nil {
		sides = append(sides, etcd)
	}
	for _, s := range sides {
		if err := fill(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	for _, def := range rows(opt) {
		if !def.wanted(opt.Only) {
			continue
		}
		row := Row{Name: def.name, Unit: def.unit, Lower: def.lower}
		for round := range max(1, opt.Rounds) {
			// Who comes first changes, so that what warms up or tires the machine
			// meets both.
			order := slices.Clone(sides)
			if round%2 == 1 {
				slices.Reverse(order)
			}
			for _, s := range order {
				x, err := def.measure(ctx, s)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", s.Name, def.name, err)
				}
				if s == kviz {
					row.Kviz = append(row.Kviz, x)
				} else {
					row.Etcd = append(row.Etcd, x)
				}
			}
		}
		tell(row)
	}
	return nil
}

// Print writes one row; the first call should be with [Head].
func Print(w io.Writer, r Row) {
	kviz, etcd, ratio := Number(Median(r.Kviz), r.Unit), "-", "-"
	if len(r.Etcd) > 0 {
		etcd, ratio = Number(Median(r.Etcd), r.Unit), fmt.Sprintf("%.2f", r.Ratio())
	}
	fmt.Fprintf(w, "%-44s %14s %14s %6s\n", r.Name, kviz, etcd, ratio)
}

// Head writes the table's first line.
func Head(w io.Writer) {
	fmt.Fprintf(w, "%-44s %14s %14s %6s\n", "three members, medians", "kviz", "etcd", "ratio")
}

func Number(x float64, unit string) string {
	switch {
	case x >= 1000:
		return fmt.Sprintf("%.1fk %s", x/1000, unit)
	case x >= 100:
		return fmt.Sprintf("%.0f %s", x, unit)
	}
	return fmt.Sprintf("%.2f %s", x, unit)
}

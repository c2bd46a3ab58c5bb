package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"kviz/raftstore/bench"
)

// benchStoreServer is the name under which `kviz bench store` starts the
// process that it measures.
const benchStoreServer = "store-server"

type benchStore struct {
	etcd   string
	dir    string
	rounds int
	length time.Duration
	only   string
}

func (b *benchStore) flags(f *pflag.FlagSet) {
	f.StringVar(&b.etcd, "etcd", "", "store: a real etcd `binary` to measure beside it; \"none\" measures kviz alone")
	f.StringVar(&b.dir, "dir", "", "store: folder for the data of both, so that they share a disk (default: the system's for temporary files)")
	f.IntVar(&b.rounds, "rounds", 3, "store, scheduler: measurements of each side, in turn; the table shows medians")
	f.DurationVar(&b.length, "for", 2*time.Second, "store: how long one measurement takes")
	f.StringVar(&b.only, "only", "", "store: only rows whose name contains this")
}

// run measures the store beside real etcd, where one can be had.
func (b *benchStore) run(ctx context.Context, io streams, idle time.Duration) (err error) {
	dir, err := os.MkdirTemp(b.dir, "kviz-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	kviz, etcd, note, err := b.sides(ctx, dir, io)
	for _, s := range []*bench.Server{kviz, etcd} {
		if s != nil {
			defer func() { err = errors.Join(err, s.Close()) }()
		}
	}
	if err != nil {
		return err
	}
	bench.Head(io.out)
	err = bench.Compare(ctx, kviz, etcd, bench.Options{Rounds: b.rounds, For: b.length, Idle: idle, Only: b.only},
		func(r bench.Row) { bench.Print(io.out, r) })
	fmt.Fprintln(io.out, note)
	return err
}

// sides starts what is measured. In the source tree both sides are one command
// that is built for it; else kviz' is this program, and etcd's the binary that
// is named or in the PATH. Without one, note tells how to get it.
func (b *benchStore) sides(ctx context.Context, dir string, io streams) (kviz, etcd *bench.Server, note string, err error) {
	kvizData, etcdData := filepath.Join(dir, "kviz"), filepath.Join(dir, "etcd")
	if err := errors.Join(os.Mkdir(kvizData, 0o700), os.Mkdir(etcdData, 0o700)); err != nil {
		return nil, nil, "", err
	}
	if source := sourceOf("raftstore", "proof"); source != "" && b.etcd == "" {
		fmt.Fprintln(io.err, "Building the etcd to compare with …")
		built := filepath.Join(dir, "peer")
		c := exec.CommandContext(ctx, "go", "build", "-C", source, "-o", built, "./cmd/peer")
		c.Stdout, c.Stderr = io.err, io.err
		if err := c.Run(); err != nil {
			return nil, nil, "", fmt.Errorf("build %s: %w", source, err)
		}
		if kviz, err = bench.Start(ctx, "kviz", built, "kviz", kvizData); err == nil {
			etcd, err = bench.Start(ctx, "etcd", built, "etcd", etcdData)
		}
		return kviz, etcd, "etcd v3.7.3. Each side is three members embedded in one process of the same program. Ratio: how much better kviz is.", err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, "", err
	}
	if kviz, err = bench.Start(ctx, "kviz", self, "bench", benchStoreServer, "--dir", kvizData); err != nil {
		return nil, nil, "", err
	}
	binary := b.etcd
	switch {
	case binary == "none":
		return kviz, nil, "Etcd was not asked for. The memory of kviz is that of the whole program.", nil
	case binary == "":
		if binary, err = exec.LookPath("etcd"); err != nil {
			return kviz, nil, "No etcd to compare with: give --etcd BINARY, put an etcd in the PATH, or run this in kviz' source tree with Go at hand. The memory of kviz is that of the whole program.", nil
		}
	}
	etcd, err = bench.StartBinary(ctx, binary, etcdData)
	return kviz, etcd, "etcd: " + binary + ", three processes; kviz: this whole program with three members. Ratio: how much better kviz is.", err
}

// serve is the measured process.
func (b *benchStore) serve(ctx context.Context, io streams) error {
	return bench.ServeStore(ctx, cmp.Or(b.dir, os.TempDir()), io.in, io.out)
}

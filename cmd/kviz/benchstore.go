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
	f.IntVar(&b.rounds, "rounds", 3, "store: measurements of each side, in turn; the table shows medians")
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
	self, err := os.Executable()
	if err != nil {
		return err
	}
	kviz, err := bench.Start(ctx, "kviz", self, "bench", benchStoreServer, "--dir", filepath.Join(dir, "kviz"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kviz.Close()) }()
	etcd, why, err := b.peer(ctx, dir, io)
	if err != nil {
		return err
	}
	if etcd != nil {
		defer func() { err = errors.Join(err, etcd.Close()) }()
	}
	bench.Head(io.out)
	err = bench.Compare(ctx, kviz, etcd, bench.Options{Rounds: b.rounds, For: b.length, Idle: idle, Only: b.only},
		func(r bench.Row) { bench.Print(io.out, r) })
	fmt.Fprintln(io.out, why)
	return err
}

// peer starts a real etcd if there is one: the binary that is named, one in
// the PATH, or the one that the source tree can build. Otherwise why tells how
// to get it.
func (b *benchStore) peer(ctx context.Context, dir string, io streams) (s *bench.Server, why string, err error) {
	data := filepath.Join(dir, "etcd")
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, "", err
	}
	if b.etcd == "none" {
		return nil, "Etcd was not asked for.", nil
	}
	binary := b.etcd
	if binary == "" {
		if source := proofSource(); source != "" {
			fmt.Fprintln(io.err, "Building the etcd to compare with …")
			built := filepath.Join(dir, "peer")
			c := exec.CommandContext(ctx, "go", "build", "-C", source, "-o", built, "./cmd/peer")
			c.Stdout, c.Stderr = io.err, io.err
			if err := c.Run(); err != nil {
				return nil, "", fmt.Errorf("build %s: %w", source, err)
			}
			s, err = bench.Start(ctx, "etcd", built, data)
			return s, "etcd: v3.7.3, three members embedded in one process. Ratio: how much better kviz is.", err
		}
		binary, _ = exec.LookPath("etcd")
	}
	if binary == "" {
		return nil, "No etcd to compare with: give --etcd BINARY, put an etcd in the PATH, or run this in kviz' source tree with Go at hand.", nil
	}
	s, err = bench.StartBinary(ctx, binary, data)
	return s, "etcd: " + binary + ", three processes. Ratio: how much better kviz is.", err
}

// proofSource is the folder of the module that holds etcd, if this runs in the
// source tree and Go is there.
func proofSource() string {
	if _, err := exec.LookPath("go"); err != nil {
		return ""
	}
	wd, err := os.Getwd()
	if err != nil {
		return ""
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		source := filepath.Join(dir, "raftstore", "proof")
		if _, err := os.Stat(filepath.Join(source, "go.mod")); err == nil {
			return source
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// serve is the measured process.
func (b *benchStore) serve(ctx context.Context, io streams) error {
	return bench.ServeStore(ctx, cmp.Or(b.dir, os.TempDir()), io.in, io.out)
}

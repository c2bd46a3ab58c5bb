package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"kviz/cluster/bench/hostile"
)

// benchHostile is the measurement "hostile".
type benchHostile struct{ options hostile.Options }

func (b *benchHostile) flags(f *pflag.FlagSet) {
	f.Uint64Var(&b.options.Seed, "seed", 1, "hostile: of the requests")
	f.Uint64Var(&b.options.First, "first", 0, "hostile: the number of the first request")
	f.Uint64Var(&b.options.Count, "count", 0, "hostile: how many requests; 0: until the time is over")
	f.DurationVar(&b.options.For, "attack", time.Minute, "hostile: how long each server is attacked")
	f.StringSliceVar(&b.options.Stores, "stores", []string{"mvcc", "raft"}, "hostile: the stores of kviz to attack")
	f.StringVar(&b.options.Only, "part", "", "hostile: only requests built from this: "+strings.Join(hostile.Parts(), ", "))
}

// run attacks kviz serve on both stores, and in the source tree the real kube-apiserver before.
func (b *benchHostile) run(ctx context.Context, io streams) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	o := b.options
	if source := sourceOf("cluster", "apiserver", "proof"); source != "" {
		fmt.Fprintln(io.err, "Building the kube-apiserver to compare with …")
		c := exec.CommandContext(ctx, "go", "run", "-C", source, "./bench", "hostile", "--kviz", self,
			"--seed", fmt.Sprint(o.Seed), "--first", fmt.Sprint(o.First), "--count", fmt.Sprint(o.Count), "--for", o.For.String(), "--only", o.Only,
			"--stores", strings.Join(o.Stores, ","))
		c.Stdout, c.Stderr = io.out, io.err
		return c.Run()
	}
	dir, err := os.MkdirTemp("", "kviz-hostile-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	hostile.Head(io.out)
	var explain []func()
	err = hostile.Kviz(ctx, self, dir, o, func(name string, r *hostile.Report) {
		r.Print(io.out, name)
		explain = append(explain, func() { r.Explain(io.out, name) })
	})
	for _, e := range explain {
		e()
	}
	fmt.Fprintln(io.out, "Run this in kviz' source tree with Go at hand for a kube-apiserver to compare with.")
	return err
}

// sourceOf is the folder of a module in the source tree, if this runs in there and Go is at hand.
func sourceOf(path ...string) string {
	if _, err := exec.LookPath("go"); err != nil {
		return ""
	}
	wd, err := os.Getwd()
	if err != nil {
		return ""
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		source := filepath.Join(append([]string{dir}, path...)...)
		if _, err := os.Stat(filepath.Join(source, "go.mod")); err == nil {
			return source
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}
